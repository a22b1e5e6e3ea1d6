//! Checks free disk space before an enqueue. A reserve is kept for workers: claiming and
//! completing write too, and only they free space again.

use std::path::Path;

use rusqlite::Connection;
use windlass_core::Result;

use crate::SqliteStore;
use crate::error::{self, TxResult};

/// Size of the log between two checkpoints. The reserve is twice that: a write goes to the log, and
/// from there into the file.
const LOG_BYTES: u64 = 4 * 1024 * 1024;

impl SqliteStore {
    /// Rejects new jobs with `bytes` of payloads if they would use up the reserve.
    pub(crate) async fn refuse_full(&self, bytes: u64) -> Result<()> {
        let Some(available) = available(&self.path) else {
            return Ok(());
        };
        if available >= needed(bytes, 0) {
            return Ok(());
        }
        // Only a short disk is worth a read.
        let free = self.reader.read(free_bytes).await?;
        let needed = needed(bytes, free);
        if available >= needed {
            return Ok(());
        }
        Err(error::nearly_full(&self.path, available, needed))
    }
}

/// Free disk space needed to store `bytes` in a file that has `free` bytes to reuse. The log cannot
/// reuse them.
fn needed(bytes: u64, free: u64) -> u64 {
    let once = LOG_BYTES.saturating_add(bytes);
    once.saturating_add(once.saturating_sub(free))
}

/// Bytes of the free pages inside the file.
pub(crate) fn free_bytes(db: &Connection) -> TxResult<u64> {
    let number = |name| db.pragma_query_value(None, name, |row| row.get::<_, u64>(0));
    Ok(number("freelist_count")?.saturating_mul(number("page_size")?))
}

/// Free bytes on the store's disk, or `None` if unknown.
pub(crate) fn available(path: &Path) -> Option<u64> {
    let disk = rustix::fs::statvfs(path).ok()?;
    // Virtual file systems report a size of 0.
    (disk.f_blocks > 0).then(|| disk.f_bavail.saturating_mul(disk.f_frsize))
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
