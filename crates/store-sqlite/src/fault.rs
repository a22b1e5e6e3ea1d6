//! What SQLite and the file system say, in the words of the contract.

use std::io;
use std::path::Path;
use std::time::Duration;

use rusqlite::{ErrorCode, ffi};
use windlass_core::{Error, ErrorKind};

use crate::place::SCHEMA_VERSION;

/// The answer of anything that runs inside a transaction.
pub(crate) type Db<T> = Result<T, Fault>;

/// Why a transaction could not be carried out.
#[derive(Debug)]
pub(crate) enum Fault {
    /// SQLite said no.
    Sqlite(rusqlite::Error),
    /// A stored value makes no sense.
    Damaged(String),
    /// The request itself was wrong.
    Refused(Error),
}

impl From<rusqlite::Error> for Fault {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sqlite(error)
    }
}

impl Fault {
    /// A stored value that cannot be read back.
    pub(crate) fn unreadable(what: &str, value: impl std::fmt::Debug) -> Self {
        Self::Damaged(format!("the stored {what} {value:?} cannot be read"))
    }

    /// The fault as a caller of the store is told.
    pub(crate) fn into_error(self, path: &Path) -> Error {
        match self {
            Self::Sqlite(error) => from_sqlite(error, path),
            Self::Damaged(what) => damaged(path, &what),
            Self::Refused(error) => error,
        }
    }

    /// Whether it befell the whole group. Somebody else holds the file: no call would fare better
    /// alone. Or the disk failed: what was written is not known, so nothing may be run again.
    pub(crate) fn is_common(&self) -> bool {
        let Self::Sqlite(error) = self else {
            return false;
        };
        match error.sqlite_error_code() {
            Some(ErrorCode::DatabaseBusy) => true,
            Some(ErrorCode::SystemIoFailure) => !is_short_of_memory_file(error),
            _ => false,
        }
    }
}

/// The file is a store that cannot be read any more.
pub(crate) fn damaged(path: &Path, what: &str) -> Error {
    Error::new(
        ErrorKind::StoreDamaged,
        format!("the store {} is damaged: {what}", path.display()),
        "stop all processes that use it, keep a copy of the file and its -wal, and restore a backup \
         or salvage it with `sqlite3 FILE .recover`",
    )
}

/// The same error for another caller, its cause in words.
pub(crate) fn again(error: &Error) -> Error {
    let copy = Error::new(error.kind(), error.to_string(), error.help().to_owned());
    match std::error::Error::source(error) {
        Some(cause) => copy.caused_by(io::Error::other(cause.to_string())),
        None => copy,
    }
}

/// Maps a code of SQLite to what it means for a job queue.
pub(crate) fn from_sqlite(error: rusqlite::Error, path: &Path) -> Error {
    let place = path.display();
    let answer = match error.sqlite_error_code() {
        _ if is_unreadable(&error) => damaged(path, "a stored value cannot be read"),
        Some(ErrorCode::DiskFull) => full(path),
        Some(ErrorCode::SystemIoFailure) if is_short_of_memory_file(&error) => full(path),
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Error::new(
            ErrorKind::StoreBusy,
            format!("the store {place} is locked by another process"),
            "end the other program's transaction, or try again later; nothing was done",
        ),
        Some(
            ErrorCode::ReadOnly
            | ErrorCode::PermissionDenied
            | ErrorCode::AuthorizationForStatementDenied,
        ) => read_only(path),
        // Whose the file is was read before: a store whose header SQLite does not take.
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => {
            damaged(path, "SQLite cannot read it")
        }
        Some(ErrorCode::CannotOpen) => unreachable(path),
        Some(ErrorCode::SystemIoFailure) => Error::new(
            // A failed write or fsync leaves open whether the change is on disk.
            ErrorKind::OutcomeUnknown,
            format!("the disk under the store {place} failed while it was used"),
            "check the disk; then repeat the call with the same id or token",
        ),
        _ => Error::new(
            ErrorKind::Internal,
            format!("the store {place} refused a statement"),
            "this is a fault of Windlass: report it with this message",
        ),
    };
    answer.caused_by(error)
}

/// Whether a stored value is of another type or size than any that was ever written, or the
/// table it should be in is not there.
fn is_unreadable(error: &rusqlite::Error) -> bool {
    use rusqlite::Error as E;
    match error {
        E::FromSqlConversionFailure(..)
        | E::IntegralValueOutOfRange(..)
        | E::InvalidColumnType(..)
        | E::QueryReturnedNoRows
        // A number that counted on from a stored one, past the largest.
        | E::ToSqlConversionFailure(..)
        | E::Utf8Error(..) => true,
        E::SqlInputError { msg, .. } | E::SqliteFailure(_, Some(msg)) => {
            msg.starts_with("no such ")
        }
        _ => false,
    }
}

