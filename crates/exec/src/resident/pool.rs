//! Assigns jobs to processes: their capacity, and the jobs that each one runs.

mod slot;

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use tokio::sync::{mpsc, oneshot, watch};
use tokio_util::sync::CancellationToken;
use windlass_worker::{Outcome, lock};

use super::protocol::AttemptRef;
use crate::log::JobLog;
use crate::progress;

use slot::{AssignedJob, Slot};

/// A line to be written to a process.
#[derive(Debug)]
pub(super) struct Outgoing {
    pub(super) bytes: Vec<u8>,
    /// Set before the first byte is written: the process may have seen the line.
    pub(super) may_be_seen: Option<Arc<AtomicBool>>,
}

/// The queue of lines to a process.
pub(super) type Sender = mpsc::UnboundedSender<Outgoing>;

/// How an attempt in a process ended.
#[derive(Debug)]
pub(super) enum AttemptEnd {
    /// The process replied.
    Replied(Outcome),
    /// The process exited before it replied.
    Crashed { why: String, was_alone: bool },
    /// The process exited before it read the job, and had answered no other.
    Unread { why: String },
    /// The process never saw the job, or was ended by the worker for another reason than this job.
    Released,
}

/// A job of a process that has exited.
#[derive(Debug, Clone, Copy)]
pub(super) struct ClosedJob {
    pub(super) was_alone: bool,
    /// The process may have read a part of it.
    pub(super) may_be_seen: bool,
}

/// All processes of a worker, behind one lock that is held only briefly.
pub(super) struct Pool {
    slots: Mutex<Vec<Slot>>,
    tickets: AtomicU64,
    changed: watch::Sender<()>,
}

/// One instance of a process: its slot, and how often the slot was restarted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct InstanceId {
    pub(super) slot: usize,
    pub(super) number: u64,
}

/// A job assigned to a process. Dropping it abandons the job.
pub(super) struct Assignment<'a> {
    pool: &'a Pool,
    instance: InstanceId,
    ticket: u64,
    pub(super) end: oneshot::Receiver<AttemptEnd>,
    pub(super) progress: watch::Receiver<Option<progress::ProgressReport>>,
}

/// A job that waits for a process.
pub(super) struct WaitingJob<'a> {
    pool: &'a Pool,
    ticket: u64,
    is_exclusive: bool,
    changed: watch::Receiver<()>,
}

impl Pool {
    pub(super) fn new(slots: usize) -> Self {
        Self {
            slots: Mutex::new((0..slots).map(|_| Slot::default()).collect()),
            tickets: AtomicU64::new(0),
            changed: watch::Sender::new(()),
        }
    }

