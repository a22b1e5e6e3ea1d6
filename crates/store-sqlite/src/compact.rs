//! Gives free pages of the file back to the disk: a few with every maintenance, all of them with
//! `compact`.

use std::path::Path;

use rusqlite::Connection;
use windlass_core::Result;

use crate::SqliteStore;
use crate::disk_space;
use crate::error::{self, TxError, TxResult};
use crate::open::{self, Options};
use crate::owner::Trusted;
use crate::transaction::Tx;
use crate::write_lock::WriteLock;

/// Free pages that maintenance leaves in the file for the next jobs: 4 MiB.
const PAGES_KEPT: u64 = 1024;

/// Pages given back at once, which bounds how long other writers wait: 2 MiB.
const PAGES_AT_ONCE: u64 = 512;

/// What `compact` did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Compacted {
    /// The size of the file before.
    pub bytes_before: u64,
    /// The size of the file after.
    pub bytes_after: u64,
    /// Whether the file was rewritten. If the disk is too full for a copy of the jobs, only the free
    /// pages are given back.
    pub is_rewritten: bool,
}

impl SqliteStore {
    /// Gives all free space inside the file back to the disk, then rewrites the file without gaps.
    ///
    /// Writers wait meanwhile. The rewrite needs free disk space for a copy of the jobs; without it
    /// that part is left out.
    pub async fn compact(&self) -> Result<Compacted> {
        let (reply, answer) = tokio::sync::oneshot::channel();
        let (path, options) = (self.path.clone(), self.connect_options.clone());
        let trusted = self.trusted;
        let run = move || {
            // The caller may be gone.
            let _ = reply.send(compact(&path, &options, trusted));
        };
        std::thread::Builder::new()
            .name("windlass-compact".to_owned())
            .spawn(run)
            .map_err(|error| error::from_io(error, &self.path))?;
        answer.await.map_err(|_| error::closed(&self.path))?
    }
}

fn compact(path: &Path, options: &Options, trusted: Trusted) -> Result<Compacted> {
    let sqlite = |error| error::from_sqlite(error, path);
    let db = open::connect(path, options)?;
    let mut lock = WriteLock::open(path, trusted)?;
    checkpoint(&db, "PASSIVE").map_err(sqlite)?;
    let bytes_before = file_bytes(path)?;
    // Small transactions first: they need little space on a full disk.
    let free = free_pages(&db).map_err(|error| error.into_error(path))?;
    for _ in 0..free.div_ceil(PAGES_AT_ONCE) {
        lock = locked(lock, path, options)?;
        let returned = give_back(&db, PAGES_AT_ONCE).and_then(|()| checkpoint(&db, "PASSIVE"));
        lock.unlock();
        returned.map_err(sqlite)?;
    }
    // A copy in a temporary file, then in the log.
    let needed = file_bytes(path)?.saturating_mul(2);
    let is_rewritten = disk_space::available(path).is_none_or(|available| available >= needed);
    if is_rewritten {
        lock = locked(lock, path, options)?;
        let rewritten = rewrite(&db);
        lock.unlock();
        rewritten.map_err(sqlite)?;
    }
    Ok(Compacted {
        bytes_before,
        bytes_after: file_bytes(path)?,
        is_rewritten,
    })
}

fn locked(lock: WriteLock, path: &Path, options: &Options) -> Result<WriteLock> {
    lock.lock_within(options.call_deadline)
        .map_err(|error| error::from_io(error, path))?
        .ok_or_else(|| error::lock_timeout(path, options.call_deadline))
}

fn rewrite(db: &Connection) -> rusqlite::Result<()> {
    // A copy of a large store does not fit into memory.
    db.pragma_update(None, "temp_store", "FILE")?;
    // Takes effect for files made without it.
    db.pragma_update(None, "auto_vacuum", "INCREMENTAL")?;
    db.execute_batch("VACUUM")?;
    checkpoint(db, "TRUNCATE")
}

fn file_bytes(path: &Path) -> Result<u64> {
    let file = std::fs::metadata(path).map_err(|error| error::from_io(error, path))?;
    Ok(file.len())
}

fn free_pages(db: &Connection) -> TxResult<u64> {
    let free = db.pragma_query_value(None, "freelist_count", |row| row.get(0));
    free.map_err(TxError::from)
}

/// Moves up to `pages` free pages to the end of the file and cuts them off.
fn give_back(db: &Connection, pages: u64) -> rusqlite::Result<()> {
    let mut statement = db.prepare(&format!("PRAGMA incremental_vacuum({pages})"))?;
    // Every row is one page.
    let mut rows = statement.query([])?;
    while rows.next()?.is_some() {}
    Ok(())
}

/// Copies the log into the file, and shortens the file to its new size. Does not wait for readers.
pub(crate) fn checkpoint(db: &Connection, mode: &str) -> rusqlite::Result<()> {
    db.query_row(&format!("PRAGMA wal_checkpoint({mode})"), [], |_| Ok(()))
}

impl Tx<'_> {
    /// Gives some free pages back, if there are many. They leave the file with the next checkpoint.
    pub(crate) fn give_back_pages(&mut self) -> TxResult<()> {
        let surplus = free_pages(self.db)?.saturating_sub(PAGES_KEPT);
        if surplus > 0 {
            give_back(self.db, surplus.min(PAGES_AT_ONCE))?;
            self.is_shortened = true;
        }
        Ok(())
    }
}
