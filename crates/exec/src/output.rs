//! Captures a process's stdout. Output that is not kept is read as well, so that the process never
//! blocks on a full pipe.

use std::sync::Mutex;

use bytes::Bytes;
use tokio::io::{AsyncRead, AsyncReadExt};
use windlass_api::lines::{InputLine, LineReader};
use windlass_worker::lock;

use crate::exec::KeepOutput;
use crate::log::LogSink;

/// Captures the result of one process.
#[derive(Debug)]
pub(crate) struct OutputCapture {
    keep: KeepOutput,
    bytes_max: usize,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    bytes: Vec<u8>,
    /// The bytes written in total, or the length of the last line.
    total: u64,
}

impl OutputCapture {
    pub(crate) fn new(keep: KeepOutput, bytes_max: usize) -> Self {
        Self {
            keep,
            bytes_max,
            state: Mutex::default(),
        }
    }

    /// Reads a pipe to its end. Logs the lines unless all output is kept.
    pub(crate) async fn drain(&self, pipe: impl AsyncRead + Unpin, log: &LogSink) {
        if self.keep == KeepOutput::All {
            self.drain_bytes(pipe).await;
        } else {
            self.drain_lines(pipe, log).await;
        }
    }

    async fn drain_bytes(&self, mut pipe: impl AsyncRead + Unpin) {
        let mut chunk = vec![0; 64 * 1024];
        while let Ok(read) = pipe.read(&mut chunk).await {
            if read == 0 {
                return;
            }
            let mut state = lock(&self.state);
            let room = self.bytes_max - state.bytes.len();
            state.bytes.extend_from_slice(&chunk[..read.min(room)]);
            state.total += read as u64;
        }
    }

    async fn drain_lines(&self, pipe: impl AsyncRead + Unpin, log: &LogSink) {
        let mut lines = LineReader::new(pipe, self.bytes_max);
        while let Ok(Some(line)) = lines.next().await {
            log(&line.text());
            let is_truncated = matches!(line, InputLine::Truncated(_));
            let (InputLine::Complete(bytes)
            | InputLine::Truncated(bytes)
            | InputLine::Partial(bytes)) = line;
            if !bytes.is_empty() {
                let mut state = lock(&self.state);
                state.total = bytes.len() as u64 + u64::from(is_truncated);
                state.bytes = bytes;
            }
        }
    }

    /// Returns the result, or an error if it is too large.
    pub(crate) fn result(&self) -> Result<Option<Bytes>, String> {
        let mut state = lock(&self.state);
        if self.keep == KeepOutput::Nothing || state.bytes.is_empty() {
            return Ok(None);
        }
        if state.total > self.bytes_max as u64 {
            return Err(format!(
                "the result is too large: the program wrote {} bytes, the limit is {}; \
                store large data elsewhere and print a reference",
                state.total, self.bytes_max
            ));
        }
        Ok(Some(Bytes::from(std::mem::take(&mut state.bytes))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;

    async fn kept(keep: KeepOutput, text: &[u8]) -> Result<Option<Bytes>, String> {
        let capture = OutputCapture::new(keep, 8);
        capture.drain(text, &sample::log_sink()).await;
        capture.result()
    }

    #[tokio::test]
    async fn all_of_the_output_is_the_result() {
        assert_eq!(
            kept(KeepOutput::All, b"a\nb\0").await,
            Ok(Some("a\nb\0".into()))
        );
        assert_eq!(
            kept(KeepOutput::All, b"12345678").await,
            Ok(Some("12345678".into()))
        );
        assert_eq!(kept(KeepOutput::All, b"").await, Ok(None));
    }

    #[tokio::test]
    async fn the_last_line_that_is_not_empty_is_the_result() {
        assert_eq!(
            kept(KeepOutput::LastLine, b"a\nlast\n\n").await,
            Ok(Some("last".into()))
        );
        assert_eq!(
            kept(KeepOutput::LastLine, b"a\nb").await,
            Ok(Some("b".into()))
        );
        assert_eq!(
            kept(KeepOutput::LastLine, b"123456789\nb\n").await,
            Ok(Some("b".into()))
        );
        assert_eq!(kept(KeepOutput::Nothing, b"a\nb").await, Ok(None));
    }

    #[tokio::test]
    async fn a_result_that_is_too_large_is_an_error() {
        let why = kept(KeepOutput::All, b"123456789").await.unwrap_err();
        assert!(why.contains("wrote 9 bytes, the limit is 8"), "{why}");
        assert!(kept(KeepOutput::LastLine, b"123456789").await.is_err());
    }
}