    pub(super) fn waiting(&self, is_exclusive: bool) -> WaitingJob<'_> {
        WaitingJob {
            pool: self,
            ticket: self.tickets.fetch_add(1, Ordering::Relaxed),
            is_exclusive,
            changed: self.changed.subscribe(),
        }
    }

    /// Records that a process was started; it gets no jobs yet. The returned token is cancelled when it
    /// should end because all its jobs were abandoned.
    pub(super) fn begin(&self, instance: InstanceId) -> CancellationToken {
        let mut slots = lock(&self.slots);
        slots[instance.slot] = Slot::new(instance.number);
        slots[instance.slot].abandoned.clone()
    }

    /// Lets a process run up to `capacity` jobs at once.
    pub(super) fn open(&self, instance: InstanceId, sender: &Sender, capacity: usize) {
        self.with(instance, |slot| {
            if slot.sender.is_none() && !slot.is_closed {
                slot.sender = Some(sender.clone());
                slot.capacity = capacity;
            }
        });
    }

    /// Lowers the capacity of a process.
    pub(super) fn lower_capacity(&self, instance: InstanceId, capacity: usize) {
        self.with(instance, |slot| {
            slot.capacity = slot.capacity.min(capacity.max(1));
        });
    }

    /// Sends no more jobs or other lines to a process.
    pub(super) fn stop_assigning(&self, instance: InstanceId) {
        self.with(instance, Slot::close);
    }

    /// Records that a process has exited: its jobs end with `end`.
    pub(super) fn close(&self, instance: InstanceId, end: impl Fn(&ClosedJob) -> AttemptEnd) {
        let entries = self.with(instance, |slot| {
            slot.close();
            slot.reserved_by = None;
            std::mem::take(&mut slot.entries)
        });
        for entry in entries.into_iter().flatten() {
            let job = ClosedJob {
                was_alone: entry.is_exclusive,
                may_be_seen: entry.may_be_seen.load(Ordering::Acquire),
            };
            let _ = entry.end.send(end(&job));
        }
    }

    /// Handles the reply of a process; returns why it is rejected.
    pub(super) fn reply(
        &self,
        instance: InstanceId,
        attempt: &AttemptRef,
        outcome: Outcome,
    ) -> Result<(), &'static str> {
        let entry = self
            .with(instance, |slot| slot.remove(attempt))
            .ok_or("the process has ended")??;
        // The attempt may have ended without this reply.
        let _ = entry.end.send(AttemptEnd::Replied(outcome));
        Ok(())
    }

    /// Passes on a progress report; returns false if the process does not run the job.
    pub(super) fn progress(
        &self,
        instance: InstanceId,
        attempt: &AttemptRef,
        report: progress::ProgressReport,
    ) -> bool {
        let found = self.with(instance, |slot| {
            let entry = slot.find(attempt).ok()?;
            let entry = &slot.entries[entry];
            entry.progress.send_replace(Some(report));
            Some(())
        });
        found.flatten().is_some()
    }

    /// Returns the log of a job that a process runs: the given one, or the only one.
    pub(super) fn log_of(&self, instance: InstanceId, id: Option<&str>) -> Option<Arc<JobLog>> {
        self.with(instance, |slot| {
            let mut entries = slot.entries.iter();
            let entry = match id {
                Some(id) => entries.find(|entry| entry.log.context.job().id.as_str() == id),
                None if slot.entries.len() == 1 => entries.next(),
                None => None,
            };
            entry.map(|entry| Arc::clone(&entry.log))
        })
        .flatten()
    }

    /// Returns how many jobs a process runs.
    pub(super) fn job_count(&self, instance: InstanceId) -> usize {
        self.with(instance, |slot| slot.entries.len())
            .unwrap_or_default()
    }

    /// Sends a line to every process that accepts jobs.
    pub(super) fn send_all(&self, bytes: &[u8]) {
        for slot in lock(&self.slots).iter() {
            slot.send(bytes.to_vec(), None);
        }
    }

    /// Accesses the slot of an instance unless that was replaced.
    fn with<T>(&self, instance: InstanceId, act: impl FnOnce(&mut Slot) -> T) -> Option<T> {
        let mut slots = lock(&self.slots);
        let slot = &mut slots[instance.slot];
        let reply = (slot.instance == instance.number).then(|| {
            let reply = act(slot);
            slot.stop_if_all_abandoned();
            reply
        });
        drop(slots);
        self.changed.send_replace(());
        reply
    }
}

impl<'a> WaitingJob<'a> {
    /// Assigns the job to a process with free capacity.
    pub(super) fn take(&mut self, log: &Arc<JobLog>, line: &[u8]) -> Option<Assignment<'a>> {
        self.changed.mark_unchanged();
        let mut slots = lock(&self.pool.slots);
        let slot = slot::choose(&mut slots, self.ticket, self.is_exclusive)?;
        let (end_sender, end) = oneshot::channel();
        let (progress_sender, progress) = watch::channel(None);
        let may_be_seen = Arc::new(AtomicBool::new(false));
        let found = &mut slots[slot];
        found.entries.push(AssignedJob {
            ticket: self.ticket,
            log: Arc::clone(log),
            end: end_sender,
            progress: progress_sender,
            is_exclusive: self.is_exclusive,
            is_abandoned: false,
            may_be_seen: Arc::clone(&may_be_seen),
        });
        found.send(line.to_vec(), Some(may_be_seen));
        Some(Assignment {
            pool: self.pool,
            instance: InstanceId {
                slot,
                number: found.instance,
            },
            ticket: self.ticket,
            end,
            progress,
        })
    }

    /// Waits until something changes in the pool.
    pub(super) async fn changed(&mut self) {
        // Cannot fail: the pool holds the sender.
        let _ = self.changed.changed().await;
    }
}

impl Drop for WaitingJob<'_> {
    fn drop(&mut self) {
        let mut slots = lock(&self.pool.slots);
        let reserved_by = slots
            .iter_mut()
            .filter(|slot| slot.reserved_by == Some(self.ticket));
        reserved_by.for_each(|slot| slot.reserved_by = None);
        drop(slots);
        self.pool.changed.send_replace(());
    }
}

impl Assignment<'_> {
    /// Sends a line to the process that runs the job.
    pub(super) fn send(&self, bytes: Vec<u8>) {
        self.pool.with(self.instance, |slot| slot.send(bytes, None));
    }

    /// Stops waiting for a reply: a late one is rejected, and the process is ended if it has no other
    /// job. Returns whether it is.
    pub(super) fn abandon(&self) -> bool {
        let abandoned = self.pool.with(self.instance, |slot| {
            slot.abandon(self.ticket);
            slot.abandoned.clone()
        });
        abandoned.is_some_and(|token| token.is_cancelled())
    }
}

impl Drop for Assignment<'_> {
    fn drop(&mut self) {
        self.abandon();
    }
}

#[cfg(test)]
mod tests;
