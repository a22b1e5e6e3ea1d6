//! A lock file that processes queue at before they write.
//!
//! SQLite's own waiting is by chance: under load one process may wait for seconds while another
//! writes again and again. The kernel serves waiters of a file lock in turn.

use std::fs::{File, OpenOptions};
use std::io;
use std::path::Path;

#[cfg(unix)]
use std::os::unix::fs::OpenOptionsExt;

#[derive(Debug)]
pub(crate) struct Turnstile(File);

impl Turnstile {
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false);
        #[cfg(unix)]
        options.mode(0o600);
        Ok(Self(options.open(path)?))
    }

    /// Waits for this process's turn; the turn ends when the guard is dropped.
    pub(crate) fn enter(&self) -> io::Result<Turn<'_>> {
        self.0.lock()?;
        Ok(Turn(&self.0))
    }
}

#[derive(Debug)]
pub(crate) struct Turn<'a>(&'a File);

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        // Cannot fail on a lock that is held; and the kernel frees it when the process ends.
        let _ = self.0.unlock();
    }
}
