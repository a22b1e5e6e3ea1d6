//! Writes lines in batches. A claim counts as delivered once its line is flushed.

use std::io;

use tokio::io::{AsyncWrite, AsyncWriteExt};

use crate::undelivered::Undelivered;

/// The buffer size at which lines must be flushed.
const BUFFER_BYTES_MAX: usize = 64 * 1024;

/// Buffers and writes lines.
#[derive(Debug)]
pub struct LineWriter<W> {
    writer: W,
    buffer: Vec<u8>,
    /// How many bytes of the buffer are written.
    written: usize,
    undelivered: Vec<Undelivered>,
}

impl<W: AsyncWrite + Unpin> LineWriter<W> {
    /// Creates a writer.
    pub fn new(writer: W) -> Self {
        Self {
            writer,
            buffer: Vec::new(),
            written: 0,
            undelivered: Vec::new(),
        }
    }

    /// Adds a line, and the claimed jobs in it.
    pub fn put(&mut self, line: &str, claimed: Option<Undelivered>) {
        self.buffer.extend_from_slice(line.as_bytes());
        self.buffer.push(b'\n');
        self.undelivered.extend(claimed);
    }

    /// Returns whether there are unwritten lines.
    pub fn has_lines(&self) -> bool {
        !self.buffer.is_empty()
    }

    /// Returns whether the buffer must be flushed before more lines are added.
    pub fn is_full(&self) -> bool {
        self.buffer.len() >= BUFFER_BYTES_MAX
    }

    /// Writes all lines. Cancel safe: the next call continues where a dropped one stopped.
    pub async fn flush(&mut self) -> io::Result<()> {
        while self.written < self.buffer.len() {
            match self.writer.write(&self.buffer[self.written..]).await? {
                0 => return Err(io::ErrorKind::WriteZero.into()),
                count => self.written += count,
            }
        }
        self.writer.flush().await?;
        self.written = 0;
        self.buffer.clear();
        // Do not keep the memory of one long line.
        self.buffer.shrink_to(BUFFER_BYTES_MAX);
        self.undelivered.clear();
        Ok(())
    }

    /// Returns the claims that were not completely written.
    pub fn into_undelivered(self) -> Vec<Undelivered> {
        self.undelivered
    }
}
