//! Tracks the requests of a connection, to know when it waits for headers.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use axum::body::Body;

use crate::budget::hold;

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

impl InFlightRequest {
    /// Wraps a response body so that the request ends with it.
    pub(crate) fn track(self, body: Body) -> Body {
        hold(body, self)
    }
}
