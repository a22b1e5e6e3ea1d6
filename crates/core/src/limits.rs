//! The bounds of everything: what a request may ask for and what one step may touch.

use std::time::Duration;

use crate::claim::ClaimRequest;
use crate::error::{Error, ErrorKind, Result};
use crate::job::NewJob;
use crate::outcome::Completion;

/// How much housekeeping of each sort (promote, reap, expire, prune) one step does at most.
pub const PAGE: usize = 100;

/// How many jobs one claim hands out at most, whatever it asked for.
pub const CLAIM_MAX: usize = 100;

/// Ids of claims that one page looks at when it takes back what they still hold: the claim that
/// reaches it is the last, once something was taken.
pub const REAP_LOOK_MAX: usize = 1000;

/// How many jobs one page of a listing, or of a change by filter or payload, looks at.
pub const SCAN_PAGE: usize = 500;

/// The shortest and the longest lease.
pub const LEASE_MIN: Duration = Duration::from_millis(1);
/// The longest lease: a day.
pub const LEASE_MAX: Duration = Duration::from_secs(24 * 60 * 60);
/// The lease when nobody said how long.
pub const LEASE_DEFAULT: Duration = Duration::from_secs(30);

/// How long a finished claim is remembered, so that a repeated answer is told the same.
pub const CLAIM_TOMBSTONE: Duration = Duration::from_secs(60);

/// How many expiries make a job a suspect.
pub const SUSPECT_AFTER: u32 = 2;

/// How long a suspect must have run before its worker may take the next.
pub const SUSPECT_TRUST: Duration = Duration::from_secs(10);

/// How long a worker may be silent before its next heartbeat is told `lost`.
pub const WORKER_SILENCE_MAX: Duration = Duration::from_secs(60);

/// How long a silent worker stays on record, so that a peer may still fail it.
pub const WORKER_FORGET_AFTER: Duration = Duration::from_secs(24 * 60 * 60);

/// The furthest a due time, an expiry or a timeout may lie ahead: a hundred years.
pub const AHEAD_MAX: Duration = Duration::from_secs(100 * 365 * 24 * 60 * 60);

/// The largest number every engine and language counts exactly: 2^53.
pub const NUMBER_MAX: u64 = 1 << 53;

/// The most bytes of an error or progress message that are kept.
pub const MESSAGE_BYTES_MAX: usize = 8 * 1024;

/// The sizes a store takes; each store may be opened with others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// The most bytes of one payload, and of one result.
    pub payload_bytes_max: usize,
    /// The most bytes of all payloads and headers in one call.
    pub batch_bytes_max: usize,
    /// The most jobs in one call.
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
    /// Checks one job to be enqueued.
    pub fn check_job(&self, job: &NewJob) -> Result<()> {
        job.retry.check()?;
        for (part, due) in [("due time", Some(job.due)), ("expiry", job.expires)] {
            if let Some(due) = due {
                due.check(part)?;
            }
        }
        if job.timeout.is_some_and(|timeout| timeout > AHEAD_MAX) {
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
        self.check_bytes("payload", job.payload.len())
    }

    /// Checks a batch of jobs to be enqueued.
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

    /// Checks what is to be completed, and the claim that may come with it.
    pub fn check_completions(
        &self,
        completions: &[Completion],
        next: Option<&ClaimRequest>,
    ) -> Result<()> {
        completions.iter().try_for_each(|item| item.check(self))?;
        next.map_or(Ok(()), ClaimRequest::check)
    }

    /// Checks the size of a payload or a result.
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

/// Checks the length of a lease.
pub fn check_lease(lease: Duration) -> Result<()> {
    if (LEASE_MIN..=LEASE_MAX).contains(&lease) {
        Ok(())
    } else {
        Err(Error::invalid(
            "lease",
            format!("{lease:?} is out of range"),
            "use 1ms to 24h",
        ))
    }
}

/// Cuts a message to what is kept, at a character boundary.
pub fn cut_message(message: &str) -> &str {
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
