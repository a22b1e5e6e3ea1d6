//! The requests of one connection, counted: between them a head is waited for.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};

use axum::body::Body;
use bytes::Bytes;
use hyper::body::{Body as HttpBody, Frame, SizeHint};

/// How many requests have begun, and how many have ended.
#[derive(Debug, Default)]
pub(crate) struct Pace {
    begun: AtomicU64,
    ended: AtomicU64,
}

/// A request under way; dropped, it has ended.
#[derive(Debug)]
pub(crate) struct UnderWay(Arc<Pace>);

impl Drop for UnderWay {
    fn drop(&mut self) {
        self.0.ended.fetch_add(1, Ordering::AcqRel);
    }
}

impl Pace {
    /// A head was read.
    pub(crate) fn begin(self: &Arc<Self>) -> UnderWay {
        self.begun.fetch_add(1, Ordering::AcqRel);
        UnderWay(Arc::clone(self))
    }

    /// The number of the request that is waited for; nothing while one is under way.
    pub(super) fn awaited(&self) -> Option<u64> {
        let ended = self.ended.load(Ordering::Acquire);
        (self.begun.load(Ordering::Acquire) == ended).then_some(ended)
    }
}

/// The body of an answer: the request has ended when it has.
#[derive(Debug)]
pub(crate) struct Followed {
    body: Body,
    _under_way: UnderWay,
}

impl UnderWay {
    /// Ties the end of the request to that of its answer.
    pub(crate) fn until_end_of(self, body: Body) -> Body {
        Body::new(Followed {
            body,
            _under_way: self,
        })
    }
}

impl HttpBody for Followed {
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
