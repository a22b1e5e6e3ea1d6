//! Ended attempts that wait to be reported; they are batched while a call is in flight.

use std::sync::{Arc, Mutex};

use bytes::Bytes;
use tokio::sync::Notify;
use windlass_core::limits::CLAIM_MAX;

use crate::claim::slots::Slot;
use crate::lock::lock;
use crate::outcome::Outcome;
use crate::run::attempt::Attempt;

/// The largest batch: as many as one claim can refill, so that no slot waits for a separate claim.
/// Releases may exceed it: a store returns the jobs of one call to the front in claim order, those of a
/// later call ahead of them.
const BATCH_MAX: usize = CLAIM_MAX;

/// The most bytes of results in one batch.
const BATCH_BYTES_MAX: usize = 4 * 1024 * 1024;

/// An attempt that ended, with its slot if the handler has returned.
#[derive(Debug)]
pub(crate) struct EndedAttempt {
    pub(crate) attempt: Arc<Attempt>,
    pub(crate) outcome: Outcome,
    pub(crate) slot: Option<Slot>,
}

/// Outcomes that wait to be reported.
#[derive(Debug)]
pub(crate) struct OutcomeQueue {
    waiting: Mutex<Waiting>,
    added: Notify,
    empty: Notify,
}

#[derive(Debug)]
struct Waiting {
    ended: std::collections::VecDeque<EndedAttempt>,
    /// How many outcomes are worth a second call while one is in flight.
    second_call_at: usize,
    /// The calls in flight.
    calls: usize,
    /// Releases that are sent together when the worker leaves.
    held_back: Vec<EndedAttempt>,
}

impl OutcomeQueue {
    /// Half of the slots are worth a second call: the store works on one half while the worker runs
    /// the other.
    pub(crate) fn new(slots: usize) -> Self {
        let waiting = Waiting {
            ended: std::collections::VecDeque::new(),
            second_call_at: (slots / 2).clamp(1, BATCH_MAX),
            calls: 0,
            held_back: Vec::new(),
        };
        Self {
            waiting: Mutex::new(waiting),
            added: Notify::new(),
            empty: Notify::new(),
        }
    }

    /// Adds outcomes; releases among them go into one call.
    pub(crate) fn push(&self, ended: impl IntoIterator<Item = EndedAttempt>) {
        self.add(|waiting| waiting.ended.extend(ended));
    }

    /// Adds a release that is sent with all others of its kind by [`send_held_back`](Self::send_held_back).
    pub(crate) fn hold_back(&self, ended: EndedAttempt) {
        lock(&self.waiting).held_back.push(ended);
    }

    /// Sends the releases that were held back, in one call.
    pub(crate) fn send_held_back(&self) {
        self.add(|waiting| waiting.ended.extend(waiting.held_back.drain(..)));
    }

    fn add(&self, add: impl FnOnce(&mut Waiting)) {
        let mut waiting = lock(&self.waiting);
        let before = waiting.ended.len();
        add(&mut waiting);
        let (count, second_call_at) = (waiting.ended.len(), waiting.second_call_at);
        drop(waiting);
        if (before == 0 && count > 0) || (before < second_call_at && count >= second_call_at) {
            self.added.notify_one();
        }
    }

    /// Waits for outcomes and takes up to a batch. While a call is in flight, waits until it is
    /// answered or enough outcomes for a second call are queued.
    pub(crate) async fn take_batch(&self) -> Vec<EndedAttempt> {
        loop {
            if lock(&self.waiting).is_worth_a_call() {
                // Lets handlers that are about to return join the batch.
                tokio::task::yield_now().await;
                let mut waiting = lock(&self.waiting);
                if waiting.is_worth_a_call() {
                    return waiting.take();
                }
            }
            self.added.notified().await;
        }
    }

    /// Records that a batch was answered or abandoned.
    pub(crate) fn batch_done(&self) {
        let mut waiting = lock(&self.waiting);
        waiting.calls -= 1;
        if waiting.is_empty() {
            self.empty.notify_waiters();
        } else if !waiting.ended.is_empty() {
            self.added.notify_one();
        }
    }

    /// Waits until every outcome was answered.
    pub(crate) async fn wait_until_empty(&self) {
        loop {
            // Created before the check, so that it also sees what is notified in between.
            let empty = self.empty.notified();
            if lock(&self.waiting).is_empty() {
                return;
            }
            empty.await;
        }
    }
}

impl Waiting {
    /// Whether every outcome was answered.
    fn is_empty(&self) -> bool {
        self.calls == 0 && self.ended.is_empty()
    }

    fn is_worth_a_call(&self) -> bool {
        let count = self.ended.len();
        count >= self.second_call_at || (count > 0 && self.calls == 0)
    }

    fn take(&mut self) -> Vec<EndedAttempt> {
        let mut bytes = 0;
        let fits = |ended: &&EndedAttempt| {
            bytes += match &ended.outcome {
                Outcome::Done(result) => result.as_ref().map_or(0, Bytes::len),
                Outcome::Failed { error, .. } => error.len(),
                Outcome::Snooze { .. } | Outcome::Release => 0,
            };
            bytes <= BATCH_BYTES_MAX
        };
        let fitting = self.ended.iter().take(BATCH_MAX).take_while(fits).count();
        let count = fitting.max(1).min(self.ended.len());
        let more = self.ended.iter().skip(count);
        let releases = more.take_while(|ended| ended.outcome == Outcome::Release);
        let count = count + releases.count();
        self.calls += 1;
        self.ended.drain(..count).collect()
    }
}
