//! Batches of requests in flight.

use std::pin::Pin;
use std::task::{Context, Poll};

use tokio_util::sync::CancellationToken;
use windlass_core::Store;

use super::batch::{BYTES_MAX, Batch};
use super::request::Response;

/// The most batches in flight in unordered mode.
const BATCHES_MAX: usize = 64;

/// The batches in flight.
pub(super) struct InFlight<'a> {
    running: Vec<(Running<'a>, usize)>,
    batches_max: usize,
    bytes: usize,
}

type Running<'a> = Pin<Box<dyn Future<Output = Vec<Response>> + Send + 'a>>;

impl<'a> InFlight<'a> {
    /// Allows one batch at a time if ordered, many otherwise.
    pub(super) fn new(is_ordered: bool) -> Self {
        Self {
            running: Vec::new(),
            batches_max: if is_ordered { 1 } else { BATCHES_MAX },
            bytes: 0,
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.running.is_empty()
    }

    /// Returns whether another batch may start.
    pub(super) fn has_room(&self) -> bool {
        self.is_empty() || (self.running.len() < self.batches_max && self.bytes < BYTES_MAX)
    }

    pub(super) fn start(
        &mut self,
        store: &'a dyn Store,
        batch: Batch,
        cancel_waits: &CancellationToken,
    ) {
        let bytes = batch.bytes;
        self.bytes += bytes;
        let running = Box::pin(batch.execute(store, cancel_waits.clone()));
        self.running.push((running, bytes));
    }

    /// Returns the next responses. Never completes if nothing is in flight. Cancel safe.
    pub(super) async fn next(&mut self) -> Vec<Response> {
        std::future::poll_fn(|context| self.poll(context)).await
    }

    fn poll(&mut self, context: &mut Context<'_>) -> Poll<Vec<Response>> {
        for (at, (running, bytes)) in self.running.iter_mut().enumerate() {
            if let Poll::Ready(responses) = running.as_mut().poll(context) {
                self.bytes -= *bytes;
                drop(self.running.remove(at));
                return Poll::Ready(responses);
            }
        }
        Poll::Pending
    }
}
