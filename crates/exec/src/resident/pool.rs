//! Who has which job: the processes, their credits and what is under way in each.

mod seat;

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{mpsc, oneshot, watch};
use tokio_util::sync::CancellationToken;
use windlass_worker::{AttemptContext, Outcome};

use super::protocol::Who;
use crate::log::JobLog;
use crate::progress;

use seat::{Entry, Seat};

/// A line on its way to a process.
#[derive(Debug)]
pub(super) struct Outgoing {
    pub(super) bytes: Vec<u8>,
    /// Set when the process may have seen a part of it.
    pub(super) is_begun: Option<Arc<AtomicBool>>,
}

/// The way to a process.
pub(super) type Sender = mpsc::UnboundedSender<Outgoing>;

/// How a job left its process.
#[derive(Debug)]
pub(super) enum End {
    /// The process answered.
    Answered(Outcome),
    /// The process ended before it answered.
    Crashed { why: String, was_alone: bool },
    /// The process ended because the worker does, or never saw the job.
    Unharmed,
}

/// All processes of a worker. One lock, held for short looks only.
#[derive(Debug)]
pub(super) struct Pool {
    seats: Mutex<Vec<Seat>>,
    tickets: AtomicU64,
    changed: watch::Sender<()>,
}

/// One life of one process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Life {
    pub(super) seat: usize,
    pub(super) number: u64,
}

/// A job in a process; given up when this is dropped.
#[derive(Debug)]
pub(super) struct Held<'a> {
    pool: &'a Pool,
    life: Life,
    ticket: u64,
    pub(super) end: oneshot::Receiver<End>,
    pub(super) progress: watch::Receiver<Option<progress::Said>>,
}

/// A job that looks for a process.
#[derive(Debug)]
pub(super) struct Wish<'a> {
    pool: &'a Pool,
    ticket: u64,
    is_alone: bool,
    changed: watch::Receiver<()>,
}

impl Pool {
    pub(super) fn new(seats: usize) -> Self {
        Self {
            seats: Mutex::new((0..seats).map(|_| Seat::default()).collect()),
            tickets: AtomicU64::new(0),
            changed: watch::Sender::new(()),
        }
    }

