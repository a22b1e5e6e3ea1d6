//! Copies the store to a new file while processes use it.

use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind as IoErrorKind};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use rusqlite::{Connection, OpenFlags};
use windlass_core::{Error, ErrorKind, Result};

use crate::SqliteStore;
use crate::error::{self, TxResult};
use crate::file::{absolute, with_suffix};
use crate::open;

impl SqliteStore {
    /// Writes a copy of the store, as it is at this moment, to a new file. Returns the size of the copy,
    /// which is a store as well.
    ///
    /// Other processes read and write meanwhile. The file appears under its name when it is complete
    /// and synced, and only its owner can read it.
    pub async fn backup(&self, to: &Path) -> Result<u64> {
        let to = absolute(to)?;
        self.on_thread("windlass-backup", move |store| backup(store, &to))
            .await
    }
}

fn backup(store: &Path, to: &Path) -> TxResult<u64> {
    if to.symlink_metadata().is_ok() {
        return Err(exists(to, "choose another name, or remove the file").into());
    }
    let partial = with_suffix(to, "-partial");
    // Only one backup at a time can create this file, so no backup replaces another one.
    let mut options = OpenOptions::new();
    options.write(true).create_new(true).mode(0o600);
    match options.open(&partial) {
        Ok(_) => {}
        Err(error) if error.kind() == IoErrorKind::AlreadyExists => {
            let help = "another backup writes it: wait for that; remove the file if that backup was killed";
            return Err(exists(&partial, help).into());
        }
        Err(error) => return Err(unwritable(to, error).into()),
    }
    let copied = copy(store, &partial).and_then(|()| Ok(finish(&partial, to)?));
    if copied.is_err() {
        // The error of the copy matters more than one of this.
        let _ = std::fs::remove_file(&partial);
    }
    copied
}

/// Copies one snapshot. `VACUUM INTO` neither blocks writers nor starts again when they write, as
/// the backup API of SQLite does if the writer is another process.
fn copy(store: &Path, partial: &Path) -> TxResult<()> {
    let db = Connection::open_with_flags(store, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    open::distrust(&db)?;
    let path = partial.to_str().ok_or_else(|| {
        let help = "choose a name in UTF-8";
        Error::invalid("backup file", "its path is not UTF-8", help)
    })?;
    db.execute("VACUUM INTO ?1", [path])
        .map_err(|error| copy_error(error, store, partial))?;
    Ok(())
}

/// Syncs the copy, then gives it its name.
fn finish(partial: &Path, to: &Path) -> io::Result<u64> {
    let copy = File::open(partial)?;
    copy.sync_all()?;
    std::fs::rename(partial, to)?;
    if let Some(folder) = to.parent() {
        File::open(folder)?.sync_all()?;
    }
    Ok(copy.metadata()?.len())
}

/// A full disk is that of the copy, since the store is only read.
fn copy_error(error: rusqlite::Error, store: &Path, partial: &Path) -> Error {
    match error.sqlite_error_code() {
        Some(rusqlite::ErrorCode::DiskFull | rusqlite::ErrorCode::SystemIoFailure) => {
            let what = format!("cannot write the copy {}", partial.display());
            let help = "free space on its disk, or choose another one; the store is not affected";
            Error::new(ErrorKind::StoreFull, what, help).caused_by(error)
        }
        _ => error::from_sqlite(error, store),
    }
}

fn exists(path: &Path, help: &'static str) -> Error {
    let what = format!("{} already exists", path.display());
    Error::new(ErrorKind::Conflict, what, help)
}

fn unwritable(to: &Path, error: io::Error) -> Error {
    let what = format!("cannot create {}", to.display());
    let help = "choose a folder that exists and that you can write to";
    Error::new(ErrorKind::Invalid, what, help).caused_by(error)
}
