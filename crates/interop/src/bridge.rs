//! Carries work of an older system over into a queue of Windlass.
//!
//! Each step may be the last one: work is taken the way any worker of the older system takes it,
//! enqueued under its own id, and only then finished there. A bridge that is killed leaves what it
//! held to the older system's own cleaning, and whoever carries it over again is told `duplicate`.
//! A bridge that goes on after trouble goes on with what it has in its hands: its worker lives, so
//! nobody else would take it back.
//!
//! # Map
//!
//! `origin` is what a bridge asks of an older system; `redis_work_queue`, `worqr` and `blueque` are
//! the answers. `job` makes jobs of what is taken.

mod blueque;
mod job;
mod origin;
mod redis_work_queue;
mod worqr;

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, sleep};
use windlass_core::{Enqueued, Error, ErrorKind, NewJob, QueueName, Result, Store};

pub use origin::From;
use origin::{Origin, Taken, Took};

use crate::Server;

/// The most that is carried over in one step.
const BATCH: usize = 100;

/// How long one look waits for work, where the bridge stays.
const WAIT: Duration = Duration::from_secs(1);

/// How often the older system is cleaned, so that what dead workers held is carried over as well.
const CLEAN_EVERY: Duration = Duration::from_secs(5);

/// The pause after trouble that passes.
const PAUSE: Duration = Duration::from_millis(500);

/// What a bridge has done so far.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct Carried {
    /// Jobs that are new in the queue.
    pub carried: u64,
    /// Jobs that were there already: somebody was interrupted on the way.
    pub duplicates: u64,
    /// What the queue does not take, and why; it stays where it was.
    pub refused: Vec<(String, Error)>,
}

/// A bridge from an older system into a queue.
#[derive(Debug)]
pub struct Bridge {
    origin: Box<dyn Origin>,
    from: From,
    store: Arc<dyn Store>,
    queue: QueueName,
    /// Held for us, and not known to be in the queue yet.
    taken: VecDeque<Taken>,
    /// In the queue, and not finished in the older system yet.
    carried: VecDeque<Taken>,
    done: Carried,
    cleaned: Option<Instant>,
}

impl Bridge {
    /// Joins the older system as a worker of its own.
    pub async fn open(
        server: &Server,
        from: From,
        store: Arc<dyn Store>,
        queue: QueueName,
    ) -> Result<Self> {
        Ok(Self {
            origin: from.join(server).await?,
            from,
            store,
            queue,
            taken: VecDeque::new(),
            carried: VecDeque::new(),
            done: Carried::default(),
            cleaned: None,
        })
    }

    /// What was carried over so far.
    pub fn carried(&self) -> &Carried {
        &self.done
    }

    /// Carries over what is there, and tells whether that was anything. It may be given up at any
    /// time: the next step goes on with what is held, and with the bridge it comes back to the older
    /// system.
    pub async fn step(&mut self, wait: Duration) -> Result<bool> {
        if self.taken.is_empty() && self.carried.is_empty() {
            self.clean().await?;
            self.take(wait).await?;
            if self.taken.is_empty() {
                return Ok(false);
            }
        } else {
            self.look_again().await?;
        }
        self.carry().await?;
        Ok(true)
    }

    /// Carries over until nothing is left that nobody holds.
    pub async fn drain(&mut self) -> Result<()> {
        while self.step(Duration::ZERO).await? {}
        Ok(())
    }

