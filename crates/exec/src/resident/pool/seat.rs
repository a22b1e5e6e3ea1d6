//! One process as the pool sees it.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use tokio::sync::{oneshot, watch};
use tokio_util::sync::CancellationToken;
use windlass_worker::AttemptContext;

use super::super::protocol::Who;
use super::{End, Outgoing, Sender};
use crate::log::JobLog;
use crate::progress;

/// A place for a process; between two of them it takes no jobs.
#[derive(Debug, Default)]
pub(super) struct Seat {
    pub(super) life: u64,
    /// There while the process takes jobs.
    pub(super) sender: Option<Sender>,
    pub(super) is_shut: bool,
    pub(super) capacity: usize,
    pub(super) entries: Vec<Entry>,
    /// Who waits to have the process for itself.
    pub(super) wanted: Option<u64>,
    pub(super) given_up: CancellationToken,
}

/// A job in a process.
pub(super) struct Entry {
    pub(super) ticket: u64,
    pub(super) context: AttemptContext,
    pub(super) log: Arc<JobLog>,
    pub(super) end: oneshot::Sender<End>,
    pub(super) progress: watch::Sender<Option<progress::Said>>,
    pub(super) is_alone: bool,
    pub(super) is_given_up: bool,
    pub(super) is_begun: Arc<AtomicBool>,
}

impl std::fmt::Debug for Entry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Entry")
            .field("context", &self.context)
            .field("is_given_up", &self.is_given_up)
            .finish_non_exhaustive()
    }
}

impl Seat {
    pub(super) fn new(life: u64) -> Self {
        Self {
            life,
            ..Self::default()
        }
    }

    fn has_room(&self) -> bool {
        let has_loner = self.entries.iter().any(|entry| entry.is_alone);
        self.sender.is_some()
            && self.wanted.is_none()
            && !has_loner
            && self.entries.len() < self.capacity
    }

    pub(super) fn send(&self, bytes: Vec<u8>, is_begun: Option<Arc<AtomicBool>>) {
        if let Some(sender) = &self.sender {
            // A process that has ended hears nothing.
            let _ = sender.send(Outgoing { bytes, is_begun });
        }
    }

    /// The place of the job that is meant: by id and token, or by id where only one has it.
    pub(super) fn find(&self, who: &Who) -> Result<usize, &'static str> {
        let is_meant = |entry: &Entry| {
            entry.context.job().id.as_str() == who.id
                && who
                    .token
                    .as_ref()
                    .is_none_or(|token| *token == entry.context.token().to_string())
        };
        let mut found = (0..self.entries.len()).filter(|place| is_meant(&self.entries[*place]));
        match (found.next(), found.next()) {
            (Some(place), None) => Ok(place),
            (Some(_), Some(_)) => Err("several jobs have this id: name the token"),
            (None, _) => Err("the process does not have this job, or has answered before"),
        }
    }

    /// Takes out the job that is answered for; one that was given up is refused.
    pub(super) fn remove(&mut self, who: &Who) -> Result<Entry, &'static str> {
        let entry = self
            .find(who)
            .map(|place| self.entries.swap_remove(place))?;
        if entry.is_given_up {
            return Err("the answer came too late: the job was given up");
        }
        Ok(entry)
    }

    pub(super) fn give_up(&mut self, ticket: u64) {
        let entry = self.entries.iter_mut().find(|entry| entry.ticket == ticket);
        if let Some(entry) = entry {
            entry.is_given_up = true;
        }
    }

    /// A process that works only on what nobody waits for is better replaced.
    pub(super) fn end_if_all_is_given_up(&self) {
        if !self.entries.is_empty() && self.entries.iter().all(|entry| entry.is_given_up) {
            self.given_up.cancel();
        }
    }
}

/// The seat for a job: the one with the least to do, or for a loner one with nothing at all. A
/// loner that finds none keeps the others from one until it is empty.
pub(super) fn choose(seats: &mut [Seat], ticket: u64, is_alone: bool) -> Option<usize> {
    let least = |is_fit: &dyn Fn(&Seat) -> bool| {
        let fit = (0..seats.len()).filter(|place| is_fit(&seats[*place]));
        fit.min_by_key(|place| seats[*place].entries.len())
    };
    if !is_alone {
        return least(&|seat| seat.has_room());
    }
    let is_free = |seat: &Seat| seat.sender.is_some() && seat.wanted.is_none_or(|by| by == ticket);
    let mine = seats
        .iter()
        .position(|seat| seat.sender.is_some() && seat.wanted == Some(ticket));
    let place = least(&|seat| is_free(seat) && seat.entries.is_empty())
        .or(mine)
        .or_else(|| least(&is_free))?;
    let is_empty = seats[place].entries.is_empty();
    seats[place].wanted = (!is_empty).then_some(ticket);
    is_empty.then_some(place)
}
