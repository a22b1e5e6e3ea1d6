//! Ended attempts on their way to the store; they gather while a call is under way.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use tokio::sync::Notify;
use windlass_core::limits::CLAIM_MAX;

use crate::outcome::Outcome;
use crate::run::Run;
use crate::slots::Slot;

/// The most of one batch: as many as one claim fills again, so that no slot waits for a claim of its
/// own; and worth a call beside one that is under way.
const WHOLE: usize = CLAIM_MAX;

/// The most bytes of results in one batch.
const BATCH_BYTES_MAX: usize = 4 * 1024 * 1024;

/// An attempt that ended, and its slot where the handler is out of it.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) run: Arc<Run>,
    pub(crate) outcome: Outcome,
    pub(crate) slot: Option<Slot>,
}

/// What waits to be settled.
#[derive(Debug, Default)]
pub(crate) struct Outbox {
    waiting: Mutex<Waiting>,
    came: Notify,
    emptied: Notify,
}

#[derive(Debug, Default)]
struct Waiting {
    ended: std::collections::VecDeque<Ended>,
    /// Taken and not yet answered, and in how many calls.
    under_way: usize,
    calls: usize,
}

impl Outbox {
    pub(crate) fn push(&self, ended: Ended) {
        let mut waiting = self.lock();
        waiting.ended.push_back(ended);
        let count = waiting.ended.len();
        drop(waiting);
        if count == 1 || count == WHOLE {
            self.came.notify_one();
        }
    }

    /// Waits for something and takes all there is, at most a batch. While a call is under way
    /// what ends gathers, until that call is answered or a whole batch is there.
    pub(crate) async fn take(&self) -> Vec<Ended> {
        loop {
            if self.lock().is_worth_a_call() {
                // Handlers that are about to end do so first, and go along.
                tokio::task::yield_now().await;
                let mut waiting = self.lock();
                if waiting.is_worth_a_call() {
                    return waiting.take();
                }
            }
            self.came.notified().await;
        }
    }

    /// A batch was answered, or given up.
    pub(crate) fn answered(&self, count: usize) {
        let mut waiting = self.lock();
        waiting.calls -= 1;
        waiting.under_way -= count;
        if waiting.ended.is_empty() {
            if waiting.under_way == 0 {
                self.emptied.notify_waiters();
            }
        } else {
            self.came.notify_one();
        }
    }

    /// Waits until everything was answered.
    pub(crate) async fn emptied(&self) {
        loop {
            let emptied = self.emptied.notified();
            tokio::pin!(emptied);
            emptied.as_mut().enable();
            {
                let waiting = self.lock();
                if waiting.under_way == 0 && waiting.ended.is_empty() {
                    return;
                }
            }
            emptied.await;
        }
    }

    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Waiting {
    fn is_worth_a_call(&self) -> bool {
        let count = self.ended.len();
        count >= WHOLE || (count > 0 && self.calls == 0)
    }

    fn take(&mut self) -> Vec<Ended> {
        let mut bytes = 0;
        let fits = |ended: &&Ended| {
            bytes += match &ended.outcome {
                Outcome::Done(result) => result.as_ref().map_or(0, Bytes::len),
                Outcome::Failed { error, .. } => error.len(),
                Outcome::Snooze(_) | Outcome::Release => 0,
            };
            bytes <= BATCH_BYTES_MAX
        };
        let fitting = self.ended.iter().take(WHOLE).take_while(fits).count();
        let count = fitting.max(1).min(self.ended.len());
        self.under_way += count;
        self.calls += 1;
        self.ended.drain(..count).collect()
    }
}