    /// Carries over for as long as it is polled; trouble that passes is told to `trouble` and waited
    /// out.
    pub async fn follow(&mut self, mut trouble: impl FnMut(&Error)) -> Result<()> {
        loop {
            match self.step(WAIT).await {
                Ok(_) => {}
                Err(error) if error.is_transient() || error.is_unknown() => {
                    trouble(&error);
                    sleep(PAUSE).await;
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Leaves the older system; what is still held goes back.
    pub async fn close(self) -> Result<Carried> {
        self.origin.leave().await?;
        Ok(self.done)
    }

    async fn clean(&mut self) -> Result<()> {
        if self.cleaned.is_none_or(|at| at.elapsed() >= CLEAN_EVERY) {
            self.origin.clean().await?;
            self.cleaned = Some(Instant::now());
        }
        Ok(())
    }

    async fn take(&mut self, mut wait: Duration) -> Result<()> {
        while self.taken.len() < BATCH {
            match self.origin.take(wait).await? {
                Took::One(taken) => self.taken.push_back(taken),
                Took::Nothing => break,
                Took::Anew => self.taken.clear(),
            }
            wait = Duration::ZERO;
        }
        Ok(())
    }

    /// After trouble: what went back meanwhile is somebody else's, or is taken again.
    async fn look_again(&mut self) -> Result<()> {
        for held in [&mut self.taken, &mut self.carried] {
            let mut at = 0;
            while let Some(taken) = held.get(at) {
                if self.origin.holds(taken).await? {
                    at += 1;
                } else {
                    held.remove(at);
                }
            }
        }
        Ok(())
    }

    /// Enqueues what is taken, and finishes it in the older system.
    async fn carry(&mut self) -> Result<()> {
        if !self.taken.is_empty() {
            self.enqueue().await?;
        }
        while let Some(carried) = self.carried.front() {
            self.origin.done(carried).await?;
            self.carried.pop_front();
        }
        Ok(())
    }

    async fn enqueue(&mut self) -> Result<()> {
        let jobs = self.taken.iter().map(|taken| job::of(&self.from, taken));
        let jobs = jobs.collect::<Result<Vec<_>>>()?;
        match self.store.enqueue(&self.queue, jobs).await {
            Ok(enqueued) => {
                for enqueued in &enqueued {
                    self.settle_first(enqueued).await?;
                }
            }
            // One of them is not to be had: the others are.
            Err(error) if is_refusal(&error) => {
                while let Some(first) = self.taken.front() {
                    let job = job::of(&self.from, first)?;
                    if let Some(enqueued) = self.enqueue_first(job).await? {
                        self.settle_first(&enqueued).await?;
                    }
                }
            }
            Err(error) => return Err(error),
        }
        Ok(())
    }

    /// The first that is taken is in the queue, unless its id belongs to other work.
    async fn settle_first(&mut self, enqueued: &Enqueued) -> Result<()> {
        let Some(first) = self.taken.front() else {
            return Ok(());
        };
        let mut is_duplicate = enqueued.is_duplicate();
        if is_duplicate && self.is_other_work(first, enqueued).await? {
            let job = job::beside(&self.from, first)?;
            let Some(enqueued) = self.enqueue_first(job).await? else {
                return Ok(());
            };
            is_duplicate = enqueued.is_duplicate();
        }
        self.count(is_duplicate);
        self.carried.extend(self.taken.pop_front());
        Ok(())
    }

    /// Whether the job that is there already was made of something else. Of a job that has ended
    /// nothing is left to compare: rather twice than never.
    async fn is_other_work(&self, taken: &Taken, there: &Enqueued) -> Result<bool> {
        if !self.from.has_ids_of_producers() {
            return Ok(false);
        }
        let there = self.store.get(&self.queue, there.id()).await?;
        let payload = there.and_then(|job| job.payload);
        Ok(payload.is_none_or(|payload| payload != taken.data))
    }

    /// Enqueues the job of the first that is taken; nothing when the queue does not take it.
    async fn enqueue_first(&mut self, job: NewJob) -> Result<Option<Enqueued>> {
        match self.store.enqueue(&self.queue, vec![job]).await {
            Ok(enqueued) => Ok(enqueued.into_iter().next()),
            Err(error) if is_refusal(&error) => {
                let refused = &mut self.done.refused;
                // Once each: it comes back with every cleaning.
                if let Some(taken) = self.taken.pop_front()
                    && refused.iter().all(|(id, _)| *id != taken.id)
                {
                    refused.push((taken.id, error));
                }
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    fn count(&mut self, is_duplicate: bool) {
        if is_duplicate {
            self.done.duplicates += 1;
        } else {
            self.done.carried += 1;
        }
    }
}

/// Whether the queue will never take it.
fn is_refusal(error: &Error) -> bool {
    !error.is_transient() && !error.is_unknown() && error.kind() == ErrorKind::Invalid
}

#[cfg(test)]
mod tests;
