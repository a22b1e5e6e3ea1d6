//! A connection that gives up on the other end: a head that does not come whole, a rest that takes
//! too long, an answer that nobody takes.

mod tracker;

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep, sleep};

pub(crate) use tracker::Pace;

/// How long the server waits for the other end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Waits {
    /// For a request line with its headers: from the first byte on, or from the connection on.
    pub header: Duration,
    /// For a whole body; for each part of one that is a stream.
    pub body: Duration,
    /// For the next request of a connection.
    pub idle: Duration,
    /// For anything of an answer to be taken.
    pub stalled: Duration,
    /// Without an event so long, a stream of events says that it is still there.
    pub heartbeat: Duration,
}

impl Default for Waits {
    fn default() -> Self {
        Self {
            header: Duration::from_secs(10),
            body: Duration::from_secs(30),
            idle: Duration::from_secs(60),
            stalled: Duration::from_secs(30),
            heartbeat: Duration::from_secs(15),
        }
    }
}

/// What is waited for, while no request is under way: by the number of the request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Awaited {
    /// Its first byte.
    Start(u64),
    /// The rest of its head.
    Rest(u64),
}

/// A stream that fails when the other end takes too long.
#[derive(Debug)]
pub(crate) struct Patient<S> {
    stream: S,
    waits: Waits,
    pace: Arc<Pace>,
    awaited: Awaited,
    read_end: Pin<Box<Sleep>>,
    write_end: Pin<Box<Sleep>>,
    is_stalled: bool,
}

impl<S> Patient<S> {
    pub(crate) fn new(stream: S, waits: Waits, pace: Arc<Pace>) -> Self {
        Self {
            stream,
            waits,
            pace,
            // Whoever connects has something to say.
            awaited: Awaited::Rest(0),
            read_end: Box::pin(sleep(waits.header)),
            write_end: Box::pin(sleep(waits.stalled)),
            is_stalled: false,
        }
    }

    fn await_next(&mut self, awaited: Awaited, wait: Duration) {
        if self.awaited != awaited {
            self.awaited = awaited;
            self.read_end.as_mut().reset(Instant::now() + wait);
        }
    }

    /// Passes on how a write went, unless it has stalled for too long.
    fn judge_write<T>(
        &mut self,
        wrote: Poll<io::Result<T>>,
        cx: &mut Context<'_>,
    ) -> Poll<io::Result<T>> {
        if wrote.is_ready() {
            self.is_stalled = false;
            return wrote;
        }
        if !self.is_stalled {
            self.is_stalled = true;
            let end = Instant::now() + self.waits.stalled;
            self.write_end.as_mut().reset(end);
        }
        let end = self.write_end.as_mut().poll(cx);
        end.map(|()| Err(io::ErrorKind::TimedOut.into()))
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Patient<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let filled = buffer.filled().len();
        let read = Pin::new(&mut self.stream).poll_read(cx, buffer);
        let Some(number) = self.pace.awaited() else {
            // What comes now is a body, which has a limit of its own.
            return read;
        };
        if read.is_ready() {
            if buffer.filled().len() > filled {
                let wait = self.waits.header;
                self.await_next(Awaited::Rest(number), wait);
            }
            return read;
        }
        if self.awaited != Awaited::Rest(number) {
            let wait = self.waits.idle;
            self.await_next(Awaited::Start(number), wait);
        }
        let end = self.read_end.as_mut().poll(cx);
        end.map(|()| Err(io::ErrorKind::TimedOut.into()))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Patient<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let wrote = Pin::new(&mut self.stream).poll_write(cx, bytes);
        self.judge_write(wrote, cx)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let wrote = Pin::new(&mut self.stream).poll_write_vectored(cx, bytes);
        self.judge_write(wrote, cx)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = Pin::new(&mut self.stream).poll_flush(cx);
        self.judge_write(flushed, cx)
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

    const WAITS: Waits = Waits {
        header: Duration::from_secs(10),
        body: Duration::from_secs(30),
        idle: Duration::from_secs(60),
        stalled: Duration::from_secs(30),
        heartbeat: Duration::from_secs(15),
    };

    fn connection() -> (Patient<DuplexStream>, Arc<Pace>, DuplexStream) {
        let (ours, theirs) = duplex(16);
        let pace = Arc::new(Pace::default());
        (Patient::new(ours, WAITS, Arc::clone(&pace)), pace, theirs)
    }

    /// Reads until it fails; how long that took, in whole seconds.
    async fn given_up_after(ours: &mut Patient<DuplexStream>) -> u64 {
        let began = Instant::now();
        let mut bytes = Vec::new();
        let error = ours.read_to_end(&mut bytes).await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        began.elapsed().as_secs()
    }

    #[tokio::test(start_paused = true)]
    async fn a_reader_that_does_not_read_is_given_up() {
        let (mut ours, _pace, _theirs) = connection();
        let began = Instant::now();

        let written = timeout(WAITS.stalled * 2, ours.write_all(&[0; 64])).await;

        let error = written.expect("it does not wait for ever").unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        assert_eq!(began.elapsed().as_secs(), WAITS.stalled.as_secs());
    }

    #[tokio::test(start_paused = true)]
    async fn whoever_connects_and_says_nothing_is_given_up() {
        let (mut ours, _pace, _theirs) = connection();
        assert_eq!(given_up_after(&mut ours).await, WAITS.header.as_secs());
    }

    #[tokio::test(start_paused = true)]
    async fn a_head_that_trickles_in_is_given_up() {
        let (mut ours, _pace, mut theirs) = connection();
        tokio::spawn(async move {
            for _ in 0..WAITS.idle.as_secs() {
                let _ = theirs.write_all(b"x").await;
                sleep(Duration::from_secs(1)).await;
            }
        });
        assert_eq!(given_up_after(&mut ours).await, WAITS.header.as_secs());
    }

    #[tokio::test(start_paused = true)]
    async fn a_connection_may_rest_between_requests_for_longer() {
        let (mut ours, pace, mut theirs) = connection();
        theirs.write_all(b"head").await.unwrap();
        ours.read_exact(&mut [0; 4]).await.unwrap();
        drop(pace.begin());

        assert_eq!(given_up_after(&mut ours).await, WAITS.idle.as_secs());
    }

    #[tokio::test(start_paused = true)]
    async fn the_next_head_has_its_own_time_from_its_first_byte_on() {
        let (mut ours, pace, mut theirs) = connection();
        drop(pace.begin());
        let late = Duration::from_secs(50);
        tokio::spawn(async move {
            sleep(late).await;
            theirs.write_all(b"x").await.unwrap();
            sleep(Duration::from_secs(100)).await;
        });

        let after = given_up_after(&mut ours).await;

        assert_eq!(after, (late + WAITS.header).as_secs());
    }

    #[tokio::test(start_paused = true)]
    async fn a_request_under_way_is_not_cut_off() {
        let (mut ours, pace, theirs) = connection();
        let _under_way = pace.begin();
        let later = Duration::from_secs(600);
        tokio::spawn(async move {
            sleep(later).await;
            drop(theirs);
        });

        // It ends because the other end does.
        assert_eq!(ours.read_to_end(&mut Vec::new()).await.unwrap(), 0);
    }
}
