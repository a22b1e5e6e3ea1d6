//! Claims, and the renewal of their leases.

use std::time::Duration;

use bytes::Bytes;

use crate::error::{Error, Result};
use crate::headers::Headers;
use crate::job::Job;
use crate::limits::{LEASE_DEFAULT, LEASE_MAX, LEASE_MIN, NUMBER_MAX};
use crate::name::{BootId, GroupName, JobId, Kind, random};
use crate::priority::Priority;
use crate::retry::RetryPolicy;
use crate::time::Timestamp;
use crate::token::Token;

/// Who claims the jobs, which decides the lease they belong to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Claimer {
    /// A worker. All its claims on a queue share one lease, and a claim can be repeated.
    Worker {
        /// The boot id of the worker.
        boot: BootId,
        /// Increases with every claim of this boot. The same number repeats the same claim.
        seq: u64,
    },
    /// A single claim with a separate lease, as made by the HTTP API and the CLI.
    Single {
        /// The worker that will run the jobs, if known.
        worker: Option<BootId>,
    },
}

impl Claimer {
    /// Returns the owner of the lease for a claim with this token.
    pub fn owner(&self, token: Token) -> Owner {
        match self {
            Self::Worker { boot, .. } => Owner::boot(boot),
            Self::Single { .. } => Owner::token(token),
        }
    }

    /// Returns the sequence number of the claim, or 0 for a single claim.
    pub const fn seq(&self) -> u64 {
        match self {
            Self::Worker { seq, .. } => *seq,
            Self::Single { .. } => 0,
        }
    }

    /// Returns the worker that will run the jobs, if known.
    pub const fn worker(&self) -> Option<&BootId> {
        match self {
            Self::Worker { boot, .. } => Some(boot),
            Self::Single { worker } => worker.as_ref(),
        }
    }
}

/// The owner of a lease: a boot (`b:…`) or a single claim (`t:…`). Ordered by its text.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Owner(String);

impl Owner {
    /// Returns the owner for a worker.
    pub fn boot(boot: &BootId) -> Self {
        Self(format!("b:{boot}"))
    }

    /// Returns the owner for a single claim.
    pub fn token(token: Token) -> Self {
        Self(format!("t:{token}"))
    }

    /// Creates an owner from its stored text.
    pub fn from_stored(text: String) -> Self {
        Self(text)
    }

    /// Returns the owner as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// The delivery guarantee of a claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Mode {
    /// The jobs are leased until an outcome is reported or the lease expires.
    #[default]
    AtLeastOnce,
    /// The jobs are marked as succeeded when they are claimed. If the reply is lost, so are the jobs.
    AtMostOnce,
    /// One job is offered. It returns to the queue unless it is accepted before the lease ends.
    Dispatch,
}

/// How long a lease lasts unless it is renewed: 1ms to 24h (default: 30s).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct LeaseTime(Duration);

impl LeaseTime {
    /// The longest: 24 hours.
    pub const MAX: Self = Self(LEASE_MAX);

    /// Creates a lease time; fails if it is out of range.
    pub fn new(time: Duration) -> Result<Self> {
        if (LEASE_MIN..=LEASE_MAX).contains(&time) {
            Ok(Self(time))
        } else {
            Err(Error::invalid(
                "lease",
                format!("{} is out of range", crate::duration::format(time)),
                "use 1ms to 24h",
            ))
        }
    }

    /// Creates the lease time nearest to `time`, for constants.
    pub const fn nearest(time: Duration) -> Self {
        let ms = time.as_millis();
        if ms < LEASE_MIN.as_millis() {
            Self(LEASE_MIN)
        } else if ms >= LEASE_MAX.as_millis() {
            Self(LEASE_MAX)
        } else {
            Self(time)
        }
    }

    /// Returns the lease time as a duration.
    pub const fn get(self) -> Duration {
        self.0
    }
}

impl Default for LeaseTime {
    fn default() -> Self {
        Self(LEASE_DEFAULT)
    }
}

/// A request to claim jobs from a queue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClaimRequest {
    /// Who claims.
    pub claimer: Claimer,
    /// The random part of the token.
    pub nonce: u32,
    /// The maximum number of jobs. A claim also ends at [`CLAIM_BYTES_MAX`] of payload.
    ///
    /// [`CLAIM_BYTES_MAX`]: crate::limits::CLAIM_BYTES_MAX
    pub max: usize,
    /// The lease (default: 30s).
    pub lease: LeaseTime,
    /// The delivery guarantee (default: at least once).
    pub mode: Mode,
}

impl ClaimRequest {
    /// Creates a claim by a worker, with its boot id and the sequence number of this claim.
    pub fn worker(boot: BootId, seq: u64, max: usize) -> Self {
        Self::new(Claimer::Worker { boot, seq }, max)
    }

