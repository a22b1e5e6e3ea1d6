//! The space of a store. Some of the disk is kept free for workers: claiming and completing write too,
//! and only they free space again. Free pages of the file go back to the disk: a few with every
//! maintenance, all of them with `compact`.

use std::path::Path;

use rusqlite::Connection;
use windlass_core::Result;

use crate::SqliteStore;
use crate::error::{self, TxResult};
use crate::open::{self, Options};
use crate::owner::Trusted;
use crate::transaction::{QueueTx, Tx};
use crate::write_lock::WriteLock;

/// Size of the log between two checkpoints. The reserve is twice that: a write goes to the log, and
/// from there into the file.
const LOG_BYTES: u64 = 4 * 1024 * 1024;

/// Pages in the log at which a commit starts a checkpoint: SQLite's default, [`LOG_BYTES`].
pub(crate) const LOG_PAGES: u32 = 1000;

/// The same for a commit that writes many schedules. Their rows are all over the file, so a checkpoint takes
/// longer than the transaction; a small one bounds how long the call, and those behind it, wait.
pub(crate) const LOG_PAGES_OF_SCHEDULES: u32 = 250;

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

/// Available and needed bytes if `bytes` of payloads would use up the reserve. Only a short disk is worth
/// reading `free`, the free bytes inside the file.
pub(crate) fn shortage(
    path: &Path,
    bytes: u64,
    free: impl FnOnce() -> TxResult<u64>,
) -> TxResult<Option<(u64, u64)>> {
    let Some(available) = available(path).filter(|available| *available < needed(bytes, 0)) else {
        return Ok(None);
    };
    let needed = needed(bytes, free()?);
    Ok((available < needed).then_some((available, needed)))
}

impl SqliteStore {
    /// Rejects new jobs with `bytes` of payloads if they would use up the reserve.
    pub(crate) async fn refuse_full(&self, bytes: u64) -> Result<()> {
        // Most calls need no read.
        if available(&self.path).is_none_or(|available| available >= needed(bytes, 0)) {
            return Ok(());
        }
        let path = self.path.clone();
        let read = move |db: &Connection| shortage(&path, bytes, || free_bytes(db));
        match self.reader.read(read).await? {
            Some((available, needed)) => Err(error::nearly_full(&self.path, available, needed)),
            None => Ok(()),
        }
    }

    /// Gives all free space inside the file back to the disk, then rewrites the file without gaps.
    ///
    /// Writers wait meanwhile. The rewrite needs free disk space for a copy of the jobs; without it
    /// that part is left out.
    pub async fn compact(&self) -> Result<Compacted> {
        let (options, trusted) = (self.options.clone(), self.trusted);
        self.on_thread("windlass-compact", move |path| {
            compact(path, &options, trusted)
        })
        .await
    }
}

fn compact(path: &Path, options: &Options, trusted: Trusted) -> TxResult<Compacted> {
    let db = open::connect(path, options)?;
    let mut lock = WriteLock::open(path, trusted)?;
    checkpoint(&db, "PASSIVE")?;
    let bytes_before = path.metadata()?.len();
    // Small transactions first: they need little space on a full disk.
    for _ in 0..free_pages(&db)?.div_ceil(PAGES_AT_ONCE) {
        (lock, ()) = lock.locked(path, options.call_deadline, || {
            give_back(&db, PAGES_AT_ONCE)?;
            Ok(checkpoint(&db, "PASSIVE")?)
        })?;
    }
    // A copy in a temporary file, then in the log.
    let needed = path.metadata()?.len().saturating_mul(2);
    let is_rewritten = available(path).is_none_or(|available| available >= needed);
    if is_rewritten {
        lock.locked(path, options.call_deadline, || Ok(rewrite(&db)?))?;
    }
    Ok(Compacted {
        bytes_before,
        bytes_after: path.metadata()?.len(),
        is_rewritten,
    })
}

fn rewrite(db: &Connection) -> rusqlite::Result<()> {
    // A copy of a large store does not fit into memory.
    db.pragma_update(None, "temp_store", "FILE")?;
    // Takes effect for files made without it.
    db.pragma_update(None, "auto_vacuum", "INCREMENTAL")?;
    db.execute_batch("VACUUM")?;
    checkpoint(db, "TRUNCATE")
}

/// Free disk space needed to store `bytes` in a file that has `free` bytes to reuse. The log cannot
/// reuse them.
fn needed(bytes: u64, free: u64) -> u64 {
    let once = LOG_BYTES.saturating_add(bytes);
    once.saturating_add(once.saturating_sub(free))
}

/// Bytes of the free pages inside the file.
pub(crate) fn free_bytes(db: &Connection) -> TxResult<u64> {
    let page: u64 = db.pragma_query_value(None, "page_size", |row| row.get(0))?;
    Ok(free_pages(db)?.saturating_mul(page))
}

fn free_pages(db: &Connection) -> TxResult<u64> {
    Ok(db.pragma_query_value(None, "freelist_count", |row| row.get(0))?)
}

/// Free bytes on the store's disk, or `None` if unknown.
pub(crate) fn available(path: &Path) -> Option<u64> {
    let disk = rustix::fs::statvfs(path).ok()?;
    // Virtual file systems report a size of 0.
    (disk.f_blocks > 0).then(|| disk.f_bavail.saturating_mul(disk.f_frsize))
}

/// Moves up to `pages` free pages to the end of the file and cuts them off.
fn give_back(db: &Connection, pages: u64) -> rusqlite::Result<()> {
    let mut statement = db.prepare(&format!("PRAGMA incremental_vacuum({pages})"))?;
    // Every row is one page.
    let mut rows = statement.query([])?;
    while rows.next()?.is_some() {}
    Ok(())
}

/// Sets how many pages of the log start a checkpoint.
pub(crate) fn checkpoint_at(db: &Connection, pages: u32) -> rusqlite::Result<()> {
    db.pragma_update(None, "wal_autocheckpoint", pages)
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

impl QueueTx<'_> {
    /// Takes room for `bytes` of payloads that a schedule enqueues. Returns false, and takes none, if they
    /// would use up the reserve.
    pub(crate) fn take_room(&mut self, bytes: u64) -> TxResult<bool> {
        // The disk does not show what this transaction has written.
        let all = self.fired_bytes.saturating_add(bytes);
        let fits = shortage(self.path, all, || free_bytes(self.db))?.is_none();
        if fits {
            *self.fired_bytes = all;
        }
        Ok(fits)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn free_pages_hold_the_jobs_but_not_the_log() {
        let mib = 1024 * 1024;
        assert_eq!(needed(mib, 0), 10 * mib);
        assert_eq!(needed(mib, mib), 9 * mib);
        assert_eq!(needed(mib, 100 * mib), 5 * mib);
        assert_eq!(needed(u64::MAX, 0), u64::MAX);
    }
}
