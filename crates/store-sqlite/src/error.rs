//! Maps errors of SQLite and the file system to the store's error kinds.

use std::fmt::Display;
use std::io;
use std::path::Path;
use std::time::Duration;

use rusqlite::{ErrorCode, ffi};
use windlass_core::{Error, ErrorKind};

use crate::file::SCHEMA_VERSION;

/// The result of anything that uses the file.
pub(crate) type TxResult<T> = Result<T, TxError>;

/// Why it failed. The path of the store is added when the error leaves the store.
#[derive(Debug)]
pub(crate) enum TxError {
    /// An error of SQLite.
    Sqlite(rusqlite::Error),
    /// An error of the file system.
    Io(io::Error),
    /// A stored value is corrupt.
    Damaged(String),
    /// Complete already; for an invalid request or a file that cannot be a store.
    Rejected(Error),
}

impl From<rusqlite::Error> for TxError {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sqlite(error)
    }
}

impl From<io::Error> for TxError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl From<Error> for TxError {
    fn from(error: Error) -> Self {
        Self::Rejected(error)
    }
}

impl TxError {
    /// A stored value that cannot be parsed.
    pub(crate) fn corrupt(what: &str, value: impl std::fmt::Debug) -> Self {
        Self::Damaged(format!("corrupt {what}: {value:?}"))
    }

    /// Converts to the error that the caller of the store sees.
    pub(crate) fn into_error(self, path: &Path) -> Error {
        match self {
            Self::Sqlite(error) => from_sqlite(error, path),
            Self::Io(error) => from_io(error, path),
            Self::Damaged(what) => damaged(path, &what),
            Self::Rejected(error) => error,
        }
    }

    /// Whether the error affects every call of a group, so that running them one by one is useless
    /// (the file is locked) or unsafe (the disk failed, and what was written is unknown).
    pub(crate) fn affects_all(&self) -> bool {
        let Self::Sqlite(error) = self else {
            return false;
        };
        match error.sqlite_error_code() {
            Some(ErrorCode::DatabaseBusy | ErrorCode::OperationInterrupted) => true,
            Some(ErrorCode::SystemIoFailure) => !is_shm_full(error),
            _ => false,
        }
    }
}

/// An error about the store at a path: what it is or does, and what to do next.
fn store(kind: ErrorKind, path: &Path, what: impl Display, help: &'static str) -> Error {
    Error::new(kind, format!("the store {} {what}", path.display()), help)
}

/// The file is a store, but cannot be read.
pub(crate) fn damaged(path: &Path, what: &str) -> Error {
    store(
        ErrorKind::StoreDamaged,
        path,
        format_args!("is damaged: {what}"),
        "stop all processes that use it, copy the file and its -wal, then restore a backup or run \
         `sqlite3 FILE .recover`",
    )
}

/// Maps an SQLite error code.
pub(crate) fn from_sqlite(error: rusqlite::Error, path: &Path) -> Error {
    let shown = path.display();
    let mapped = match error.sqlite_error_code() {
        _ if is_corrupt(&error) => damaged(path, "a stored value has the wrong type"),
        Some(ErrorCode::DiskFull) => full(path),
        Some(ErrorCode::SystemIoFailure) if is_shm_full(&error) => full(path),
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => store(
            ErrorKind::StoreBusy,
            path,
            "is locked by another process",
            "end the other program's transaction, or try again later; nothing was changed",
        ),
        Some(
            ErrorCode::ReadOnly
            | ErrorCode::PermissionDenied
            | ErrorCode::AuthorizationForStatementDenied,
        ) => read_only(path),
        // The file was identified before: it is a store whose header SQLite rejects.
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => {
            damaged(path, "SQLite cannot read it")
        }
        Some(ErrorCode::OperationInterrupted) => Error::new(
            ErrorKind::StoreBusy,
            format!("a statement on the store {shown} was interrupted: it took too long"),
            "try again later; if it persists, check the file with `windlass doctor --deep`; nothing was \
             changed",
        ),
        Some(ErrorCode::CannotOpen) => unreachable(path),
        Some(ErrorCode::SystemIoFailure) => Error::new(
            // After a failed write or fsync it is unknown whether the change is on disk.
            ErrorKind::OutcomeUnknown,
            format!("I/O error on the disk of the store {shown}"),
            "check the disk, then repeat the call with the same id or token",
        ),
        _ => Error::new(
            ErrorKind::Internal,
            format!("SQLite rejected a statement on the store {shown}"),
            "this is a bug in Windlass; report it with this message",
        ),
    };
    mapped.caused_by(error)
}

/// Whether a stored value has an impossible type or size, or a table is missing.
fn is_corrupt(error: &rusqlite::Error) -> bool {
    use rusqlite::Error as E;
    match error {
        E::FromSqlConversionFailure(..)
        | E::IntegralValueOutOfRange(..)
        | E::InvalidColumnType(..)
        | E::QueryReturnedNoRows
        // A stored number so large that incrementing it overflows.
        | E::ToSqlConversionFailure(..)
        | E::Utf8Error(..) => true,
        E::SqlInputError { msg, .. } | E::SqliteFailure(_, Some(msg)) => {
            // A table is missing, or replaced by a view.
            msg.starts_with("no such ") || msg.starts_with("access to view ")
        }
        _ => false,
    }
}

