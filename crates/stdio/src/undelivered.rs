//! Claims whose reply reached nobody: their jobs go back now, not when the lease ends.

use serde::Deserialize;
use serde_json::value::RawValue;
use windlass_core::{JobId, JobLease, OutcomeStatus, QueueName, Result, Store, Token};

/// How often a release without an answer is repeated.
const REPEATS_MAX: u32 = 3;

/// Jobs that somebody was about to be told of.
#[derive(Debug)]
pub(crate) struct Claimed {
    pub(crate) queue: QueueName,
    pub(crate) holds: Vec<JobLease>,
}

/// A claimed job as replies show it.
#[derive(Deserialize)]
struct Shown {
    id: String,
    queue: String,
    token: String,
}

#[derive(Deserialize)]
struct ShownNext {
    claimed: Vec<Shown>,
}

impl Claimed {
    /// The jobs that a reply to `op` hands out.
    pub(crate) fn of(op: &str, reply: &RawValue) -> Option<Self> {
        let shown: Vec<Shown> = match op {
            "claim" => serde_json::from_str(reply.get()).ok()?,
            "complete" => serde_json::from_str::<ShownNext>(reply.get()).ok()?.claimed,
            _ => return None,
        };
        let queue = QueueName::new(&shown.first()?.queue).ok()?;
        let hold = |job: &Shown| {
            let token: Token = job.token.parse().ok()?;
            Some(JobLease::new(JobId::new(&job.id).ok()?, token))
        };
        let holds = shown.iter().filter_map(hold).collect();
        Some(Self { queue, holds })
    }
}

/// What became of a job that nobody was told of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Returned {
    /// It is back at the front of its queue.
    Back(JobId),
    /// It was done when it was handed out (claimed at most once): it is lost.
    Lost(JobId),
    /// The store did not answer: it comes back when its lease ends.
    Later(JobId),
}

/// Gives the jobs of claims back, the newest claim first so that they end up in their order.
pub(crate) async fn give_back(store: &dyn Store, claims: Vec<Claimed>) -> Vec<Returned> {
    let mut returned = Vec::new();
    for claim in claims.into_iter().rev() {
        let answers = release(store, &claim).await;
        for (at, hold) in claim.holds.into_iter().enumerate() {
            returned.push(match &answers {
                Err(_) => Returned::Later(hold.id),
                Ok(settled) if settled.get(at) == Some(&OutcomeStatus::Gone) => {
                    Returned::Lost(hold.id)
                }
                Ok(_) => Returned::Back(hold.id),
            });
        }
    }
    returned
}

/// Releases, and repeats what got no answer: the token makes that safe.
async fn release(store: &dyn Store, claim: &Claimed) -> Result<Vec<OutcomeStatus>> {
    let mut repeats = 0;
    loop {
        match store.release(&claim.queue, claim.holds.clone()).await {
            Err(error) if error.is_unknown() && repeats < REPEATS_MAX => repeats += 1,
            answer => return answer,
        }
    }
}
