//! A stream to a server that records its progress and ends if a reply is too large.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::dial::Stream;
use super::progress::LinkProgress;
use super::reply_limit::{Exceeded, ReplySize};

pub(super) struct MeteredStream {
    inner: Stream,
    progress: Arc<LinkProgress>,
    /// The stream accepted no bytes at the last write.
    is_full: bool,
    size: ReplySize,
    exceeded: Exceeded,
}

impl MeteredStream {
    /// A stream that sets `exceeded` and fails when a reply exceeds the limit, or says that it will.
    pub(super) fn new(
        inner: Stream,
        progress: Arc<LinkProgress>,
        reply_bytes_max: u64,
        exceeded: Exceeded,
    ) -> Self {
        Self {
            inner,
            progress,
            is_full: false,
            size: ReplySize::new(reply_bytes_max),
            exceeded,
        }
    }
}

impl AsyncRead for MeteredStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        ready!(Pin::new(&mut self.inner).poll_read(context, buffer))?;
        let read = &buffer.filled()[before..];
        if !read.is_empty() {
            self.progress.record();
        }
        Poll::Ready(self.size.read(read).map_err(|error| {
            // Set once: the connection ends.
            let _ = self.exceeded.set(error);
            io::Error::other(error)
        }))
    }
}

impl AsyncWrite for MeteredStream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.inner).poll_write(context, bytes);
        let was_full = std::mem::replace(&mut self.is_full, written.is_pending());
        if was_full && matches!(&written, Poll::Ready(Ok(_))) {
            self.progress.record();
        }
        written
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_shutdown(context)
    }
}