/// The file of memory that processes share could not grow: SQLite has no other word for a full
/// disk there.
fn is_short_of_memory_file(error: &rusqlite::Error) -> bool {
    let code = error.sqlite_error().map(|error| error.extended_code);
    matches!(
        code,
        Some(ffi::SQLITE_IOERR_SHMSIZE | ffi::SQLITE_IOERR_SHMMAP)
    )
}

/// What the file system says.
pub(crate) fn from_io(error: io::Error, path: &Path) -> Error {
    let answer = match error.kind() {
        io::ErrorKind::PermissionDenied => read_only(path),
        io::ErrorKind::ReadOnlyFilesystem => Error::new(
            ErrorKind::StoreReadOnly,
            format!("the store {} is on a read-only file system", path.display()),
            "mount it so that it may be written, or use another store",
        ),
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => full(path),
        _ => unreachable(path),
    };
    answer.caused_by(error)
}

fn unreachable(path: &Path) -> Error {
    Error::new(
        ErrorKind::StoreUnreachable,
        format!("the store {} cannot be opened", path.display()),
        "check that its folder exists and that you may write there",
    )
}

fn full(path: &Path) -> Error {
    Error::new(
        ErrorKind::StoreFull,
        format!(
            "the store {} is full: no space is left on its disk",
            path.display()
        ),
        "free disk space, then repeat the call; nothing was stored",
    )
}

/// So little space is left that no more jobs are taken.
pub(crate) fn nearly_full(path: &Path, available: u64, needed: u64) -> Error {
    Error::new(
        ErrorKind::StoreFull,
        format!(
            "the store {} is full: its disk has {available} bytes left and {needed} are needed, \
             so that workers can go on",
            path.display()
        ),
        "free disk space or let workers finish jobs, then repeat the call; nothing was stored",
    )
}

/// Jobs written now would go into a file that nobody finds any more.
pub(crate) fn replaced(path: &Path) -> Error {
    Error::new(
        ErrorKind::StoreUnreachable,
        format!(
            "the store {} was removed or replaced while it was in use",
            path.display()
        ),
        "restart this process so that it opens the file that is there now; nothing was done",
    )
}

/// The store's own threads have ended.
pub(crate) fn closed(path: &Path) -> Error {
    Error::new(
        ErrorKind::Internal,
        format!("the store {} has stopped", path.display()),
        "open it again; if this was not a shutdown, report it",
    )
}

/// A look at the store took too long.
pub(crate) fn slow(path: &Path, patience: Duration) -> Error {
    Error::new(
        ErrorKind::StoreBusy,
        format!(
            "the store {} did not answer within {} s",
            path.display(),
            patience.as_secs()
        ),
        "try again later; nothing was changed",
    )
}

/// Others did not let this process have its turn.
pub(crate) fn held(path: &Path, patience: Duration) -> Error {
    Error::new(
        ErrorKind::StoreBusy,
        format!(
            "the store {} was held by others for {} ms",
            path.display(),
            patience.as_millis()
        ),
        "find the process that holds it (lsof on the file), or try again later; nothing was done",
    )
}

/// The file may not be written.
pub(crate) fn read_only(path: &Path) -> Error {
    Error::new(
        ErrorKind::StoreReadOnly,
        format!("the store {} may not be written", path.display()),
        "give yourself write permission on the file and its folder, or use another store",
    )
}

/// The file is something else.
pub(crate) fn foreign(path: &Path) -> Error {
    Error::new(
        ErrorKind::StoreForeign,
        format!("{} is not a Windlass store", path.display()),
        "name another file with --store sqlite:PATH; this one was left untouched",
    )
}

/// The file was written by a later version of this program.
pub(crate) fn newer(path: &Path, version: i64) -> Error {
    Error::new(
        ErrorKind::StoreNewer,
        format!(
            "the store {} has schema {version}; this Windlass knows up to {SCHEMA_VERSION}",
            path.display()
        ),
        "use the newer Windlass that wrote it",
    )
}

/// A folder where a file should be.
pub(crate) fn folder(path: &Path) -> Error {
    Error::new(
        ErrorKind::StoreForeign,
        format!("{} is a folder, not a store", path.display()),
        "name a file in it, like --store sqlite:FOLDER/windlass.db",
    )
}