    /// Creates a single claim with a separate lease.
    pub fn single(max: usize) -> Self {
        Self::new(Claimer::Single { worker: None }, max)
    }

    fn new(claimer: Claimer, max: usize) -> Self {
        Self {
            claimer,
            nonce: (random() >> 32) as u32,
            max,
            lease: LeaseTime::default(),
            mode: Mode::AtLeastOnce,
        }
    }

    /// Sets the lease (default: 30s).
    #[must_use]
    pub fn lease(mut self, lease: LeaseTime) -> Self {
        self.lease = lease;
        self
    }

    /// Sets the delivery guarantee.
    #[must_use]
    pub fn mode(mut self, mode: Mode) -> Self {
        self.mode = mode;
        self
    }

    /// Checks the number of jobs, and that a dispatch claims exactly one job.
    pub fn check(&self) -> Result<()> {
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

/// The jobs of one claim.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claim {
    /// The token, required by every call about these jobs.
    pub token: Token,
    /// When the lease expires unless renewed.
    pub until: Timestamp,
    /// The jobs, in the order they should run.
    pub jobs: Vec<ClaimedJob>,
}

/// A claimed job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClaimedJob {
    /// The id.
    pub id: JobId,
    /// The kind.
    pub kind: Option<Kind>,
    /// The payload.
    pub payload: Bytes,
    /// The headers.
    pub headers: Headers,
    /// The priority, from 0 (first) to 9 (last).
    pub priority: Priority,
    /// The group, whose jobs share limits.
    pub group: Option<GroupName>,
    /// The number of this attempt, starting at 1.
    pub attempt: u32,
    /// How often a lease on this job expired.
    pub expiries: u32,
    /// The retry policy.
    pub retry: RetryPolicy,
    /// The time limit of this attempt.
    pub timeout: Option<Duration>,
    /// When the job was enqueued.
    pub created_at: Timestamp,
    /// When the job became due.
    pub due_at: Timestamp,
}

impl ClaimedJob {
    /// Returns how long the job had been due when it was claimed.
    pub fn waited_until(&self, claimed_at: Timestamp) -> Duration {
        claimed_at.since(self.created_at.max(self.due_at))
    }
}

impl From<Job> for ClaimedJob {
    fn from(job: Job) -> Self {
        Self {
            id: job.id,
            kind: job.kind,
            payload: job.payload.unwrap_or_default(),
            headers: job.headers,
            priority: job.priority,
            group: job.group,
            attempt: job.attempt,
            expiries: job.expiries,
            retry: job.retry,
            timeout: job.timeout,
            created_at: job.created_at,
            due_at: job.due_at,
        }
    }
}

/// A request to renew a lease.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Renewal {
    /// A worker renews the lease of all its claims on the queue.
    Worker {
        /// The boot id of the worker.
        boot: BootId,
        /// The tokens of its open claims.
        tokens: Vec<Token>,
        /// The highest seq whose reply arrived or is no longer awaited. Claims up to it that are
        /// not in `tokens` were lost in transit, and their jobs return to the queue.
        settled: u64,
    },
    /// The holder of one token renews its lease.
    Single {
        /// The token of the claim.
        token: Token,
    },
}

/// The reply to a renewal.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Renewed {
    /// The new end of the lease. `None` if there is no lease.
    pub until: Option<Timestamp>,
    /// Tokens that are no longer valid. Stop their jobs.
    pub lost: Vec<Token>,
    /// `None` if the whole queue was reached. Otherwise the tokens of a worker that were neither
    /// renewed nor found lost: their leases end as they did before.
    pub unreached: Option<Vec<Token>>,
    /// All jobs whose cancellation was requested, ordered by id.
    pub cancel: Vec<JobId>,
}

impl Renewed {
    /// Returns the reply if every token is lost.
    pub fn lost(tokens: &[Token]) -> Self {
        Self {
            lost: tokens.to_vec(),
            ..Self::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorKind;

    #[test]
    fn a_lease_out_of_range_is_rejected() {
        let ms = Duration::from_millis(1);
        for time in [Duration::ZERO, LEASE_MAX + ms] {
            let rejected = LeaseTime::new(time).map_err(|error| error.kind());
            assert_eq!(rejected, Err(ErrorKind::Invalid));
            assert!(LeaseTime::new(LeaseTime::nearest(time).get()).is_ok());
        }
        for time in [LEASE_MIN, LEASE_DEFAULT, LEASE_MAX] {
            assert_eq!(LeaseTime::new(time).unwrap(), LeaseTime::nearest(time));
        }
    }
}
