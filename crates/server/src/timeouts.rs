//! Timeouts of a connection: for incomplete headers, for idle connections, and for responses that
//! are not read. Also closes connections with requests that [`Framing`] rejects.

mod tracker;

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep, sleep};

use crate::framing::{Ambiguous, Framing};
pub(crate) use tracker::RequestTracker;

/// How long the server waits for clients.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timeouts {
    /// For the request line and headers, from the first byte or from the connect (default: 10s).
    pub header: Duration,
    /// For a complete body, or for each chunk of an import (default: 30s).
    pub body: Duration,
    /// For the next request on a connection (default: 60s).
    pub idle: Duration,
    /// For the client to read the next 16 KiB of a response (default: 30s).
    pub stalled: Duration,
    /// How long an event stream is silent before it sends a keep-alive comment (default: 15s).
    pub keep_alive: Duration,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self {
            header: Duration::from_secs(10),
            body: Duration::from_secs(30),
            idle: Duration::from_secs(60),
            stalled: Duration::from_secs(30),
            keep_alive: Duration::from_secs(15),
        }
    }
}

/// A stalled client has to read so much within the timeout.
const PROGRESS_BYTES: usize = 16 * 1024;

/// The reply to a request whose end is ambiguous.
const AMBIGUOUS: &[u8] =
    b"HTTP/1.1 400 Bad Request\r\nconnection: close\r\ncontent-length: 0\r\n\r\n";

/// What the connection waits for while no request is in flight, with the number of the request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Awaited {
    /// The first byte of the request.
    Start(u64),
    /// The rest of its headers.
    Headers(u64),
}

/// A stream that fails with [`io::ErrorKind::TimedOut`] if the client is too slow.
#[derive(Debug)]
pub(crate) struct TimeoutStream<S> {
    stream: S,
    timeouts: Timeouts,
    tracker: Arc<RequestTracker>,
    awaited: Awaited,
    read_deadline: Pin<Box<Sleep>>,
    write_deadline: Pin<Box<Sleep>>,
    is_stalled: bool,
    /// Bytes written since the write stalled.
    written: usize,
    framing: Framing,
}

impl<S> TimeoutStream<S> {
    pub(crate) fn new(stream: S, timeouts: Timeouts, tracker: Arc<RequestTracker>) -> Self {
        Self {
            stream,
            timeouts,
            tracker,
            // A new connection must send a request at once.
            awaited: Awaited::Headers(0),
            read_deadline: Box::pin(sleep(timeouts.header)),
            write_deadline: Box::pin(sleep(timeouts.stalled)),
            is_stalled: false,
            written: 0,
            framing: Framing::new(),
        }
    }

    fn await_next(&mut self, awaited: Awaited, timeout: Duration) {
        if self.awaited != awaited {
            self.awaited = awaited;
            self.read_deadline.as_mut().reset(Instant::now() + timeout);
        }
    }

    /// Returns the result of a write of `bytes`, or an error if writing has stalled for too long. A few
    /// bytes are not progress: a client could keep a response in memory with a byte now and then.
    fn check_write(
        &mut self,
        wrote: Poll<io::Result<usize>>,
        bytes: usize,
        cx: &mut Context<'_>,
    ) -> Poll<io::Result<usize>> {
        if let Poll::Ready(result) = wrote {
            let count = result?;
            self.written += count;
            if count == bytes || self.written >= PROGRESS_BYTES {
                self.is_stalled = false;
            }
            return Poll::Ready(Ok(count));
        }
        if !self.is_stalled {
            self.is_stalled = true;
            self.written = 0;
            let end = Instant::now() + self.timeouts.stalled;
            self.write_deadline.as_mut().reset(end);
        }
        let end = self.write_deadline.as_mut().poll(cx);
        end.map(|()| Err(io::ErrorKind::TimedOut.into()))
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncRead for TimeoutStream<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let filled = buffer.filled().len();
        let read = Pin::new(&mut self.stream).poll_read(cx, buffer);
        if self.framing.read(&buffer.filled()[filled..]) == Err(Ambiguous) {
            if self.tracker.awaited().is_some() {
                // Best effort: hyper never sees this request.
                let _ = Pin::new(&mut self.stream).poll_write(cx, AMBIGUOUS);
            }
            return Poll::Ready(Err(io::ErrorKind::InvalidData.into()));
        }
        let Some(number) = self.tracker.awaited() else {
            // This is a request body, which has a separate timeout.
            return read;
        };
        if read.is_ready() {
            if buffer.filled().len() > filled {
                let timeout = self.timeouts.header;
                self.await_next(Awaited::Headers(number), timeout);
            }
            return read;
        }
        if self.awaited != Awaited::Headers(number) {
            let timeout = self.timeouts.idle;
            self.await_next(Awaited::Start(number), timeout);
        }
        let end = self.read_deadline.as_mut().poll(cx);
        end.map(|()| Err(io::ErrorKind::TimedOut.into()))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for TimeoutStream<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let wrote = Pin::new(&mut self.stream).poll_write(cx, bytes);
        self.check_write(wrote, bytes.len(), cx)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let wrote = Pin::new(&mut self.stream).poll_write_vectored(cx, bytes);
        let all = bytes.iter().map(|slice| slice.len()).sum();
        self.check_write(wrote, all, cx)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        // Flushing a socket does nothing: written bytes are already on their way.
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex};
    use tokio::time::timeout;

