//! The memory budget: how many bytes may be buffered for requests and responses.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use axum::body::Body;
use bytes::Bytes;
use hyper::body::{Body as HttpBody, Frame, SizeHint};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Budgets are counted in KiB, which keeps the numbers small.
const UNIT: usize = 1024;

/// A number of bytes, shared by everything that buffers.
#[derive(Debug, Clone)]
pub(crate) struct Budget {
    free: Arc<Semaphore>,
    units: usize,
}

/// Reserved bytes. They are given back when it is dropped.
#[derive(Debug)]
pub(crate) struct Reserved {
    _units: [Option<OwnedSemaphorePermit>; 2],
}

/// Which budget is used up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum UsedUp {
    /// That of the token.
    Token,
    /// That of the process.
    Process,
}

impl Budget {
    pub(crate) fn new(bytes: usize) -> Self {
        let units = (bytes / UNIT).min(Semaphore::MAX_PERMITS);
        Self {
            free: Arc::new(Semaphore::new(units)),
            units,
        }
    }

    /// Returns the reserved bytes.
    pub(crate) fn used(&self) -> usize {
        self.units.saturating_sub(self.free.available_permits()) * UNIT
    }

    /// Reserves bytes of this budget of a token and of that of the process. Never waits: two callers
    /// that wait for each other's memory would not end.
    pub(crate) fn reserve(&self, process: &Self, bytes: usize) -> Result<Reserved, UsedUp> {
        let token = self.take(bytes).ok_or(UsedUp::Token)?;
        let process = process.take(bytes).ok_or(UsedUp::Process)?;
        Ok(Reserved {
            _units: [Some(token), Some(process)],
        })
    }

    /// Reserves bytes as far as they are available, for a reply that must be sent.
    pub(crate) fn reserve_available(&self, process: &Self, bytes: usize) -> Reserved {
        let take = |budget: &Self| budget.take(bytes.min(budget.free.available_permits() * UNIT));
        Reserved {
            _units: [take(self), take(process)],
        }
    }

    fn take(&self, bytes: usize) -> Option<OwnedSemaphorePermit> {
        let units = u32::try_from(bytes.div_ceil(UNIT)).ok()?;
        Arc::clone(&self.free).try_acquire_many_owned(units).ok()
    }
}

/// A response body that keeps something until it was sent or dropped.
#[derive(Debug)]
pub(crate) struct HoldingBody<T> {
    body: Body,
    _held: T,
}

/// Wraps a response body so that `held` is dropped with it.
pub(crate) fn hold<T: Send + Unpin + 'static>(body: Body, held: T) -> Body {
    Body::new(HoldingBody { body, _held: held })
}

impl<T: Unpin> HttpBody for HoldingBody<T> {
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

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: usize = 1024 * 1024;

    #[test]
    fn what_is_reserved_is_bounded_per_token_and_in_all() {
        let process = Budget::new(3 * MIB);
        let (ann, bob) = (Budget::new(2 * MIB), Budget::new(2 * MIB));
        let first = ann.reserve(&process, 2 * MIB).unwrap();
        assert_eq!(ann.reserve(&process, 1).unwrap_err(), UsedUp::Token);
        assert_eq!(bob.reserve(&process, 2 * MIB).unwrap_err(), UsedUp::Process);
        // What was refused is not counted.
        assert_eq!((bob.used(), process.used()), (0, 2 * MIB));
        let second = bob.reserve(&process, MIB).unwrap();
        let third = bob.reserve_available(&process, 5 * MIB);
        assert_eq!((bob.used(), process.used()), (2 * MIB, 3 * MIB));
        drop((first, second, third));
        assert_eq!((ann.used(), bob.used(), process.used()), (0, 0, 0));
    }
}
