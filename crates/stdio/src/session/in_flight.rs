//! What is under way at the store, and what of it has ended.

use std::pin::Pin;
use std::task::{Context, Poll};

use tokio_util::sync::CancellationToken;
use windlass_core::Store;

use super::batch::{BYTES_MAX, Group};
use super::request::Done;

/// How many are under way at once where order does not matter.
const GROUPS_MAX: usize = 64;

/// Groups of requests that are being carried out.
pub(super) struct UnderWay<'a> {
    running: Vec<(Running<'a>, usize)>,
    groups_max: usize,
    bytes: usize,
}

type Running<'a> = Pin<Box<dyn Future<Output = Vec<Done>> + Send + 'a>>;

impl<'a> UnderWay<'a> {
    /// One after the other, or many at once.
    pub(super) fn new(is_ordered: bool) -> Self {
        Self {
            running: Vec::new(),
            groups_max: if is_ordered { 1 } else { GROUPS_MAX },
            bytes: 0,
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.running.is_empty()
    }

    /// Whether one more may begin.
    pub(super) fn has_room(&self) -> bool {
        self.is_empty() || (self.running.len() < self.groups_max && self.bytes < BYTES_MAX)
    }

    pub(super) fn begin(&mut self, store: &'a dyn Store, group: Group, cut: &CancellationToken) {
        let bytes = group.bytes;
        self.bytes += bytes;
        let running = Box::pin(group.answer(store, cut.clone()));
        self.running.push((running, bytes));
    }

    /// The next answers; waits for ever where nothing is under way. Dropping the call loses nothing.
    pub(super) async fn next(&mut self) -> Vec<Done> {
        std::future::poll_fn(|context| self.poll(context)).await
    }

    fn poll(&mut self, context: &mut Context<'_>) -> Poll<Vec<Done>> {
        for (at, (running, bytes)) in self.running.iter_mut().enumerate() {
            if let Poll::Ready(done) = running.as_mut().poll(context) {
                self.bytes -= *bytes;
                drop(self.running.remove(at));
                return Poll::Ready(done);
            }
        }
        Poll::Pending
    }
}
