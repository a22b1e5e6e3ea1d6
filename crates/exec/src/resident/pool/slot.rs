//! The pool's view of one process.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use tokio::sync::{oneshot, watch};
use tokio_util::sync::CancellationToken;

use super::super::protocol::AttemptRef;
use super::{AttemptEnd, Outgoing, Sender};
use crate::log::JobLog;
use crate::progress;

/// A slot for a process; takes no jobs between two instances.
#[derive(Default)]
pub(super) struct Slot {
    pub(super) instance: u64,
    /// Set while the process accepts jobs.
    pub(super) sender: Option<Sender>,
    pub(super) is_closed: bool,
    pub(super) capacity: usize,
    pub(super) entries: Vec<AssignedJob>,
    /// The waiting job that needs the process exclusively.
    pub(super) reserved_by: Option<u64>,
    pub(super) abandoned: CancellationToken,
}

/// A job that a process runs.
pub(super) struct AssignedJob {
    pub(super) ticket: u64,
    pub(super) log: Arc<JobLog>,
    pub(super) end: oneshot::Sender<AttemptEnd>,
    pub(super) progress: watch::Sender<Option<progress::ProgressReport>>,
    pub(super) is_exclusive: bool,
    pub(super) is_abandoned: bool,
    pub(super) may_be_seen: Arc<AtomicBool>,
}

impl Slot {
    pub(super) fn new(instance: u64) -> Self {
        Self {
            instance,
            ..Self::default()
        }
    }

    fn has_room(&self) -> bool {
        let has_exclusive = self.entries.iter().any(|entry| entry.is_exclusive);
        self.sender.is_some()
            && self.reserved_by.is_none()
            && !has_exclusive
            && self.entries.len() < self.capacity
    }

    pub(super) fn send(&self, bytes: Vec<u8>, may_be_seen: Option<Arc<AtomicBool>>) {
        if let Some(sender) = &self.sender {
            // Fails if the process has exited, which is fine.
            let _ = sender.send(Outgoing { bytes, may_be_seen });
        }
    }

    /// Returns the index of a job: by id and token, or by id if that is unique.
    pub(super) fn find(&self, attempt: &AttemptRef) -> Result<usize, &'static str> {
        let matches = |entry: &AssignedJob| {
            entry.log.context.job().id.as_str() == attempt.id
                && attempt
                    .token
                    .as_ref()
                    .is_none_or(|token| *token == entry.log.context.token().to_string())
        };
        let mut found = (0..self.entries.len()).filter(|index| matches(&self.entries[*index]));
        match (found.next(), found.next()) {
            (Some(index), None) => Ok(index),
            (Some(_), Some(_)) => Err("several jobs have this id; add the token"),
            (None, _) => Err("the process does not run this job, or has already replied"),
        }
    }

    /// Removes the job that a reply is for; rejects the reply if it was abandoned.
    pub(super) fn remove(&mut self, attempt: &AttemptRef) -> Result<AssignedJob, &'static str> {
        let entry = self
            .find(attempt)
            .map(|index| self.entries.swap_remove(index))?;
        if entry.is_abandoned {
            return Err("the reply is too late: the job was stopped");
        }
        Ok(entry)
    }

    pub(super) fn abandon(&mut self, ticket: u64) {
        let entry = self.entries.iter_mut().find(|entry| entry.ticket == ticket);
        if let Some(entry) = entry {
            entry.is_abandoned = true;
        }
    }

    /// Sends no more jobs or other lines to the process.
    pub(super) fn close(&mut self) {
        self.sender = None;
        self.is_closed = true;
    }

    /// Requests the end of a process that runs only abandoned jobs. It gets no other job from now on:
    /// that would end with it.
    pub(super) fn stop_if_all_abandoned(&mut self) {
        if !self.entries.is_empty() && self.entries.iter().all(|entry| entry.is_abandoned) {
            self.close();
            self.abandoned.cancel();
        }
    }
}

/// Chooses the slot for a job: the least busy one, or an idle one for an exclusive job. An exclusive
/// job that finds none reserves a slot, which takes no other jobs until it is idle.
pub(super) fn choose(slots: &mut [Slot], ticket: u64, is_exclusive: bool) -> Option<usize> {
    let least = |is_fit: &dyn Fn(&Slot) -> bool| {
        let fit = (0..slots.len()).filter(|index| is_fit(&slots[*index]));
        fit.min_by_key(|index| slots[*index].entries.len())
    };
    if !is_exclusive {
        return least(&|slot| slot.has_room());
    }
    let is_free =
        |slot: &Slot| slot.sender.is_some() && slot.reserved_by.is_none_or(|by| by == ticket);
    let mine = slots
        .iter()
        .position(|slot| slot.sender.is_some() && slot.reserved_by == Some(ticket));
    let index = least(&|slot| is_free(slot) && slot.entries.is_empty())
        .or(mine)
        .or_else(|| least(&is_free))?;
    let is_empty = slots[index].entries.is_empty();
    slots[index].reserved_by = (!is_empty).then_some(ticket);
    is_empty.then_some(index)
}