/// The shared-memory file could not grow: SQLite's code for a full disk there.
fn is_shm_full(error: &rusqlite::Error) -> bool {
    let code = error.sqlite_error().map(|error| error.extended_code);
    matches!(
        code,
        Some(ffi::SQLITE_IOERR_SHMSIZE | ffi::SQLITE_IOERR_SHMMAP)
    )
}

/// Maps a file system error.
pub(crate) fn from_io(error: io::Error, path: &Path) -> Error {
    let mapped = match error.kind() {
        io::ErrorKind::PermissionDenied => read_only(path),
        io::ErrorKind::ReadOnlyFilesystem => store(
            ErrorKind::StoreReadOnly,
            path,
            "is on a read-only file system",
            "remount it read-write, or use another store",
        ),
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => full(path),
        _ => unreachable(path),
    };
    mapped.caused_by(error)
}

fn unreachable(path: &Path) -> Error {
    Error::new(
        ErrorKind::StoreUnreachable,
        format!("cannot open the store {}", path.display()),
        "check that its folder exists and is writable",
    )
}

fn full(path: &Path) -> Error {
    store(
        ErrorKind::StoreFull,
        path,
        "is full: no space left on its disk",
        "free disk space, or delete jobs with `windlass queue purge` and run `windlass store compact`, \
         then repeat the call; nothing was stored",
    )
}

/// Too little space is left to accept more jobs.
pub(crate) fn nearly_full(path: &Path, available: u64, needed: u64) -> Error {
    store(
        ErrorKind::StoreFull,
        path,
        format_args!(
            "is full: its disk has {available} bytes left; {needed} are needed, including the \
             reserve for workers"
        ),
        "free disk space, let workers finish jobs, or delete jobs with `windlass queue purge`, then \
         repeat the call; nothing was stored",
    )
}

/// The path refers to another file: jobs written now would be lost.
pub(crate) fn replaced(path: &Path) -> Error {
    store(
        ErrorKind::StoreUnreachable,
        path,
        "was removed or replaced while it was in use",
        "restart this process so that it opens the current file; nothing was changed",
    )
}

/// The store's threads have exited.
pub(crate) fn closed(path: &Path) -> Error {
    store(
        ErrorKind::Internal,
        path,
        "is closed",
        "open it again; if this was not a shutdown, report it",
    )
}

/// A read took too long.
pub(crate) fn read_timeout(path: &Path, timeout: Duration) -> Error {
    Error::new(
        ErrorKind::StoreBusy,
        format!(
            "reading the store {} timed out after {} s",
            path.display(),
            timeout.as_secs()
        ),
        "try again later; nothing was changed",
    )
}

/// A write took too long, and had begun.
pub(crate) fn write_timeout(path: &Path, timeout: Duration) -> Error {
    Error::new(
        ErrorKind::OutcomeUnknown,
        format!(
            "writing to the store {} timed out after {} ms",
            path.display(),
            timeout.as_millis()
        ),
        "repeat the call with the same id or token; if it was done, the same reply is returned",
    )
}

/// Other processes kept the write lock for too long.
pub(crate) fn lock_timeout(path: &Path, timeout: Duration) -> Error {
    store(
        ErrorKind::StoreBusy,
        path,
        format_args!(
            "was locked by other processes for {} ms",
            timeout.as_millis()
        ),
        "find the process that holds the lock with `lsof FILE-lock`, or try again later; nothing was changed",
    )
}

/// The file is not writable.
pub(crate) fn read_only(path: &Path) -> Error {
    store(
        ErrorKind::StoreReadOnly,
        path,
        "is not writable",
        "grant write permission on the file and its folder, or use another store",
    )
}

/// The file was written by a newer version of Windlass.
pub(crate) fn newer(path: &Path, version: i64) -> Error {
    store(
        ErrorKind::StoreNewer,
        path,
        format_args!(
            "has schema {version}; this version of Windlass supports up to {SCHEMA_VERSION}"
        ),
        "upgrade Windlass to the version that wrote it",
    )
}

/// An error about a file that must not be used as a store or next to it.
fn not_ours(path: &Path, what: impl Display, help: &'static str) -> Error {
    let message = format!("{} {what}", path.display());
    Error::new(ErrorKind::StoreForeign, message, help)
}

/// The file is not a Windlass store.
pub(crate) fn foreign(path: &Path) -> Error {
    not_ours(
        path,
        "is not a Windlass store",
        "choose another file with --store sqlite:PATH; this one was left untouched",
    )
}

/// The path is a folder.
pub(crate) fn folder(path: &Path) -> Error {
    not_ours(
        path,
        "is a folder, not a store",
        "choose a file in it, like --store sqlite:FOLDER/windlass.db",
    )
}

/// A file of the store belongs to another user.
pub(crate) fn foreign_owner(path: &Path, owner: u32) -> Error {
    not_ours(
        path,
        format_args!("belongs to user {owner}, not to this user"),
        "keep the store in a folder that only its user can write; `ls -ln FOLDER` shows the owners",
    )
}

/// Something that Windlass did not create is in the place of a file of the store.
pub(crate) fn planted(path: &Path, what: &str) -> Error {
    not_ours(
        path,
        format_args!("{what}; Windlass does not use it"),
        "remove it, and keep the store in a folder that only its user can write",
    )
}

/// Other users may write to the folder of wake-up sockets.
pub(crate) fn open_folder(path: &Path, mode: u32) -> Error {
    let shown = path.display();
    Error::new(
        ErrorKind::StoreForeign,
        format!("other users may write to {shown} (mode {mode:04o})"),
        format!("chmod 700 {:?}", shown.to_string()),
    )
}
