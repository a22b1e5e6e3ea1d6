//! Handing jobs to workers: claim, and renew what is held.

use std::time::Duration;

use bytes::Bytes;

use crate::error::{Error, Result};
use crate::headers::Headers;
use crate::job::Job;
use crate::limits::{LEASE_DEFAULT, NUMBER_MAX, check_lease};
use crate::name::{BootId, JobId, Kind, chance};
use crate::priority::Priority;
use crate::retry::RetryPolicy;
use crate::time::Timestamp;
use crate::token::Token;

/// Who claims, and so whose lease the jobs come under.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Claimer {
    /// A worker: all its claims in a queue share one lease, and each claim may be repeated.
    Worker {
        /// This life of the worker.
        boot: BootId,
        /// Grows with every claim of this boot; the same number is the same claim.
        seq: u64,
    },
    /// A claim with a lease of its own, as HTTP and the command line make it.
    Single {
        /// For whom, where a name is known.
        worker: Option<BootId>,
    },
}

impl Claimer {
    /// The owner of the lease that a claim with this token comes under.
    pub fn owner(&self, token: Token) -> Owner {
        match self {
            Self::Worker { boot, .. } => Owner::boot(boot),
            Self::Single { .. } => Owner::token(token),
        }
    }

    /// The number of the claim among its boot's; 0 for single claims.
    pub const fn seq(&self) -> u64 {
        match self {
            Self::Worker { seq, .. } => *seq,
            Self::Single { .. } => 0,
        }
    }

    /// Who will run the jobs, where a name is known.
    pub const fn worker(&self) -> Option<&BootId> {
        match self {
            Self::Worker { boot, .. } => Some(boot),
            Self::Single { worker } => worker.as_ref(),
        }
    }
}

/// Whose a lease is: a boot's (`b:…`) or a single claim's (`t:…`). Ordered as its text.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Owner(String);

impl Owner {
    /// The lease of a worker.
    pub fn boot(boot: &BootId) -> Self {
        Self(format!("b:{boot}"))
    }

    /// The lease of a single claim.
    pub fn token(token: Token) -> Self {
        Self(format!("t:{token}"))
    }

    /// The owner a store wrote down as text.
    pub fn from_stored(text: String) -> Self {
        Self(text)
    }

    /// The owner as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// What a claim promises.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Mode {
    /// The jobs are held until they are settled or the lease runs out.
    #[default]
    AtLeastOnce,
    /// The jobs have succeeded when they are handed out; a lost reply loses them.
    AtMostOnce,
    /// One job is offered and must be accepted before the lease ends, or it goes back.
    Dispatch,
}

/// A request for jobs of one queue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClaimRequest {
    /// Who asks.
    pub claimer: Claimer,
    /// The claimer's random part of the token.
    pub nonce: u32,
    /// How many jobs at most.
    pub max: usize,
    /// How long they are held without a renewal.
    pub lease: Duration,
    /// What the claim promises.
    pub mode: Mode,
}

impl ClaimRequest {
    /// A claim by a worker: its boot and the number of this claim.
    pub fn worker(boot: BootId, seq: u64, max: usize) -> Self {
        Self::by(Claimer::Worker { boot, seq }, max)
    }

    /// A claim with a lease of its own.
    pub fn single(max: usize) -> Self {
        Self::by(Claimer::Single { worker: None }, max)
    }

    fn by(claimer: Claimer, max: usize) -> Self {
        Self {
            claimer,
            nonce: (chance() >> 32) as u32,
            max,
            lease: LEASE_DEFAULT,
            mode: Mode::AtLeastOnce,
        }
    }

    /// Sets how long the jobs are held (30 s unless said).
    #[must_use]
    pub fn lease(mut self, lease: Duration) -> Self {
        self.lease = lease;
        self
    }

    /// Sets what the claim promises.
    #[must_use]
    pub fn mode(mut self, mode: Mode) -> Self {
        self.mode = mode;
        self
    }

    /// Checks the request: a lease within bounds, at least one job, a dispatch of one by itself.
    pub fn check(&self) -> Result<()> {
        check_lease(self.lease)?;
        if self.max == 0 {
            return Err(Error::invalid(
                "claim",
                "max is 0; minimum 1",
                "ask for at least 1 job",
            ));
        }
        if self.claimer.seq() > NUMBER_MAX {
            return Err(Error::invalid(
                "claim",
                "sequence number is too large",
                "number the claims of a worker from 1",
            ));
        }
        let is_single = matches!(self.claimer, Claimer::Single { .. });
        if self.mode == Mode::Dispatch && (self.max != 1 || !is_single) {
            return Err(Error::invalid(
                "claim",
                "dispatch mode claims exactly one job, under a separate lease",
                "set max to 1; in Rust, use `ClaimRequest::single(1)`",
            ));
        }
        Ok(())
    }
}

/// What one claim handed out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claim {
    /// To be shown with every write.
    pub token: Token,
    /// When the lease ends unless renewed.
    pub until: Timestamp,
    /// The jobs, in the order they should run.
    pub jobs: Vec<ClaimedJob>,
}

/// A job as a worker gets it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClaimedJob {
    /// Its id within the queue.
    pub id: JobId,
    /// What sort of job it is.
    pub kind: Option<Kind>,
    /// The bytes it was enqueued with.
    pub payload: Bytes,
    /// Small facts beside the payload.
    pub headers: Headers,
    /// 0 first, 9 last.
    pub priority: Priority,
    /// 1 + counted failures.
    pub attempt: u32,
    /// How often its lease ran out before.
    pub expiries: u32,
    /// What happens after a failed attempt.
    pub retry: RetryPolicy,
    /// How long this attempt may take.
    pub timeout: Option<Duration>,
    /// When it was enqueued.
    pub created_at: Timestamp,
    /// When it fell due.
    pub due_at: Timestamp,
}

impl From<Job> for ClaimedJob {
    fn from(job: Job) -> Self {
        Self {
            id: job.id,
            kind: job.kind,
            payload: job.payload.unwrap_or_default(),
            headers: job.headers,
            priority: job.priority,
            attempt: job.attempt,
            expiries: job.expiries,
            retry: job.retry,
            timeout: job.timeout,
            created_at: job.created_at,
            due_at: job.due_at,
        }
    }
}

/// A request to hold on to what was claimed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Renewal {
    /// A worker renews all it holds in the queue.
    Worker {
        /// This life of the worker.
        boot: BootId,
        /// The claims it knows of and has not settled.
        tokens: Vec<Token>,
        /// The highest seq whose claim was answered or given up: claims up to it that are not
        /// listed were lost on the way, and their jobs go back to the front.
        settled: u64,
    },
    /// The holder of one token renews the lease it is under.
    Single {
        /// The claim.
        token: Token,
    },
}

/// What a renewal answered.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Renewed {
    /// The new end of the lease; nothing when no lease is held.
    pub until: Option<Timestamp>,
    /// Tokens that hold nothing any more: stop their jobs.
    pub lost: Vec<Token>,
    /// Jobs that somebody asked to stop, in the order of their ids.
    pub cancel: Vec<JobId>,
}
