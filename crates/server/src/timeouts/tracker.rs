//! Tracks the requests of a connection, to know when it waits for headers.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};

use axum::body::Body;
use bytes::Bytes;
use hyper::body::{Body as HttpBody, Frame, SizeHint};

/// Counts the requests that have started and ended.
#[derive(Debug, Default)]
pub(crate) struct RequestTracker {
    started: AtomicU64,
    ended: AtomicU64,
}

/// A request in flight. Ends when dropped.
#[derive(Debug)]
pub(crate) struct InFlightRequest(Arc<RequestTracker>);

impl Drop for InFlightRequest {
    fn drop(&mut self) {
        self.0.ended.fetch_add(1, Ordering::AcqRel);
    }
}

impl RequestTracker {
    /// Starts a request, after its headers were read.
    pub(crate) fn start(self: &Arc<Self>) -> InFlightRequest {
        self.started.fetch_add(1, Ordering::AcqRel);
        InFlightRequest(Arc::clone(self))
    }

    /// Returns the number of the request the connection waits for, or `None` while one is in flight.
    pub(crate) fn awaited(&self) -> Option<u64> {
        let ended = self.ended.load(Ordering::Acquire);
        (self.started.load(Ordering::Acquire) == ended).then_some(ended)
    }
}

/// A response body. The request ends when the body is dropped.
#[derive(Debug)]
pub(crate) struct TrackedBody {
    body: Body,
    _in_flight: InFlightRequest,
}

impl InFlightRequest {
    /// Wraps a response body so that the request ends with it.
    pub(crate) fn track(self, body: Body) -> Body {
        Body::new(TrackedBody {
            body,
            _in_flight: self,
        })
    }
}

impl HttpBody for TrackedBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
