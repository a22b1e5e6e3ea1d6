//! Batches calls that are made while a round trip is in flight, so that they share the next one.
//!
//! No timer: a lone call is sent immediately, by its caller; calls made while one is in flight go out
//! together in the next, sent by a task.

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot;
use tokio::time::Instant;
use windlass_core::{Error, ErrorKind, Result};

use windlass_redis_link::LinkProgress;

type BatchFuture<R> = Pin<Box<dyn Future<Output = Result<Vec<R>>> + Send>>;
type RunBatch<T, R> = Box<dyn Fn(Vec<T>) -> BatchFuture<R> + Send + Sync>;
type Weigh<T> = Box<dyn Fn(&T) -> usize + Send + Sync>;

#[derive(Debug, Clone, Copy)]
pub(crate) struct BatchLimits {
    /// Maximum number of items. A single call with more is sent alone.
    pub(crate) items: usize,
    /// Maximum total weight, likewise.
    pub(crate) weight: usize,
    /// Maximum number of batches in flight.
    pub(crate) in_flight: usize,
}

/// Merges calls into batches.
pub(crate) struct Batcher<T, R>(Arc<Inner<T, R>>);

struct Inner<T, R> {
    run: RunBatch<T, R>,
    weigh: Weigh<T>,
    limits: BatchLimits,
    progress: Arc<LinkProgress>,
    pending: Mutex<Pending<T, R>>,
}

/// Calls that wait, and the number of batches in flight.
struct Pending<T, R> {
    calls: VecDeque<PendingCall<T, R>>,
    in_flight: usize,
}

/// A call that waits to be sent.
struct PendingCall<T, R> {
    items: Vec<T>,
    weight: usize,
    reply: oneshot::Sender<Result<Vec<R>>>,
}

impl<T, R> Batcher<T, R>
where
    T: Send + 'static,
    R: Send + 'static,
{
    /// `run` sends a batch and returns one result per item, in order; `weigh` returns the weight of an item.
    /// Calls wait longer than their timeout while `progress` goes on.
    pub(crate) fn new<F>(
        limits: BatchLimits,
        progress: Arc<LinkProgress>,
        weigh: impl Fn(&T) -> usize + Send + Sync + 'static,
        run: impl Fn(Vec<T>) -> F + Send + Sync + 'static,
    ) -> Self
    where
        F: Future<Output = Result<Vec<R>>> + Send + 'static,
    {
        Self(Arc::new(Inner {
            run: Box::new(move |items| Box::pin(run(items))),
            weigh: Box::new(weigh),
            limits,
            progress,
            pending: Mutex::new(Pending {
                calls: VecDeque::new(),
                in_flight: 0,
            }),
        }))
    }

    /// Sends items and returns their results, in order: alone if a batch may be sent now, otherwise in the
    /// next batch. If the caller is dropped before its items are sent, they are not sent. The deadline is
    /// for waiting and sending together; longer while bytes move.
    pub(crate) async fn call_until(&self, until: Instant, items: Vec<T>) -> Result<Vec<R>> {
        if items.is_empty() {
            return Ok(Vec::new());
        }
        if let Some(slot) = self.0.enter_alone() {
            // What is sent has a deadline of its own.
            let count = items.len();
            let results = (self.0.run)(items).await?;
            drop(slot);
            return if results.len() == count {
                Ok(results)
            } else {
                Err(miscounted(count, results.len()))
            };
        }
        let replied = self.0.progress.wait(until, self.call_in_batch(items)).await;
        replied.unwrap_or_else(|| Err(timed_out()))
    }

    async fn call_in_batch(&self, items: Vec<T>) -> Result<Vec<R>> {
        let (reply, replied) = oneshot::channel();
        self.0.pending().calls.push_back(PendingCall {
            weight: items.iter().map(&self.0.weigh).sum(),
            items,
            reply,
        });
        self.0.send_batches();
        replied.await.unwrap_or_else(|_| Err(aborted()))
    }
}