    pub(super) fn wish(&self, is_alone: bool) -> Wish<'_> {
        Wish {
            pool: self,
            ticket: self.tickets.fetch_add(1, Ordering::Relaxed),
            is_alone,
            changed: self.changed.subscribe(),
        }
    }

    /// A process has begun; it gets no jobs yet. The answer fires when it should end because
    /// everything in it was given up.
    pub(super) fn begin(&self, life: Life) -> CancellationToken {
        let mut seats = self.lock();
        seats[life.seat] = Seat::new(life.number);
        seats[life.seat].given_up.clone()
    }

    /// A process takes jobs from now on, up to `capacity` at once.
    pub(super) fn open(&self, life: Life, sender: &Sender, capacity: usize) {
        self.with(life, |seat| {
            if seat.sender.is_none() && !seat.is_shut {
                seat.sender = Some(sender.clone());
                seat.capacity = capacity;
            }
        });
    }

    /// A process wants fewer jobs at once.
    pub(super) fn lower(&self, life: Life, capacity: usize) {
        self.with(life, |seat| {
            seat.capacity = seat.capacity.min(capacity.max(1));
        });
    }

    /// A process gets no more jobs, nor any other line.
    pub(super) fn shut(&self, life: Life) {
        self.with(life, |seat| {
            seat.sender = None;
            seat.is_shut = true;
        });
    }

    /// A process has ended: what was under way in it is told `end`.
    pub(super) fn close(&self, life: Life, end: impl Fn(bool) -> End) {
        let entries = self.with(life, |seat| {
            seat.sender = None;
            seat.is_shut = true;
            seat.wanted = None;
            std::mem::take(&mut seat.entries)
        });
        for entry in entries.into_iter().flatten() {
            let is_begun = entry.is_begun.load(Ordering::Acquire);
            let end = if is_begun {
                end(entry.is_alone)
            } else {
                End::Unharmed
            };
            let _ = entry.end.send(end);
        }
    }

    /// The answer of a process; the reason where it is refused.
    pub(super) fn answer(
        &self,
        life: Life,
        who: &Who,
        outcome: Outcome,
    ) -> Result<(), &'static str> {
        let entry = self
            .with(life, |seat| seat.remove(who))
            .ok_or("the process has ended")??;
        // The handler may be gone by now; its job is settled without this answer.
        let _ = entry.end.send(End::Answered(outcome));
        Ok(())
    }

    /// What a process said of a job's progress; false where it does not have it.
    pub(super) fn progress(&self, life: Life, who: &Who, said: progress::Said) -> bool {
        let told = self.with(life, |seat| {
            let entry = seat.find(who).ok()?;
            let entry = &seat.entries[entry];
            entry.progress.send_replace(Some(said));
            Some(())
        });
        told.flatten().is_some()
    }

    /// The log of a job that a process has: the one that is named, or the only one there is.
    pub(super) fn log_of(&self, life: Life, id: Option<&str>) -> Option<(AttemptContext, Arc<JobLog>)> {
        self.with(life, |seat| {
            let mut entries = seat.entries.iter();
            let entry = match id {
                Some(id) => entries.find(|entry| entry.context.job().id.as_str() == id),
                None if seat.entries.len() == 1 => entries.next(),
                None => None,
            };
            entry.map(|entry| (entry.context.clone(), Arc::clone(&entry.log)))
        })
        .flatten()
    }

    /// How many jobs a process has.
    pub(super) fn under_way(&self, life: Life) -> usize {
        self.with(life, |seat| seat.entries.len())
            .unwrap_or_default()
    }

    /// Sends a line to every process that takes jobs.
    pub(super) fn tell_all(&self, bytes: &[u8]) {
        for seat in self.lock().iter() {
            seat.send(bytes.to_vec(), None);
        }
    }

    /// Something of a life that is not over.
    fn with<T>(&self, life: Life, act: impl FnOnce(&mut Seat) -> T) -> Option<T> {
        let mut seats = self.lock();
        let seat = &mut seats[life.seat];
        let answer = (seat.life == life.number).then(|| {
            let answer = act(seat);
            seat.end_if_all_is_given_up();
            answer
        });
        drop(seats);
        self.changed.send_replace(());
        answer
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Seat>> {
        self.seats.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<'a> Wish<'a> {
    /// Hands the job to a process that has room for it.
    pub(super) fn take(
        &mut self,
        context: &AttemptContext,
        log: &Arc<JobLog>,
        line: &[u8],
    ) -> Option<Held<'a>> {
        self.changed.mark_unchanged();
        let mut seats = self.pool.lock();
        let seat = seat::choose(&mut seats, self.ticket, self.is_alone)?;
        let (end_sender, end) = oneshot::channel();
        let (progress_sender, progress) = watch::channel(None);
        let is_begun = Arc::new(AtomicBool::new(false));
        let found = &mut seats[seat];
        found.entries.push(Entry {
            ticket: self.ticket,
            context: context.clone(),
            log: Arc::clone(log),
            end: end_sender,
            progress: progress_sender,
            is_alone: self.is_alone,
            is_given_up: false,
            is_begun: Arc::clone(&is_begun),
        });
        found.send(line.to_vec(), Some(is_begun));
        Some(Held {
            pool: self.pool,
            life: Life {
                seat,
                number: found.life,
            },
            ticket: self.ticket,
            end,
            progress,
        })
    }

    /// Waits until something is different.
    pub(super) async fn changed(&mut self) {
        // The pool outlives its wishes, and its sender with it.
        let _ = self.changed.changed().await;
    }
}

impl Drop for Wish<'_> {
    fn drop(&mut self) {
        let mut seats = self.pool.lock();
        let wanted = seats
            .iter_mut()
            .filter(|seat| seat.wanted == Some(self.ticket));
        wanted.for_each(|seat| seat.wanted = None);
        drop(seats);
        self.pool.changed.send_replace(());
    }
}

impl Held<'_> {
    /// Sends a line to the process that has the job.
    pub(super) fn tell(&self, bytes: Vec<u8>) {
        self.pool.with(self.life, |seat| seat.send(bytes, None));
    }

    /// Expects no answer any more: a late one is refused, and the process ends when it has nothing
    /// else to do. Answers whether it does.
    pub(super) fn give_up(&self) -> bool {
        let given_up = self.pool.with(self.life, |seat| {
            seat.give_up(self.ticket);
            seat.given_up.clone()
        });
        given_up.is_some_and(|token| token.is_cancelled())
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        self.give_up();
    }
}

#[cfg(test)]
mod tests;
