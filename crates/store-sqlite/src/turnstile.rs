//! A lock file that processes queue at before they write.
//!
//! SQLite's own waiting is by chance: under load one process may wait for seconds while another
//! writes again and again. The kernel serves waiters of a file lock in turn.

use std::fs::{File, OpenOptions};
use std::io;
use std::path::Path;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

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
        Ok(Turn(self))
    }

    /// Waits for this process's turn no longer than so; `None` when it did not come. The turn
    /// ends with [`Turnstile::leave`].
    pub(crate) fn enter_within(self, patience: Duration) -> io::Result<Option<Self>> {
        // Only a waiting thread keeps its place in the kernel's line. One that nobody waits for
        // any more takes its turn and ends.
        let (entered, answer) = mpsc::channel();
        thread::Builder::new()
            .name("windlass-turnstile".to_owned())
            .spawn(move || {
                let outcome = self.0.lock().map(|()| self);
                // Nobody waits: the file is closed, and with it ends the turn.
                let _ = entered.send(outcome);
            })?;
        answer.recv_timeout(patience).ok().transpose()
    }

    /// Ends the turn.
    pub(crate) fn leave(&self) {
        // Cannot fail on a lock that is held; and the kernel frees it when the process ends.
        let _ = self.0.unlock();
    }
}

#[derive(Debug)]
pub(crate) struct Turn<'a>(&'a Turnstile);

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        self.0.leave();
    }
}
