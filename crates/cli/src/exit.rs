//! How the process ends: the code scripts look at, and the failure behind it.

use windlass::Error as CoreError;
use windlass_api::{Code, Error};

/// The codes of the command line contract.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    Ok,
    /// The operation or the job failed.
    Failed,
    Usage,
    NotFound,
    /// Conflict or wrong state.
    Conflict,
    NotAllowed,
    /// The store cannot be reached.
    Unreachable,
    TryLater,
    BadConfig,
    TimedOut,
    Interrupted,
}

impl Exit {
    pub(crate) const fn code(self) -> u8 {
        match self {
            Self::Ok => 0,
            Self::Failed => 1,
            Self::Usage => 2,
            Self::NotFound => 3,
            Self::Conflict => 4,
            Self::NotAllowed => 5,
            Self::Unreachable => 69,
            Self::TryLater => 75,
            Self::BadConfig => 78,
            Self::TimedOut => 124,
            Self::Interrupted => 130,
        }
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

    /// The exit for a code, by the table of codes; one that is not there is a failure.
    fn of(code: &str) -> Self {
        let exit = Code::find(code).and_then(|code| code.exit);
        let found = Self::ALL.into_iter().find(|it| Some(it.code()) == exit);
        found.unwrap_or(Self::Failed)
    }
}

/// Why a command did not do what was asked.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) exit: Exit,
    pub(crate) problem: Error,
}

/// The answer of everything in this program that may fail.
pub(crate) type Result<T, E = Failure> = std::result::Result<T, E>;

impl Failure {
    pub(crate) fn new(exit: Exit, problem: Error) -> Self {
        Self { exit, problem }
    }

    /// What was typed makes no sense.
    pub(crate) fn usage(message: impl Into<String>, help: impl Into<String>) -> Self {
        Self::from(Error::new("usage", message, help))
    }

    /// The environment or the configuration file makes no sense.
    pub(crate) fn config(message: impl Into<String>, help: impl Into<String>) -> Self {
        Self::from(Error::new("bad_config", message, help))
    }

    /// A fault of this program.
    pub(crate) fn internal(message: impl Into<String>) -> Self {
        let help = "this is a fault of Windlass: report it with the command and this message";
        Self::from(Error::new("internal", message, help))
    }

    /// The results could not be written.
    pub(crate) fn unwritable(why: &str) -> Self {
        let message = format!("the work is done but its result cannot be written: {why}");
        let help = "make room, or send standard output elsewhere";
        Self::from(Error::new("unwritable", message, help))
    }

    /// A file that could not be read.
    pub(crate) fn unreadable(what: &str, error: &std::io::Error) -> Self {
        Self::usage(
            format!("{what} cannot be read: {error}"),
            "check its name and permissions",
        )
    }
}

impl From<Error> for Failure {
    fn from(problem: Error) -> Self {
        Self::new(Exit::of(&problem.code), problem)
    }
}

impl From<CoreError> for Failure {
    fn from(error: CoreError) -> Self {
        Self::from(Error::from(&error))
    }
}

#[cfg(test)]
mod tests {
    use windlass::ErrorKind;

    use super::*;

    #[test]
    fn every_kind_of_error_has_its_code() {
        for (kind, code) in [
            (ErrorKind::Invalid, 2),
            (ErrorKind::NotFound, 3),
            (ErrorKind::Conflict, 4),
            (ErrorKind::StoreReadOnly, 5),
            (ErrorKind::StoreUnreachable, 69),
            (ErrorKind::StoreDamaged, 69),
            (ErrorKind::StoreBusy, 75),
            (ErrorKind::StoreFull, 75),
            (ErrorKind::OutcomeUnknown, 75),
            (ErrorKind::StoreForeign, 78),
            (ErrorKind::StoreNewer, 78),
            (ErrorKind::StoreUnsupported, 78),
            (ErrorKind::Internal, 1),
        ] {
            assert_eq!(Exit::of(kind.code()).code(), code, "{kind:?}");
        }
    }
}
