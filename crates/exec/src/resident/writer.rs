//! Writes lines to a process, and detects one that does not read.

use std::sync::atomic::Ordering;
use std::time::Duration;

use tokio::io::{AsyncWrite, AsyncWriteExt};
use tokio::sync::mpsc;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use super::pool::Outgoing;

/// How many bytes are written at once; the timeout applies to each chunk.
const CHUNK_BYTES: usize = 32 * 1024;

/// Why writing ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WriteEnd {
    /// It was requested.
    Requested,
    /// The process has closed its stdin.
    Closed,
    /// The process does not read.
    Stuck,
}

/// Writes lines until `stop` is cancelled, then the remaining ones except jobs, which the process would
/// not finish; closes stdin when it returns.
pub(super) async fn write(
    mut stdin: impl AsyncWrite + Unpin,
    mut lines: mpsc::UnboundedReceiver<Outgoing>,
    write_timeout: Duration,
    stop: CancellationToken,
) -> WriteEnd {
    loop {
        let next = tokio::select! {
            biased;
            next = lines.recv() => next,
            () = stop.cancelled() => None,
        };
        let Some(Outgoing { bytes, may_be_seen }) = next else {
            return WriteEnd::Requested;
        };
        if let Some(may_be_seen) = may_be_seen {
            if stop.is_cancelled() {
                continue;
            }
            may_be_seen.store(true, Ordering::Release);
        }
        for chunk in bytes.chunks(CHUNK_BYTES) {
            match timeout(write_timeout, stdin.write_all(chunk)).await {
                Ok(Ok(())) => {}
                Ok(Err(_)) => return WriteEnd::Closed,
                Err(_) => return WriteEnd::Stuck,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::AtomicBool;

    use tokio::io::AsyncReadExt;

    use super::*;

    const LONG: Duration = Duration::from_secs(3600);

    fn lines(bytes: &[u8]) -> mpsc::UnboundedReceiver<Outgoing> {
        let (sender, lines) = mpsc::unbounded_channel();
        let bytes = bytes.to_vec();
        sender
            .send(Outgoing {
                bytes,
                may_be_seen: None,
            })
            .unwrap();
        lines
    }

    #[tokio::test(start_paused = true)]
    async fn a_process_that_reads_nothing_is_detected() {
        let (stdin, _process) = tokio::io::duplex(16);
        let stop = CancellationToken::new();
        let stopped = write(stdin, lines(&[b'x'; 100]), LONG, stop).await;
        assert_eq!(stopped, WriteEnd::Stuck);
    }

    #[tokio::test]
    async fn remaining_lines_are_written_before_the_end() {
        let (stdin, mut process) = tokio::io::duplex(1024);
        let stop = CancellationToken::new();
        stop.cancel();
        assert_eq!(
            write(stdin, lines(b"last\n"), LONG, stop).await,
            WriteEnd::Requested
        );
        let mut read = String::new();
        process.read_to_string(&mut read).await.unwrap();
        assert_eq!(read, "last\n");
    }

    #[tokio::test]
    async fn no_job_is_written_to_a_process_that_is_being_ended() {
        let (stdin, mut process) = tokio::io::duplex(1024);
        let (sender, lines) = mpsc::unbounded_channel();
        let may_be_seen = Arc::new(AtomicBool::new(false));
        let job = (b"job\n".to_vec(), Some(Arc::clone(&may_be_seen)));
        let cancel = (b"cancel\n".to_vec(), None);
        for (bytes, may_be_seen) in [job, cancel] {
            sender.send(Outgoing { bytes, may_be_seen }).unwrap();
        }
        let stop = CancellationToken::new();
        stop.cancel();

        write(stdin, lines, LONG, stop).await;

        let mut read = String::new();
        process.read_to_string(&mut read).await.unwrap();
        assert_eq!(read, "cancel\n");
        assert!(!may_be_seen.load(Ordering::Acquire), "so it is released");
    }

    #[tokio::test]
    async fn a_closed_input_ends_the_writer() {
        let (stdin, process) = tokio::io::duplex(16);
        drop(process);
        let stopped = write(stdin, lines(b"x"), LONG, CancellationToken::new()).await;
        assert_eq!(stopped, WriteEnd::Closed);
    }
}