    use super::*;

    const TIMEOUTS: Timeouts = Timeouts {
        header: Duration::from_secs(10),
        body: Duration::from_secs(30),
        idle: Duration::from_secs(60),
        stalled: Duration::from_secs(30),
        keep_alive: Duration::from_secs(15),
    };

    fn connection() -> (
        TimeoutStream<DuplexStream>,
        Arc<RequestTracker>,
        DuplexStream,
    ) {
        let (server, client) = duplex(16);
        let tracker = Arc::new(RequestTracker::default());
        (
            TimeoutStream::new(server, TIMEOUTS, Arc::clone(&tracker)),
            tracker,
            client,
        )
    }

    /// Reads until a timeout. Returns how long that took, in seconds.
    async fn seconds_to_timeout(server: &mut TimeoutStream<DuplexStream>) -> u64 {
        let started = Instant::now();
        let mut bytes = Vec::new();
        let error = server.read_to_end(&mut bytes).await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        started.elapsed().as_secs()
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_does_not_read_times_out() {
        let (mut server, _tracker, _client) = connection();
        let started = Instant::now();

        let written = timeout(TIMEOUTS.stalled * 2, server.write_all(&[0; 64])).await;

        let error = written.expect("it does not wait forever").unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        assert_eq!(started.elapsed().as_secs(), TIMEOUTS.stalled.as_secs());
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_reads_a_byte_now_and_then_times_out() {
        let (mut server, _tracker, mut client) = connection();
        tokio::spawn(async move {
            loop {
                sleep(Duration::from_secs(1)).await;
                let _ = client.read_u8().await;
            }
        });

        let written = timeout(TIMEOUTS.stalled * 2, server.write_all(&[0; 4096])).await;

        let error = written.expect("it does not wait forever").unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
    }

    #[tokio::test(start_paused = true)]
    async fn a_slow_client_that_makes_progress_gets_everything() {
        let (mut server, _tracker, mut client) = connection();
        tokio::spawn(async move {
            let mut bytes = [0; 16];
            // 1600 bytes per second.
            while client.read_exact(&mut bytes).await.is_ok() {
                sleep(Duration::from_millis(10)).await;
            }
        });

        let written = server.write_all(&vec![0; 4 * PROGRESS_BYTES]).await;

        assert!(written.is_ok(), "{written:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_connects_and_sends_nothing_times_out() {
        let (mut server, _tracker, _client) = connection();
        assert_eq!(
            seconds_to_timeout(&mut server).await,
            TIMEOUTS.header.as_secs()
        );
    }

    #[tokio::test(start_paused = true)]
    async fn headers_that_trickle_in_time_out() {
        let (mut server, _tracker, mut client) = connection();
        tokio::spawn(async move {
            for _ in 0..TIMEOUTS.idle.as_secs() {
                let _ = client.write_all(b"x").await;
                sleep(Duration::from_secs(1)).await;
            }
        });
        assert_eq!(
            seconds_to_timeout(&mut server).await,
            TIMEOUTS.header.as_secs()
        );
    }

    #[tokio::test(start_paused = true)]
    async fn a_connection_may_be_idle_between_requests_for_longer() {
        let (mut server, tracker, mut client) = connection();
        client.write_all(b"head").await.unwrap();
        server.read_exact(&mut [0; 4]).await.unwrap();
        drop(tracker.start());

        assert_eq!(
            seconds_to_timeout(&mut server).await,
            TIMEOUTS.idle.as_secs()
        );
    }

    #[tokio::test(start_paused = true)]
    async fn the_next_headers_have_a_separate_timeout_from_their_first_byte() {
        let (mut server, tracker, mut client) = connection();
        drop(tracker.start());
        let late = Duration::from_secs(50);
        tokio::spawn(async move {
            sleep(late).await;
            client.write_all(b"x").await.unwrap();
            sleep(Duration::from_secs(100)).await;
        });

        let after = seconds_to_timeout(&mut server).await;

        assert_eq!(after, (late + TIMEOUTS.header).as_secs());
    }

    #[tokio::test(start_paused = true)]
    async fn a_request_in_flight_does_not_time_out() {
        let (mut server, tracker, client) = connection();
        let _in_flight = tracker.start();
        let later = Duration::from_secs(600);
        tokio::spawn(async move {
            sleep(later).await;
            drop(client);
        });

        // It ends because the client disconnects.
        assert_eq!(server.read_to_end(&mut Vec::new()).await.unwrap(), 0);
    }
}
