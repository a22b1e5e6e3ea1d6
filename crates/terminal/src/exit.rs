//! Exit codes of the process, and the error behind a failed command.

use windlass::Error as CoreError;
use windlass_api::{Code, Error};

/// Exit codes, as documented in `windlass --help`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Exit {
    Ok = 0,
    /// The operation or job failed.
    Failed = 1,
    Usage = 2,
    NotFound = 3,
    /// The job or queue is in a conflicting state.
    Conflict = 4,
    NotAllowed = 5,
    /// The store cannot be reached.
    Unreachable = 69,
    TryLater = 75,
    BadConfig = 78,
    TimedOut = 124,
    Interrupted = 130,
}

impl Exit {
    pub const fn code(self) -> u8 {
        self as u8
    }

    const ALL: [Self; 11] = [
        Self::Ok,
        Self::Failed,
        Self::Usage,
        Self::NotFound,
        Self::Conflict,
        Self::NotAllowed,
        Self::Unreachable,
        Self::TryLater,
        Self::BadConfig,
        Self::TimedOut,
        Self::Interrupted,
    ];

    /// Returns the exit for an error code; `Failed` if it has none.
    fn of(code: Code) -> Self {
        let exit = code.exit();
        let found = Self::ALL.into_iter().find(|it| Some(it.code()) == exit);
        found.unwrap_or(Self::Failed)
    }
}

/// A failed command: its exit code and the error to print.
#[derive(Debug)]
pub struct CliError {
    pub exit: Exit,
    pub details: Error,
}

/// The result type of this program.
pub type CliResult<T, E = CliError> = std::result::Result<T, E>;

pub use CliResult as Result;

impl CliError {
    pub fn new(exit: Exit, details: Error) -> Self {
        Self { exit, details }
    }

    /// The command line is invalid.
    pub fn usage(message: impl Into<String>, help: impl Into<String>) -> Self {
        Self::from(Error::new(Code::Usage, message, help))
    }

    /// The environment or the configuration file is invalid.
    pub fn config(message: impl Into<String>, help: impl Into<String>) -> Self {
        Self::from(Error::new(Code::BadConfig, message, help))
    }

    /// The machine lacks what the command line asks for, or a setting is invalid: not a usage error.
    pub fn misconfigured(error: &CoreError) -> Self {
        Self::config(error.to_string(), error.help())
    }

    /// A bug in this program.
    pub fn internal(message: impl Into<String>) -> Self {
        let help = "this is a bug in Windlass; report it with the command and this message";
        Self::from(Error::new(Code::Internal, message, help))
    }

    /// The result could not be written to stdout.
    pub fn unwritable(why: &str) -> Self {
        let message =
            format!("the command succeeded, but its result cannot be written to stdout: {why}");
        let help = "free disk space, or redirect stdout elsewhere";
        Self::from(Error::new(Code::Unwritable, message, help))
    }

    /// A file or stdin could not be read.
    pub fn unreadable(what: &str, error: &std::io::Error) -> Self {
        Self::usage(
            format!("cannot read {what}: {error}"),
            "check that it exists and is readable",
        )
    }
}

impl From<Error> for CliError {
    fn from(details: Error) -> Self {
        Self::new(Exit::of(details.code), details)
    }
}

impl From<CoreError> for CliError {
    fn from(error: CoreError) -> Self {
        Self::from(Error::from(&error))
    }
}

#[cfg(test)]
mod tests {
    use windlass::ErrorKind;

    use super::*;

    #[test]
    fn every_kind_of_error_has_its_exit_code() {
        for (kind, code) in [
            (ErrorKind::Invalid, 2),
            (ErrorKind::NotFound, 3),
            (ErrorKind::Conflict, 4),
            (ErrorKind::StoreReadOnly, 5),
            (ErrorKind::Forbidden, 5),
            (ErrorKind::StoreUnreachable, 69),
            (ErrorKind::StoreDamaged, 69),
            (ErrorKind::StoreBusy, 75),
            (ErrorKind::StoreFull, 75),
            (ErrorKind::OutcomeUnknown, 75),
            (ErrorKind::StoreForeign, 78),
            (ErrorKind::StoreNewer, 78),
            (ErrorKind::StoreOlder, 78),
            (ErrorKind::StoreUnsupported, 78),
            (ErrorKind::Internal, 1),
        ] {
            assert_eq!(Exit::of(kind.into()).code(), code, "{kind:?}");
        }
    }
}
