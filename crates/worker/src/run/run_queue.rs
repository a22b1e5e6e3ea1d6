//! The running jobs, and prefetched ones that wait for their turn. Enforces the concurrency limit.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use tokio::sync::Notify;

use crate::claim::slots::Slot;
use crate::lock::lock;
use crate::queue_state::QueueState;
use crate::run::attempt::Attempt;

/// A claimed job and its slot.
#[derive(Debug)]
pub(crate) struct ClaimedAttempt {
    pub(crate) queue: Arc<QueueState>,
    pub(crate) attempt: Arc<Attempt>,
    pub(crate) slot: Slot,
}

/// Counts running jobs and queues prefetched ones.
#[derive(Debug)]
pub(crate) struct RunQueue {
    limit: usize,
    state: Mutex<RunQueueState>,
    idle: Notify,
}

#[derive(Debug, Default)]
struct RunQueueState {
    running: usize,
    waiting: VecDeque<ClaimedAttempt>,
}

impl RunQueue {
    pub(crate) fn new(limit: usize) -> Self {
        Self {
            limit,
            state: Mutex::default(),
            idle: Notify::new(),
        }
    }

    /// Returns the job if it may start now; otherwise queues it.
    pub(crate) fn admit(&self, claimed: ClaimedAttempt) -> Option<ClaimedAttempt> {
        let mut state = lock(&self.state);
        if state.running < self.limit {
            state.running += 1;
            return Some(claimed);
        }
        state.waiting.push_back(claimed);
        None
    }

    /// Records that a job has ended; returns the one that may start in its stead.
    pub(crate) fn finish(&self) -> Option<ClaimedAttempt> {
        let mut state = lock(&self.state);
        let next = state.waiting.pop_front();
        if next.is_none() {
            state.running -= 1;
            if state.running == 0 {
                self.idle.notify_waiters();
            }
        }
        next
    }

    /// Removes the jobs that have not started.
    pub(crate) fn take_waiting(&self) -> VecDeque<ClaimedAttempt> {
        std::mem::take(&mut lock(&self.state).waiting)
    }

    pub(crate) fn is_empty(&self) -> bool {
        let state = lock(&self.state);
        state.running == 0 && state.waiting.is_empty()
    }

    /// Waits until no job runs.
    pub(crate) async fn wait_until_idle(&self) {
        loop {
            // Created before the check, so that it also sees what is notified in between.
            let idle = self.idle.notified();
            if self.is_empty() {
                return;
            }
            idle.await;
        }
    }
}
