//! Finds the file, creates it if missing, and checks that it is a Windlass store.
//!
//! The check comes before SQLite opens the file for writing: merely opening and closing another
//! program's database can change it.

use std::fs::{OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use rusqlite::{Connection, ErrorCode, OpenFlags};
use rustix::fs::{Access, access};
use rustix::io::Errno;
use windlass_core::{Error, ErrorKind, Result};

use crate::error::{self, TxError, TxResult};

/// SQLite's `application_id` of a Windlass store: "WNDL".
pub(crate) const APPLICATION_ID: i64 = 0x574e_444c;

/// The version of `schema.sql`.
pub(crate) const SCHEMA_VERSION: i64 = 3;

/// SQLite's maximum path length, less the suffixes it appends (`-wal`, `-shm`).
const PATH_BYTES_MAX: usize = 504;

/// SQLite's smallest page, and so its smallest file.
const PAGE_BYTES_MIN: u64 = 512;

/// What a file's header identifies it as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FileKind {
    /// Empty, or a store so new that all of it is still in the log.
    Empty,
    Store,
    /// Has a lock file, but the header is unreadable: it is being written right now, or damaged.
    Unclear,
}

/// Identifies a file independently of its name (device and inode).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FileId(u64, u64);

/// The file a path currently refers to, or `None` if missing.
pub(crate) fn file_id(path: &Path) -> Option<FileId> {
    let file = std::fs::metadata(path).ok()?;
    Some(FileId(file.dev(), file.ino()))
}

/// The absolute path of a store. Fails if it is too long for SQLite.
pub(crate) fn absolute(path: &Path) -> Result<PathBuf> {
    if path.as_os_str().is_empty() {
        return Err(Error::invalid(
            "store",
            "the path is empty",
            "use a path, like sqlite:jobs.db",
        ));
    }
    let path = std::path::absolute(path).map_err(|error| error::from_io(error, path))?;
    check_length(&path)?;
    Ok(path)
}

fn check_length(path: &Path) -> Result<()> {
    let bytes = path.as_os_str().len();
    if bytes <= PATH_BYTES_MAX {
        return Ok(());
    }
    Err(Error::invalid(
        "store",
        format!("the path has {bytes} bytes, SQLite allows at most {PATH_BYTES_MAX}"),
        "put the store at a shorter path",
    ))
}

/// Prepares an empty file for a new store, readable by its owner only.
pub(crate) fn prepare_empty(path: &Path, create: bool) -> TxResult<()> {
    // A new store may still be entirely in the log.
    if !create && !with_suffix(path, "-wal").exists() {
        refuse_missing(path, false)?;
    }
    let owner_only = Permissions::from_mode(0o600);
    Ok(std::fs::set_permissions(path, owner_only)?)
}

/// The path with a suffix appended to its file name.
pub(crate) fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}

/// Creates the file if missing, readable by its owner only; SQLite gives its log the same
/// permissions. Returns the path with links resolved, so that all processes share one lock file.
pub(crate) fn ensure(path: &Path, create: bool) -> TxResult<PathBuf> {
    match std::fs::metadata(path) {
        Ok(file) if file.is_file() => {}
        Ok(file) if file.is_dir() => return Err(error::folder(path).into()),
        Ok(_) => return Err(error::foreign(path).into()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            refuse_missing(path, create)?;
            let mut options = OpenOptions::new();
            options.read(true).write(true).create(true).truncate(false);
            options.mode(0o600).open(path)?;
        }
        Err(error) => return Err(error.into()),
    }
    let path = path.canonicalize()?;
    check_length(&path)?;
    Ok(path)
}

fn refuse_missing(path: &Path, create: bool) -> Result<()> {
    let help = match path.parent() {
        Some(folder) if !folder.exists() => {
            format!("create the folder first: mkdir -p {}", folder.display())
        }
        _ if create => return Ok(()),
        _ => "enqueue a job to create it, or choose another store with --store".to_owned(),
    };
    Err(Error::new(
        ErrorKind::StoreUnreachable,
        format!("no store at {}", path.display()),
        help,
    ))
}