impl<T, R> Inner<T, R>
where
    T: Send + 'static,
    R: Send + 'static,
{
    /// A place in flight for a call that has nothing to wait for, and nothing to share a batch with.
    fn enter_alone(self: &Arc<Self>) -> Option<InFlight<T, R>> {
        let mut pending = self.pending();
        let is_alone = pending.calls.is_empty() && pending.in_flight < self.limits.in_flight;
        is_alone.then(|| {
            pending.in_flight += 1;
            InFlight(Arc::clone(self))
        })
    }

    /// Sends as many batches as may be in flight. A batch completes even if its callers are dropped.
    fn send_batches(self: &Arc<Self>) {
        loop {
            let batch = {
                let mut pending = self.pending();
                if pending.in_flight >= self.limits.in_flight {
                    return;
                }
                let batch = pending.next(&self.limits);
                if batch.is_empty() {
                    return;
                }
                pending.in_flight += 1;
                batch
            };
            let slot = InFlight(Arc::clone(self));
            tokio::spawn(async move {
                slot.0.run_batch(batch).await;
                // Callers often call again at once: let them join the next batch.
                tokio::task::yield_now().await;
                drop(slot);
            });
        }
    }

    async fn run_batch(&self, batch: Vec<PendingCall<T, R>>) {
        let mut items = Vec::with_capacity(batch.iter().map(|call| call.items.len()).sum());
        let mut callers = Vec::with_capacity(batch.len());
        for call in batch {
            callers.push((call.items.len(), call.reply));
            items.extend(call.items);
        }
        let count = items.len();
        match (self.run)(items).await {
            Ok(results) if results.len() == count => {
                let mut results = results.into_iter();
                for (count, caller) in callers {
                    let own = results.by_ref().take(count).collect();
                    // The caller may have been dropped.
                    let _ = caller.send(Ok(own));
                }
            }
            Ok(results) => send_error(callers, &miscounted(count, results.len())),
            Err(error) => send_error(callers, &error),
        }
    }

    fn pending(&self) -> MutexGuard<'_, Pending<T, R>> {
        // No statement leaves the contents inconsistent, so a poisoned lock is safe to use.
        self.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T, R> Pending<T, R> {
    /// Removes the calls of the next batch from the front; drops calls whose caller is gone.
    fn next(&mut self, limits: &BatchLimits) -> Vec<PendingCall<T, R>> {
        let mut batch = Vec::new();
        let (mut items, mut weight) = (0, 0);
        while let Some(head) = self.calls.front() {
            if !head.reply.is_closed() {
                items += head.items.len();
                weight += head.weight;
                if !batch.is_empty() && (items > limits.items || weight > limits.weight) {
                    break;
                }
            }
            batch.extend(
                self.calls
                    .pop_front()
                    .filter(|head| !head.reply.is_closed()),
            );
        }
        batch
    }
}

/// One of the batches in flight; freed on drop, however the batch ends.
struct InFlight<T: Send + 'static, R: Send + 'static>(Arc<Inner<T, R>>);

impl<T: Send + 'static, R: Send + 'static> Drop for InFlight<T, R> {
    fn drop(&mut self) {
        let mut pending = self.0.pending();
        pending.in_flight -= 1;
        if pending.calls.is_empty() {
            return;
        }
        drop(pending);
        // During runtime shutdown nothing can be spawned; pending callers get an error.
        if tokio::runtime::Handle::try_current().is_ok() {
            self.0.send_batches();
        }
    }
}

fn send_error<R>(callers: Vec<(usize, oneshot::Sender<Result<Vec<R>>>)>, error: &Error) {
    for (_, caller) in callers {
        // The caller may have been dropped.
        let _ = caller.send(Err(error.clone()));
    }
}

fn miscounted(items: usize, results: usize) -> Error {
    Error::new(
        ErrorKind::Internal,
        format!("expected {items} replies, got {results}"),
        "this is a bug in Windlass: report it with this message",
    )
}

fn timed_out() -> Error {
    Error::new(
        ErrorKind::OutcomeUnknown,
        "the call timed out behind an earlier one; it may have been applied",
        "repeat the call with the same id or token: it returns the first result",
    )
}

pub(crate) fn aborted() -> Error {
    Error::new(
        ErrorKind::OutcomeUnknown,
        "the call was aborted while in flight; it may have been applied",
        "repeat the call with the same id or token: it returns the first result",
    )
}

#[cfg(test)]
mod tests;
