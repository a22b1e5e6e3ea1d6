//! Where the file is, whose it is, and making it where it is missing.
//!
//! Whose a file is gets read before it is opened for work: merely opening and closing another
//! program's database may change it.

use std::fs::OpenOptions;
use std::io;
use std::path::{Path, PathBuf};

use rusqlite::{Connection, ErrorCode, OpenFlags};
use windlass_core::{Error, ErrorKind, Result};

use crate::fault;

/// The mark in the file's header that says whose it is: "WNDL".
pub(crate) const APPLICATION_ID: i64 = 0x574e_444c;

/// The shape of `schema.sql`.
pub(crate) const SCHEMA_VERSION: i64 = 1;

/// The longest path that SQLite takes, less what it adds for the names beside it.
const PATH_BYTES_MAX: usize = 504;

/// The smallest page of an SQLite file, and so the smallest file.
const PAGE_BYTES_MIN: u64 = 512;

/// What the first bytes of a file say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Whose {
    /// Nobody's yet, or a store so new that all of it is still in the log.
    Nobodys,
    Ours,
    /// Ours by its turnstile; somebody was writing it while it was looked at, or it is damaged.
    Unclear,
}

/// Which file it is, whatever its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FileId(u64, u64);

/// The file that a path names now; nothing where there is none, or the system does not tell.
#[cfg(unix)]
pub(crate) fn file_id(path: &Path) -> Option<FileId> {
    use std::os::unix::fs::MetadataExt;
    let file = std::fs::metadata(path).ok()?;
    Some(FileId(file.dev(), file.ino()))
}

#[cfg(not(unix))]
pub(crate) fn file_id(_: &Path) -> Option<FileId> {
    None
}

/// The whole path of a store, which must be short enough for SQLite.
pub(crate) fn absolute(path: &Path) -> Result<PathBuf> {
    if path.as_os_str().is_empty() {
        return Err(Error::invalid(
            "store",
            "it names no file",
            "write it like sqlite:jobs.db",
        ));
    }
    let path = std::path::absolute(path).map_err(|error| fault::from_io(error, path))?;
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
        format!("its path has {bytes} bytes, SQLite takes {PATH_BYTES_MAX}"),
        "put the store at a shorter path",
    ))
}

/// Takes an empty file for a store to be made in it, and keeps others from reading it.
pub(crate) fn claim_file(path: &Path, create: bool) -> Result<()> {
    // A store so new that all of it is still in the log is a store.
    if !create && !beside(path, "-wal").exists() {
        return refuse_missing(path, false);
    }
    #[cfg(unix)]
    {
        let owner_only = std::os::unix::fs::PermissionsExt::from_mode(0o600);
        std::fs::set_permissions(path, owner_only).map_err(|error| fault::from_io(error, path))?;
    }
    Ok(())
}

/// The path of what belongs to a store beside its file.
pub(crate) fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    PathBuf::from(name)
}

/// Makes sure of a file that only its owner may read: SQLite gives its log the same permissions.
/// Answers where it really is: whoever comes by a link must meet the others at the same turnstile.
pub(crate) fn make_file(path: &Path, create: bool) -> Result<PathBuf> {
    match std::fs::metadata(path) {
        Ok(file) if file.is_file() => {}
        Ok(file) if file.is_dir() => return Err(fault::folder(path)),
        Ok(_) => return Err(fault::foreign(path)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            refuse_missing(path, create)?;
            let mut options = OpenOptions::new();
            options.read(true).write(true).create(true).truncate(false);
            #[cfg(unix)]
            std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
            options
                .open(path)
                .map_err(|error| fault::from_io(error, path))?;
        }
        Err(error) => return Err(fault::from_io(error, path)),
    }
    let path = path
        .canonicalize()
        .map_err(|error| fault::from_io(error, path))?;
    check_length(&path)?;
    Ok(path)
}

fn refuse_missing(path: &Path, create: bool) -> Result<()> {
    let help = match path.parent() {
        Some(folder) if !folder.exists() => {
            format!("make the folder {} first", folder.display())
        }
        _ if create => return Ok(()),
        _ => "enqueue a job to make it, or name another store with --store".to_owned(),
    };
    Err(Error::new(
        ErrorKind::StoreUnreachable,
        format!("there is no store at {}", path.display()),
        help,
    ))
}

/// Reads whose the file is; another program's is refused before anything touches it.
pub(crate) fn whose(path: &Path) -> Result<Whose> {
    refuse_unreadable(path)?;
    let bytes = std::fs::metadata(path)
        .map_err(|error| fault::from_io(error, path))?
        .len();
    if bytes == 0 {
        return Ok(Whose::Nobodys);
    }
    // Only a store has a turnstile beside it.
    let has_turnstile = beside(path, "-turnstile").exists();
    let is_in_use = ["-wal", "-journal"].map(|ending| beside(path, ending).exists());
    // SQLite takes less than a page for nothing, and would write over it.
    let header = match bytes {
        0..PAGE_BYTES_MIN => Ok(None),
        _ => Header::read(path),
    };
    let header = match header {
        Ok(Some(header)) => header,
        Ok(None) if has_turnstile => {
            return Err(fault::damaged(
                path,
                "its first bytes are not those of a store",
            ));
        }
        Err(error) if error.kind() == ErrorKind::StoreDamaged && has_turnstile => {
            return Ok(Whose::Unclear);
        }
        Ok(None) => return Err(fault::foreign(path)),
        Err(error) if error.kind() == ErrorKind::StoreDamaged => return Err(fault::foreign(path)),
        Err(error) => return Err(error),
    };
    match header.application_id {
        APPLICATION_ID if header.user_version > SCHEMA_VERSION => {
            Err(fault::newer(path, header.user_version))
        }
        APPLICATION_ID => Ok(Whose::Ours),
        // What another program has yet to copy into its file is its own affair.
        0 if is_in_use.contains(&true) && !has_turnstile => Err(fault::foreign(path)),
        0 if header.schema_version == 0 && header.user_version == 0 => Ok(Whose::Nobodys),
        _ => Err(fault::foreign(path)),
    }
}

/// Refuses a file that this user may not read and write, in words of our own. Asked without opening
/// it, for the sake of others' locks.
#[cfg(unix)]
fn refuse_unreadable(path: &Path) -> Result<()> {
    use rustix::fs::{Access, access};
    use rustix::io::Errno;
    match access(path, Access::READ_OK | Access::WRITE_OK) {
        Err(error @ (Errno::ACCESS | Errno::ROFS)) => Err(fault::from_io(error.into(), path)),
        _ => Ok(()),
    }
}

#[cfg(not(unix))]
fn refuse_unreadable(_: &Path) -> Result<()> {
    Ok(())
}

/// What the first bytes of an SQLite file say.
#[derive(Debug)]
struct Header {
    application_id: i64,
    user_version: i64,
    schema_version: i64,
}

impl Header {
    /// Reads the header as of a file that nobody changes: nothing is locked, played back or made.
    /// `None` when it is not SQLite's.
    ///
    /// SQLite must do the reading: closing a file of our own would drop the locks that other
    /// connections of this process hold on it, and its log could be deleted under them.
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
            Err(error) => Err(fault::from_sqlite(error, path)),
        }
    }
}

/// The path as an address that SQLite reads and never writes.
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
