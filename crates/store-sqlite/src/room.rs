//! Is there room for more jobs? The last of the disk belongs to the workers: claiming and
//! completing write too, and only they make room again.

use std::path::Path;

use windlass_core::Result;

use crate::fault;

/// What is kept free: twice the log between two checkpoints.
const RESERVE_BYTES: u64 = 8 * 1024 * 1024;

/// Refuses new jobs with payloads of so many bytes when they would use up the reserve.
pub(crate) fn refuse_full(path: &Path, bytes: u64) -> Result<()> {
    // A payload is written twice: to the log, and from there into the file.
    let needed = RESERVE_BYTES.saturating_add(bytes.saturating_mul(2));
    match available(path) {
        Some(available) if available < needed => Err(fault::nearly_full(path, available, needed)),
        _ => Ok(()),
    }
}

/// Free bytes of the disk under the store, where the system tells.
#[cfg(unix)]
fn available(path: &Path) -> Option<u64> {
    let disk = rustix::fs::statvfs(path).ok()?;
    // File systems without a size of their own say that they have none.
    (disk.f_blocks > 0).then(|| disk.f_bavail.saturating_mul(disk.f_frsize))
}

#[cfg(not(unix))]
fn available(_: &Path) -> Option<u64> {
    None
}
