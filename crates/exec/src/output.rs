//! What is kept of a process' standard output. Whatever is not kept is read all the same: a
//! process must never wait for somebody to read.

use std::sync::{Mutex, PoisonError};

use bytes::Bytes;
use tokio::io::{AsyncRead, AsyncReadExt};

use crate::exec::Keep;
use crate::lines::{Line, Lines};
use crate::talk::Talk;

/// Gathers the result of one process.
#[derive(Debug)]
pub(crate) struct Gathered {
    keep: Keep,
    bytes_max: usize,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    bytes: Vec<u8>,
    /// All that was written, or the length of the last line.
    total: u64,
}

impl Gathered {
    pub(crate) fn new(keep: Keep, bytes_max: usize) -> Self {
        Self {
            keep,
            bytes_max,
            state: Mutex::default(),
        }
    }

    /// Reads a pipe until it ends; lines of which not all are kept are said.
    pub(crate) async fn drain(&self, pipe: impl AsyncRead + Unpin, say: &Talk) {
        if self.keep == Keep::All {
            self.drain_bytes(pipe).await;
        } else {
            self.drain_lines(pipe, say).await;
        }
    }

    async fn drain_bytes(&self, mut pipe: impl AsyncRead + Unpin) {
        let mut chunk = vec![0; 64 * 1024];
        while let Ok(read) = pipe.read(&mut chunk).await {
            if read == 0 {
                return;
            }
            let mut state = self.lock();
            let room = self.bytes_max - state.bytes.len();
            state.bytes.extend_from_slice(&chunk[..read.min(room)]);
            state.total += read as u64;
        }
    }

    async fn drain_lines(&self, pipe: impl AsyncRead + Unpin, say: &Talk) {
        let mut lines = Lines::new(pipe, self.bytes_max);
        while let Ok(Some(line)) = lines.next().await {
            say(&line.text());
            let is_cut = matches!(line, Line::Cut(_));
            let (Line::Whole(bytes) | Line::Cut(bytes) | Line::Partial(bytes)) = line;
            if !bytes.is_empty() {
                let mut state = self.lock();
                state.total = bytes.len() as u64 + u64::from(is_cut);
                state.bytes = bytes;
            }
        }
    }

    /// The result, or why there can be none.
    pub(crate) fn result(&self) -> Result<Option<Bytes>, String> {
        let mut state = self.lock();
        if self.keep == Keep::Nothing || state.bytes.is_empty() {
            return Ok(None);
        }
        if state.total > self.bytes_max as u64 {
            return Err(format!(
                "the result is too large: the program wrote {} bytes, the limit is {}; \
                keep large data elsewhere and print a reference",
                state.total, self.bytes_max
            ));
        }
        Ok(Some(Bytes::from(std::mem::take(&mut state.bytes))))
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::talk;

    async fn kept(keep: Keep, text: &[u8]) -> Result<Option<Bytes>, String> {
        let gathered = Gathered::new(keep, 8);
        gathered.drain(text, &talk::silent()).await;
        gathered.result()
    }

    #[tokio::test]
    async fn all_of_the_output_is_the_result() {
        assert_eq!(kept(Keep::All, b"a\nb\0").await, Ok(Some("a\nb\0".into())));
        assert_eq!(
            kept(Keep::All, b"12345678").await,
            Ok(Some("12345678".into()))
        );
        assert_eq!(kept(Keep::All, b"").await, Ok(None));
    }

    #[tokio::test]
    async fn the_last_line_that_is_not_empty_is_the_result() {
        assert_eq!(
            kept(Keep::LastLine, b"a\nlast\n\n").await,
            Ok(Some("last".into()))
        );
        assert_eq!(kept(Keep::LastLine, b"a\nb").await, Ok(Some("b".into())));
        assert_eq!(
            kept(Keep::LastLine, b"123456789\nb\n").await,
            Ok(Some("b".into()))
        );
        assert_eq!(kept(Keep::Nothing, b"a\nb").await, Ok(None));
    }

    #[tokio::test]
    async fn a_result_that_is_too_large_says_so() {
        let why = kept(Keep::All, b"123456789").await.unwrap_err();
        assert!(why.contains("wrote 9 bytes, the limit is 8"), "{why}");
        assert!(kept(Keep::LastLine, b"123456789").await.is_err());
    }
}
