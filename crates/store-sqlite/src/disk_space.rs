//! Checks free disk space before an enqueue. A reserve is kept for workers: claiming and
//! completing write too, and only they free space again.

use std::path::Path;

use windlass_core::Result;

use crate::error;

/// Space kept free: twice the size of the log between two checkpoints.
const RESERVE_BYTES: u64 = 8 * 1024 * 1024;

/// Rejects new jobs with `bytes` of payloads if they would use up the reserve.
pub(crate) fn refuse_full(path: &Path, bytes: u64) -> Result<()> {
    // A payload is written twice: to the log, and from there into the file.
    let needed = RESERVE_BYTES.saturating_add(bytes.saturating_mul(2));
    match available(path) {
        Some(available) if available < needed => Err(error::nearly_full(path, available, needed)),
        _ => Ok(()),
    }
}

/// Free bytes on the store's disk, or `None` if unknown.
#[cfg(unix)]
fn available(path: &Path) -> Option<u64> {
    let disk = rustix::fs::statvfs(path).ok()?;
    // Virtual file systems report a size of 0.
    (disk.f_blocks > 0).then(|| disk.f_bavail.saturating_mul(disk.f_frsize))
}

#[cfg(not(unix))]
fn available(_: &Path) -> Option<u64> {
    None
}
