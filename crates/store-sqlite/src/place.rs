//! Where the file is, whose it is, and making it where it is missing.
//!
//! Whose a file is gets read from its first bytes, without SQLite: merely opening and closing
//! another program's database may change it.

use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use windlass_core::{Error, ErrorKind, Result};

use crate::fault;

/// The mark in the file's header that says whose it is: "WNDL".
pub(crate) const APPLICATION_ID: i64 = 0x574e_444c;

/// The shape of `schema.sql`.
pub(crate) const SCHEMA_VERSION: i64 = 1;

/// The longest path that SQLite takes, less what it adds for the names beside it.
const PATH_BYTES_MAX: usize = 504;

/// The start of every SQLite file.
const MAGIC: &[u8] = b"SQLite format 3\0";

/// How long the header of an SQLite file is.
const HEADER_BYTES: usize = 100;

/// What the first bytes of a file say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Whose {
    /// Nobody's yet, or a store so new that all of it is still in the log.
    Nobodys,
    Ours,
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
    let mut header = Vec::with_capacity(HEADER_BYTES);
    File::open(path)
        .and_then(|file| file.take(HEADER_BYTES as u64).read_to_end(&mut header))
        .map_err(|error| fault::from_io(error, path))?;
    // Only a store has a turnstile beside it.
    let has_turnstile = beside(path, "-turnstile").exists();
    let is_in_use = ["-wal", "-journal"].map(|ending| beside(path, ending).exists());
    if header.is_empty() {
        return Ok(Whose::Nobodys);
    }
    if header.len() < HEADER_BYTES || !header.starts_with(MAGIC) {
        return Err(if has_turnstile {
            fault::damaged(path, "its first bytes are not those of a store")
        } else {
            fault::foreign(path)
        });
    }
    let number = |at: usize| {
        let bytes = [header[at], header[at + 1], header[at + 2], header[at + 3]];
        i64::from(u32::from_be_bytes(bytes))
    };
    // The places of the schema cookie, the user version and the application id.
    let (cookie, version, application_id) = (number(40), number(60), number(68));
    match application_id {
        APPLICATION_ID if version > SCHEMA_VERSION => Err(fault::newer(path, version)),
        APPLICATION_ID => Ok(Whose::Ours),
        // What another program has yet to copy into its file is its own affair.
        0 if is_in_use.contains(&true) && !has_turnstile => Err(fault::foreign(path)),
        0 if cookie == 0 && version == 0 => Ok(Whose::Nobodys),
        _ => Err(fault::foreign(path)),
    }
}
