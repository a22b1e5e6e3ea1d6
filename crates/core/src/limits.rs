//! Limits: what a request may contain and how much one transaction may change.

use std::time::Duration;

use crate::claim::ClaimRequest;
use crate::error::{Error, ErrorKind, Result};
use crate::job::NewJob;
use crate::outcome::Completion;
use crate::time::{Timestamp, as_ms};

/// The maximum number of jobs that one transaction promotes, reaps, expires or prunes.
pub const PAGE: usize = 100;

/// The maximum number of jobs per claim, whatever `max` it asks for.
pub const CLAIM_MAX: usize = 100;

/// The maximum total size of the payloads of a claim. A claim ends before the job that would exceed it,
/// unless that is its first job.
pub const CLAIM_BYTES_MAX: usize = 4 * 1024 * 1024;

/// The maximum number of job ids that one page of reaping scans: it stops after the claim that
/// reaches this limit, if it has reaped at least one job.
pub const REAP_SCAN_MAX: usize = 1000;

/// The number of jobs that one page of a listing, or of a change by filter or payload, scans.
pub const SCAN_PAGE: usize = 500;

/// The number of jobs that one call of a search examines: a listing or a change whose filter does not match every job
/// of its state.
pub const SEARCH_JOBS_MAX: usize = 1000;
/// The total size of payloads after which one call of a search ends.
pub const SEARCH_BYTES_MAX: usize = 4 * 1024 * 1024;

/// The maximum number of groups that one claim examines.
pub const GROUPS_PER_CLAIM: usize = 200;

/// The shortest lease.
pub const LEASE_MIN: Duration = Duration::from_millis(1);
/// The longest lease: 24 hours.
pub const LEASE_MAX: Duration = Duration::from_secs(24 * 60 * 60);
/// The default lease.
pub const LEASE_DEFAULT: Duration = Duration::from_secs(30);

/// How long a finished claim is remembered, so that repeated outcomes get the same reply.
pub const CLAIM_TOMBSTONE: Duration = Duration::from_secs(60);

/// How long the id of an enqueue that replaced or postponed a job is remembered, so that a repeated call
/// gets the same reply.
pub const AMENDMENT_TOMBSTONE: Duration = CLAIM_TOMBSTONE;

/// Claims that finished before this time are removed. A whole second: claims are removed many at once.
pub fn claims_removed_before(now: Timestamp) -> Timestamp {
    let second = now.as_ms() - now.as_ms() % 1000;
    Timestamp::from_ms(second.saturating_sub(as_ms(CLAIM_TOMBSTONE)))
}

/// The number of expired leases that makes a job a suspect.
pub const SUSPECT_AFTER: u32 = 2;

/// How long a suspect must have run before its worker may claim another suspect.
pub const SUSPECT_COOLDOWN: Duration = Duration::from_secs(10);

/// The maximum number of schedules in a queue, or in one partition of it.
pub const SCHEDULES_MAX: usize = 10_000;
/// The maximum size of a payload in a schedule.
pub const SCHEDULE_PAYLOAD_MAX: usize = 64 * 1024;
/// The maximum number of future instants that a store keeps per schedule.
pub const INSTANTS_MAX: usize = 64;
/// A schedule with fewer instants than this is refilled, unless it is known far enough ahead.
pub const INSTANTS_LOW: usize = 32;
/// How far ahead instants are computed.
pub const INSTANTS_AHEAD: Duration = Duration::from_secs(32 * 24 * 60 * 60);
/// A schedule that is known this far ahead needs no refill.
pub const INSTANTS_AHEAD_LOW: Duration = Duration::from_secs(16 * 24 * 60 * 60);
/// A due instant up to this old always fires; an older one is missed.
pub const FRESH_FOR: Duration = Duration::from_secs(60);
/// The maximum number of missed instants of a schedule that fire later.
pub const CAUGHT_UP_MAX: usize = 32;
/// The maximum number of past instants in a refill: those that may fire later, and one per second of
/// [`FRESH_FOR`].
pub const PAST_MAX: usize = 96;
/// The longest jitter of a schedule.
pub const SCHEDULE_JITTER_MAX: Duration = Duration::from_secs(24 * 60 * 60);
/// The number of occurrences in the history of a schedule.
pub const HISTORY_MAX: usize = 20;

/// How often a worker sends a heartbeat.
pub const HEARTBEAT_EVERY: Duration = Duration::from_secs(2);

/// A worker without a heartbeat for this long has missed three, and the next is overdue.
pub const WORKER_LATE_AFTER: Duration = Duration::from_secs(8);

/// How long a worker may go without a heartbeat before the next one returns `reregister`.
pub const WORKER_SILENCE_MAX: Duration = Duration::from_secs(60);

