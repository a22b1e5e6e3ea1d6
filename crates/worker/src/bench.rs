//! The jobs that run and those that wait for one to end: never more at once than was said.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

use crate::lane::Lane;
use crate::run::Run;
use crate::slots::Slot;

/// A claimed job and its slot.
#[derive(Debug)]
pub(crate) struct Claimed {
    pub(crate) lane: Arc<Lane>,
    pub(crate) run: Arc<Run>,
    pub(crate) slot: Slot,
}

/// Where jobs sit.
#[derive(Debug)]
pub(crate) struct Bench {
    limit: usize,
    seats: Mutex<Seats>,
    emptied: Notify,
}

#[derive(Debug, Default)]
struct Seats {
    running: usize,
    waiting: VecDeque<Claimed>,
}

impl Bench {
    pub(crate) fn new(limit: usize) -> Self {
        Self {
            limit,
            seats: Mutex::default(),
            emptied: Notify::new(),
        }
    }

    /// Takes a seat for a job; gives the job back when it may start, else it waits.
    pub(crate) fn enter(&self, claimed: Claimed) -> Option<Claimed> {
        let mut seats = self.lock();
        if seats.running < self.limit {
            seats.running += 1;
            return Some(claimed);
        }
        seats.waiting.push_back(claimed);
        None
    }

    /// A job is out of its seat; answers the one that may start in it.
    pub(crate) fn leave(&self) -> Option<Claimed> {
        let mut seats = self.lock();
        let next = seats.waiting.pop_front();
        if next.is_none() {
            seats.running -= 1;
            if seats.running == 0 {
                self.emptied.notify_waiters();
            }
        }
        next
    }

    /// Takes those that wait.
    pub(crate) fn clear(&self) -> VecDeque<Claimed> {
        std::mem::take(&mut self.lock().waiting)
    }

    pub(crate) fn is_empty(&self) -> bool {
        let seats = self.lock();
        seats.running == 0 && seats.waiting.is_empty()
    }

    /// Waits until no job runs.
    pub(crate) async fn emptied(&self) {
        loop {
            let emptied = self.emptied.notified();
            tokio::pin!(emptied);
            emptied.as_mut().enable();
            if self.is_empty() {
                return;
            }
            emptied.await;
        }
    }

    fn lock(&self) -> MutexGuard<'_, Seats> {
        self.seats.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
