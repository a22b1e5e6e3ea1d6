//! Writes lines to a process; one that does not read is found out.

use std::sync::atomic::Ordering;
use std::time::Duration;

use tokio::io::{AsyncWrite, AsyncWriteExt};
use tokio::sync::mpsc;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use super::pool::Outgoing;

/// What is written at once: each part has its own time.
const PART_BYTES: usize = 32 * 1024;

/// Why no more is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stopped {
    /// It was asked for.
    Asked,
    /// The process has closed its standard input.
    Closed,
    /// The process does not read.
    Stuck,
}

/// Writes lines as they come until `asked` fires, then those that are left; standard input closes
/// as this returns.
pub(super) async fn write(
    mut stdin: impl AsyncWrite + Unpin,
    mut lines: mpsc::UnboundedReceiver<Outgoing>,
    patience: Duration,
    asked: CancellationToken,
) -> Stopped {
    loop {
        let next = tokio::select! {
            biased;
            next = lines.recv() => next,
            () = asked.cancelled() => None,
        };
        let Some(Outgoing { bytes, is_begun }) = next else {
            return Stopped::Asked;
        };
        if let Some(is_begun) = is_begun {
            is_begun.store(true, Ordering::Release);
        }
        for part in bytes.chunks(PART_BYTES) {
            match timeout(patience, stdin.write_all(part)).await {
                Ok(Ok(())) => {}
                Ok(Err(_)) => return Stopped::Closed,
                Err(_) => return Stopped::Stuck,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncReadExt;

    use super::*;

    const LONG: Duration = Duration::from_secs(3600);

    fn lines(bytes: &[u8]) -> mpsc::UnboundedReceiver<Outgoing> {
        let (sender, lines) = mpsc::unbounded_channel();
        let bytes = bytes.to_vec();
        sender
            .send(Outgoing {
                bytes,
                is_begun: None,
            })
            .unwrap();
        lines
    }

    #[tokio::test(start_paused = true)]
    async fn a_process_that_reads_nothing_is_found_out() {
        let (stdin, _process) = tokio::io::duplex(16);
        let asked = CancellationToken::new();
        let stopped = write(stdin, lines(&[b'x'; 100]), LONG, asked).await;
        assert_eq!(stopped, Stopped::Stuck);
    }

    #[tokio::test]
    async fn what_is_left_is_written_before_the_end() {
        let (stdin, mut process) = tokio::io::duplex(1024);
        let asked = CancellationToken::new();
        asked.cancel();
        assert_eq!(
            write(stdin, lines(b"last\n"), LONG, asked).await,
            Stopped::Asked
        );
        let mut read = String::new();
        process.read_to_string(&mut read).await.unwrap();
        assert_eq!(read, "last\n");
    }

    #[tokio::test]
    async fn a_closed_input_is_no_crash() {
        let (stdin, process) = tokio::io::duplex(16);
        drop(process);
        let stopped = write(stdin, lines(b"x"), LONG, CancellationToken::new()).await;
        assert_eq!(stopped, Stopped::Closed);
    }
}
