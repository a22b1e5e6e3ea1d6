//! A lock file that serializes writing processes in arrival order.
//!
//! SQLite's own busy handler is unfair: under load one process can wait for seconds while another
//! commits repeatedly. The kernel grants file locks in the order they were requested.

use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use rustix::fs::{Mode, OFlags, open};
use rustix::io::Errno;
use windlass_core::Result;

use crate::error::{self, TxResult};
use crate::file::with_suffix;
use crate::owner::Trusted;

#[derive(Debug)]
pub(crate) struct WriteLock(File);

impl WriteLock {
    /// Opens the lock file of a store, and creates it if missing. A file of another user could be held for ever;
    /// it is rejected, and so is a link.
    pub(crate) fn open(store: &Path, trusted: Trusted) -> Result<Self> {
        let path = &with_suffix(store, "-lock");
        let flags = OFlags::RDWR | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let mode = Mode::RUSR | Mode::WUSR;
        // Opened before it is created: some systems refuse to create an existing file of another user
        // even for root. If another process creates it in between, the third attempt opens it.
        let opened = match open(path, flags, mode) {
            Err(Errno::NOENT) => match open(path, flags | OFlags::CREATE | OFlags::EXCL, mode) {
                Err(Errno::EXIST) => open(path, flags, mode),
                created => created,
            },
            opened => opened,
        };
        let file = match opened {
            Ok(file) => File::from(file),
            Err(Errno::LOOP) => return Err(error::planted(path, "is a link")),
            Err(error) => return Err(error::from_io(error.into(), store)),
        };
        if !trusted.check_file(&file, path)?.is_file() {
            return Err(error::planted(path, "is not a file"));
        }
        Ok(Self(file))
    }

    /// Blocks until this process holds the lock.
    pub(crate) fn lock(&self) -> io::Result<()> {
        self.0.lock()
    }

    /// Waits for the lock for up to `timeout`, makes a change, and releases the lock.
    pub(crate) fn locked<T>(
        self,
        store: &Path,
        timeout: Duration,
        change: impl FnOnce() -> TxResult<T>,
    ) -> TxResult<(Self, T)> {
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
        let timed_out = |_| error::lock_timeout(store, timeout);
        let lock = reply.recv_timeout(timeout).map_err(timed_out)??;
        let changed = change()?;
        lock.unlock();
        Ok((lock, changed))
    }

    pub(crate) fn unlock(&self) {
        // Unlocking a held lock cannot fail, and the kernel releases it when the process exits.
        let _ = self.0.unlock();
    }
}
