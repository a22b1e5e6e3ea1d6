//! What SQLite and the file system say, in the words of the contract.

use std::path::Path;

use rusqlite::ErrorCode;
use windlass_core::{Error, ErrorKind};

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
}

fn damaged(path: &Path, what: &str) -> Error {
    Error::new(
        ErrorKind::StoreDamaged,
        format!("the store {} is damaged: {what}", path.display()),
        "stop all processes that use it, keep a copy of the file and its -wal, and restore a backup \
         or salvage it with `sqlite3 FILE .recover`",
    )
}

/// Maps a code of SQLite to what it means for a job queue.
pub(crate) fn from_sqlite(error: rusqlite::Error, path: &Path) -> Error {
    let place = path.display();
    let answer = match error.sqlite_error_code() {
        Some(ErrorCode::DiskFull) => Error::new(
            ErrorKind::StoreFull,
            format!("the store {place} is full: no space is left on its disk"),
            "free disk space, then repeat the call; nothing was stored",
        ),
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
        Some(ErrorCode::NotADatabase) => foreign(path),
        Some(ErrorCode::DatabaseCorrupt) => damaged(path, "SQLite cannot read it"),
        Some(ErrorCode::CannotOpen) => Error::new(
            ErrorKind::StoreUnreachable,
            format!("the store {place} cannot be opened"),
            "check that its folder exists and that you may write there",
        ),
        Some(ErrorCode::SystemIoFailure) => Error::new(
            // A failed write or fsync leaves open whether the change is on disk.
            ErrorKind::OutcomeUnknown,
            format!("the disk under the store {place} failed while it was used"),
            "check the disk; then repeat the call with the same id or token",
        ),
        _ => Error::new(
            ErrorKind::Internal,
            format!("the store {place} refused a statement"),
            "this is a fault in Windlass: report it with the text below",
        ),
    };
    answer.caused_by(error)
}

/// The file may not be written.
pub(crate) fn read_only(path: &Path) -> Error {
    Error::new(
        ErrorKind::StoreReadOnly,
        format!(
            "the store {} may not be written by this user",
            path.display()
        ),
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