/// Identifies the file. A file of another program is rejected before anything touches it.
pub(crate) fn kind(path: &Path) -> TxResult<FileKind> {
    refuse_unreadable(path)?;
    let bytes = path.metadata()?.len();
    if bytes == 0 {
        return Ok(FileKind::Empty);
    }
    // Only a store has a lock file next to it.
    let has_lock_file = with_suffix(path, "-lock").exists();
    let is_in_use = ["-wal", "-journal"].map(|suffix| with_suffix(path, suffix).exists());
    // SQLite treats a file smaller than a page as empty, and would overwrite it.
    let header = match bytes {
        0..PAGE_BYTES_MIN => Ok(None),
        _ => Header::read(path),
    };
    let header = match header {
        Ok(Some(header)) => header,
        Ok(None) if has_lock_file => {
            let what = "its header is not that of a store".to_owned();
            return Err(TxError::Damaged(what));
        }
        Err(error) if error.kind() == ErrorKind::StoreDamaged && has_lock_file => {
            return Ok(FileKind::Unclear);
        }
        Err(error) if error.kind() != ErrorKind::StoreDamaged => return Err(error.into()),
        Ok(None) | Err(_) => return Err(error::foreign(path).into()),
    };
    match header.application_id {
        APPLICATION_ID if header.user_version > SCHEMA_VERSION => {
            Err(error::newer(path, header.user_version).into())
        }
        APPLICATION_ID => Ok(FileKind::Store),
        // Another program's database whose log has not been checkpointed yet.
        0 if is_in_use.contains(&true) && !has_lock_file => Err(error::foreign(path).into()),
        0 if header.schema_version == 0 && header.user_version == 0 => Ok(FileKind::Empty),
        _ => Err(error::foreign(path).into()),
    }
}

/// Rejects a file that this user may not read and write. Does not open it: closing it again would
/// drop this process's locks on it.
fn refuse_unreadable(path: &Path) -> io::Result<()> {
    match access(path, Access::READ_OK | Access::WRITE_OK) {
        Err(error @ (Errno::ACCESS | Errno::ROFS)) => Err(error.into()),
        _ => Ok(()),
    }
}

/// Fields of an SQLite file header.
#[derive(Debug)]
struct Header {
    application_id: i64,
    user_version: i64,
    schema_version: i64,
}

impl Header {
    /// Reads the header in immutable mode: nothing is locked, replayed or created. `None` if it is
    /// not an SQLite file.
    ///
    /// SQLite must do the reading: closing a file descriptor opened here would drop the locks that
    /// other connections of this process hold on the file, and its log could be deleted under them.
    fn read(path: &Path) -> Result<Option<Self>> {
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY
            | OpenFlags::SQLITE_OPEN_URI
            | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let read = || -> rusqlite::Result<Self> {
            let db = Connection::open_with_flags(uri(path), flags)?;
            let number = |name: &str| db.pragma_query_value(None, name, |row| row.get(0));
            Ok(Self {
                application_id: number("application_id")?,
                user_version: number("user_version")?,
                schema_version: number("schema_version")?,
            })
        };
        match read() {
            Ok(header) => Ok(Some(header)),
            Err(error) if error.sqlite_error_code() == Some(ErrorCode::NotADatabase) => Ok(None),
            Err(error) => Err(error::from_sqlite(error, path)),
        }
    }
}

/// The path as a read-only, immutable SQLite URI.
fn uri(path: &Path) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/._-".contains(&byte);
    let encoded = path
        .as_os_str()
        .as_encoded_bytes()
        .iter()
        .map(|byte| match byte {
            byte if is_plain(*byte) => char::from(*byte).to_string(),
            byte => format!("%{byte:02x}"),
        });
    format!("file:{}?mode=ro&immutable=1", encoded.collect::<String>())
}