/// How long the record of a silent worker is kept, so that another process can still fail it.
pub const WORKER_FORGET_AFTER: Duration = Duration::from_secs(24 * 60 * 60);

/// The longest delay, expiry or timeout: 100 years.
pub const FUTURE_MAX: Duration = Duration::from_secs(100 * 365 * 24 * 60 * 60);

/// The largest integer that every store and JSON parser represents exactly: 2^53.
pub const NUMBER_MAX: u64 = 1 << 53;

/// Error and progress messages are truncated to this many bytes.
pub const MESSAGE_BYTES_MAX: usize = 8 * 1024;

/// The number of attempts on record per job.
pub const ATTEMPTS_MAX: usize = 10;

/// The errors of attempts on record, and the example of an error group, are truncated to this many bytes.
pub const ATTEMPT_ERROR_BYTES_MAX: usize = 1024;

/// The maximum number of error groups in a queue, or in one partition of it.
pub const ERROR_GROUPS_MAX: usize = 200;

/// The size limits of a store. They can be changed when a store is opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// The maximum size of one payload or result (default: 1 MiB).
    pub payload_bytes_max: usize,
    /// The maximum total size of payloads and headers in one call (default: 16 MiB).
    pub batch_bytes_max: usize,
    /// The maximum number of jobs in one call (default: 10000).
    pub batch_jobs_max: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            payload_bytes_max: 1024 * 1024,
            batch_bytes_max: 16 * 1024 * 1024,
            batch_jobs_max: 10_000,
        }
    }
}

impl Limits {
    /// Checks one new job.
    pub fn check_job(&self, job: &NewJob) -> Result<()> {
        job.retry.check()?;
        for (part, due) in [("due time", Some(job.due)), ("expiry", job.expires)] {
            if let Some(due) = due {
                due.check(part)?;
            }
        }
        if job.timeout.is_some_and(|timeout| timeout > FUTURE_MAX) {
            return Err(Error::invalid(
                "timeout",
                "longer than 100 years",
                "use a shorter timeout, or omit it for no limit",
            ));
        }
        if job.timeout.is_some_and(|timeout| timeout.is_zero()) {
            return Err(Error::invalid(
                "timeout",
                "0s would end every attempt before it starts",
                "use at least 1ms, or omit it for no limit",
            ));
        }
        job.check_deduplication()?;
        self.check_bytes("payload", job.payload.len())
    }

    /// Checks a batch of new jobs.
    pub fn check_batch(&self, jobs: &[NewJob]) -> Result<()> {
        let help = "send smaller batches";
        if jobs.len() > self.batch_jobs_max {
            let why = format!(
                "{} jobs is too many; maximum {}",
                jobs.len(),
                self.batch_jobs_max
            );
            return Err(Error::invalid("batch", why, help));
        }
        let mut bytes = 0;
        for job in jobs {
            self.check_job(job)?;
            bytes += job.payload.len() + job.headers.bytes();
        }
        if bytes > self.batch_bytes_max {
            let why = format!(
                "{bytes} bytes is too large; maximum {}",
                self.batch_bytes_max
            );
            return Err(Error::invalid("batch", why, help));
        }
        Ok(())
    }

    /// Checks completions and the optional claim sent with them.
    pub fn check_completions(
        &self,
        completions: &[Completion],
        next: Option<&ClaimRequest>,
    ) -> Result<()> {
        completions.iter().try_for_each(|item| item.check(self))?;
        next.map_or(Ok(()), ClaimRequest::check)
    }

    /// Checks the size of a payload or result.
    pub fn check_bytes(&self, part: &str, bytes: usize) -> Result<()> {
        if bytes > self.payload_bytes_max {
            return Err(Error::new(
                ErrorKind::Invalid,
                format!(
                    "{part} too large: {bytes} bytes; maximum {}",
                    self.payload_bytes_max
                ),
                "store large data elsewhere and put a reference to it into the job",
            ));
        }
        Ok(())
    }
}

/// Truncates a message to [`MESSAGE_BYTES_MAX`], at a character boundary.
pub fn truncate_message(message: &str) -> &str {
    &message[..message.floor_char_boundary(MESSAGE_BYTES_MAX)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_timeout_of_zero_is_refused_and_the_shortest_is_taken() {
        let check = |timeout| {
            let job = NewJob::new("x").timeout(timeout);
            Limits::default().check_job(&job)
        };

        let refused = check(Duration::ZERO).unwrap_err();

        assert_eq!(refused.kind(), ErrorKind::Invalid);
        assert!(refused.to_string().contains("timeout"), "{refused}");
        assert!(check(Duration::from_millis(1)).is_ok());
    }
}
