//! Writes lines to a process, and detects one that does not read.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
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

/// The stdin of a process, which may know how much of it the process has not read.
pub(super) trait Stdin: AsyncWrite + Unpin {
    /// Bytes that were written and not read; 0 if unknown.
    fn unread(&self) -> u64;
}

impl Stdin for tokio::process::ChildStdin {
    fn unread(&self) -> u64 {
        // A pipe keeps its bytes after its reader is gone.
        rustix::io::ioctl_fionread(self).unwrap_or_default()
    }
}

/// Writes lines until `stop` is cancelled, then the remaining ones except jobs, which the process would
/// not finish; closes stdin when it returns. Jobs that the process has not read are marked as unseen.
pub(super) async fn write(
    mut stdin: impl Stdin,
    mut lines: mpsc::UnboundedReceiver<Outgoing>,
    write_timeout: Duration,
    stop: CancellationToken,
) -> WriteEnd {
    let mut sent = SentJobs::default();
    let end = loop {
        let next = tokio::select! {
            biased;
            next = lines.recv() => next,
            () = stop.cancelled() => None,
        };
        let Some(Outgoing { bytes, may_be_seen }) = next else {
            break WriteEnd::Requested;
        };
        if let Some(may_be_seen) = may_be_seen {
            if stop.is_cancelled() {
                continue;
            }
            may_be_seen.store(true, Ordering::Release);
            sent.latest = Some((sent.bytes, may_be_seen));
        }
        if let Err(end) = write_line(&mut stdin, &bytes, write_timeout, &mut sent.bytes).await {
            break end;
        }
    };
    // A process that reads nothing would get its job again and again.
    if end != WriteEnd::Stuck {
        sent.mark_unseen(stdin.unread());
    }
    end
}

async fn write_line(
    stdin: &mut impl Stdin,
    bytes: &[u8],
    write_timeout: Duration,
    written: &mut u64,
) -> Result<(), WriteEnd> {
    for chunk in bytes.chunks(CHUNK_BYTES) {
        match timeout(write_timeout, stdin.write_all(chunk)).await {
            Ok(Ok(())) => *written += chunk.len() as u64,
            Ok(Err(_)) => return Err(WriteEnd::Closed),
            Err(_) => return Err(WriteEnd::Stuck),
        }
    }
    Ok(())
}

/// What was written to a process. A process that exits after each job may get one more between its
/// reply and its exit, and only this latest one can be unread.
#[derive(Debug, Default)]
struct SentJobs {
    bytes: u64,
    /// Where the line of the latest job starts.
    latest: Option<(u64, Arc<AtomicBool>)>,
}

impl SentJobs {
    fn mark_unseen(self, unread: u64) {
        if let Some((start, may_be_seen)) = self.latest
            && self.bytes.saturating_sub(unread) <= start
        {
            may_be_seen.store(false, Ordering::Release);
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncReadExt;

    use super::*;

    const LONG: Duration = Duration::from_secs(3600);

    impl Stdin for tokio::io::DuplexStream {
        fn unread(&self) -> u64 {
            0
        }
    }

    #[test]
    fn a_job_of_which_the_process_read_nothing_is_unseen() {
        let seen_after = |unread: u64| {
            let may_be_seen = Arc::new(AtomicBool::new(true));
            let latest = Some((10, Arc::clone(&may_be_seen)));
            SentJobs { bytes: 15, latest }.mark_unseen(unread);
            may_be_seen.load(Ordering::Acquire)
        };
        assert_eq!(
            [0, 4, 5, 6, 15].map(seen_after),
            [true, true, false, false, false]
        );
    }

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
