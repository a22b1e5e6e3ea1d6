//! A lock file that serializes writing processes in arrival order.
//!
//! SQLite's own busy handler is unfair: under load one process can wait for seconds while another
//! commits repeatedly. The kernel grants file locks in the order they were requested.

use std::fs::{File, OpenOptions};
use std::io;
use std::path::Path;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

#[cfg(unix)]
use std::os::unix::fs::OpenOptionsExt;

#[derive(Debug)]
pub(crate) struct WriteLock(File);

impl WriteLock {
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false);
        #[cfg(unix)]
        options.mode(0o600);
        Ok(Self(options.open(path)?))
    }

    /// Blocks until this process holds the lock. Dropping the guard releases it.
    pub(crate) fn lock(&self) -> io::Result<WriteLockGuard<'_>> {
        self.0.lock()?;
        Ok(WriteLockGuard(self))
    }

    /// Waits for the lock for up to `timeout`; `None` on timeout. Release it with
    /// [`WriteLock::unlock`].
    pub(crate) fn lock_within(self, timeout: Duration) -> io::Result<Option<Self>> {
        // Only a blocked thread keeps its position in the kernel's queue. After a timeout the
        // thread still acquires the lock once, then exits.
        let (locked, reply) = mpsc::channel();
        thread::Builder::new()
            .name("windlass-write-lock".to_owned())
            .spawn(move || {
                let outcome = self.0.lock().map(|()| self);
                // If the receiver is gone, dropping the file releases the lock.
                let _ = locked.send(outcome);
            })?;
        reply.recv_timeout(timeout).ok().transpose()
    }

    /// Releases the lock.
    pub(crate) fn unlock(&self) {
        // Unlocking a held lock cannot fail, and the kernel releases it when the process exits.
        let _ = self.0.unlock();
    }
}

#[derive(Debug)]
pub(crate) struct WriteLockGuard<'a>(&'a WriteLock);

impl Drop for WriteLockGuard<'_> {
    fn drop(&mut self) {
        self.0.unlock();
    }
}
