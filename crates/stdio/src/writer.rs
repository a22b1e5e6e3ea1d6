//! What goes out: lines gather while others are ready, and claims count as heard when written.

use std::io;

use tokio::io::{AsyncWrite, AsyncWriteExt};

use crate::undelivered::Claimed;

/// How many bytes gather before they must go out.
const GATHERED_MAX: usize = 64 * 1024;

/// Writes lines.
#[derive(Debug)]
pub(crate) struct Outlet<W> {
    writer: W,
    gathered: Vec<u8>,
    /// How much of it the writer has taken.
    taken: usize,
    unheard: Vec<Claimed>,
}

impl<W: AsyncWrite + Unpin> Outlet<W> {
    pub(crate) fn new(writer: W) -> Self {
        Self {
            writer,
            gathered: Vec::new(),
            taken: 0,
            unheard: Vec::new(),
        }
    }

    /// Adds a line, and the jobs it tells of.
    pub(crate) fn put(&mut self, line: &str, claimed: Option<Claimed>) {
        self.gathered.extend_from_slice(line.as_bytes());
        self.gathered.push(b'\n');
        self.unheard.extend(claimed);
    }

    /// Whether something waits to go out.
    pub(crate) fn has_lines(&self) -> bool {
        !self.gathered.is_empty()
    }

    /// Whether so much waits that nothing more should be added.
    pub(crate) fn is_full(&self) -> bool {
        self.gathered.len() >= GATHERED_MAX
    }

    /// Writes all that waits. A call that is dropped goes on where it was with the next.
    pub(crate) async fn flush(&mut self) -> io::Result<()> {
        while self.taken < self.gathered.len() {
            match self.writer.write(&self.gathered[self.taken..]).await? {
                0 => return Err(io::ErrorKind::WriteZero.into()),
                count => self.taken += count,
            }
        }
        self.writer.flush().await?;
        self.taken = 0;
        self.gathered.clear();
        // One long line should not be paid for ever after.
        self.gathered.shrink_to(GATHERED_MAX);
        self.unheard.clear();
        Ok(())
    }

    /// The claims that were not written whole.
    pub(crate) fn into_unheard(self) -> Vec<Claimed> {
        self.unheard
    }
}
