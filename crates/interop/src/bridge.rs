//! Carries work of an older system over into a queue of Windlass.
//!
//! Each step may be the last one: work is taken the way any worker of the older system takes it,
//! enqueued under its own id, and only then finished there. A bridge that is killed leaves what it
//! held to the older system's own cleaning, and whoever carries it over again is told `duplicate`.
//!
//! # Map
//!
//! `origin` is what a bridge asks of an older system; `redis_work_queue`, `worqr` and `blueque` are
//! the answers.

mod blueque;
mod origin;
mod redis_work_queue;
mod worqr;

use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, sleep};
use windlass_core::{Error, ErrorKind, Headers, JobId, NewJob, QueueName, Result, Store};

pub use origin::From;
use origin::{Origin, Taken};

use crate::Server;

/// The most that is carried over in one step.
const BATCH: usize = 100;

/// How long one look waits for work, where the bridge stays.
const WAIT: Duration = Duration::from_secs(1);

/// How often the older system is cleaned, so that what dead workers held is carried over as well.
const CLEAN_EVERY: Duration = Duration::from_secs(5);

/// The pause after trouble that passes.
const PAUSE: Duration = Duration::from_millis(500);

/// The header that says where a job came from.
const FROM_HEADER: &str = "interop-from";

/// The header with the id that the older system knew, where it cannot be a job's.
const ID_HEADER: &str = "interop-id";

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
            done: Carried::default(),
            cleaned: None,
        })
    }

    /// What was carried over so far.
    pub fn carried(&self) -> &Carried {
        &self.done
    }

    /// Carries over what is there, and tells whether that was anything. It may be given up at any
    /// time: what it held comes back to the older system.
    pub async fn step(&mut self, wait: Duration) -> Result<bool> {
        self.clean().await?;
        let Some(first) = self.origin.take(wait).await? else {
            return Ok(false);
        };
        let mut taken = vec![first];
        while taken.len() < BATCH {
            match self.origin.take(Duration::ZERO).await? {
                Some(next) => taken.push(next),
                None => break,
            }
        }
        self.carry(taken).await?;
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

    async fn carry(&mut self, taken: Vec<Taken>) -> Result<()> {
        let jobs = taken.iter().map(|taken| self.job(taken));
        let jobs = jobs.collect::<Result<Vec<_>>>()?;
        match self.store.enqueue(&self.queue, jobs).await {
            Ok(enqueued) => {
                for enqueued in enqueued {
                    self.count(enqueued.is_duplicate());
                }
                self.origin.done(&taken).await
            }
            // One of them is not to be had: the others are.
            Err(error) if is_refusal(&error) => self.carry_each(taken).await,
            Err(error) => Err(error),
        }
    }

    async fn carry_each(&mut self, taken: Vec<Taken>) -> Result<()> {
        for taken in taken {
            let job = self.job(&taken)?;
            match self.store.enqueue(&self.queue, vec![job]).await {
                Ok(enqueued) => {
                    self.count(enqueued.iter().any(|enqueued| enqueued.is_duplicate()));
                    self.origin.done(&[taken]).await?;
                }
                Err(error) if is_refusal(&error) => {
                    // Once each: it comes back with every cleaning.
                    if self.done.refused.iter().all(|(id, _)| *id != taken.id) {
                        self.done.refused.push((taken.id, error));
                    }
                }
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    fn count(&mut self, is_duplicate: bool) {
        if is_duplicate {
            self.done.duplicates += 1;
        } else {
            self.done.carried += 1;
        }
    }

    fn job(&self, taken: &Taken) -> Result<NewJob> {
        let mut headers = Headers::default();
        headers.set(FROM_HEADER, &printable(&self.from.to_string()))?;
        let id = if let Ok(id) = JobId::new(&taken.id) {
            id
        } else {
            headers.set(ID_HEADER, &printable(&taken.id))?;
            origin::substitute(&taken.id)
        };
        Ok(NewJob::new(taken.data.clone()).id(id).headers(headers))
    }
}

/// Whether the queue will never take it.
fn is_refusal(error: &Error) -> bool {
    !error.is_transient() && !error.is_unknown() && error.kind() == ErrorKind::Invalid
}

/// An id as a header can hold it.
fn printable(id: &str) -> String {
    id.escape_default().take(256).collect()
}
