//! The load of a run; all defaults suit a small machine.

use std::time::Duration;

use windlass::store::Limits;
use windlass::{Error, Result};

/// Minimum payload size: some scenarios write a number into it.
const PAYLOAD_MIN: usize = 8;

/// Maximum number of rounds.
const ROUNDS_MAX: usize = 1_000;

/// The load of a run.
#[derive(Debug, Clone)]
pub struct Plan {
    /// Number of jobs (default: depends on the scenario).
    pub jobs: Option<u64>,
    /// Payload size in bytes.
    pub payload: usize,
    /// Concurrent producers of bulk enqueues.
    pub producers: usize,
    /// Jobs per bulk call.
    pub batch: usize,
    /// Jobs that a worker runs concurrently.
    pub concurrency: usize,
    /// Number of rounds.
    pub rounds: usize,
    /// Jobs per second of a paced run (default: half the measured throughput of a worker).
    pub rate: Option<f64>,
    /// The time span in which delayed jobs are due.
    pub within: Duration,
    /// Backlog sizes at which the cost per job is measured; the first is the baseline.
    pub backlog: Vec<u64>,
}

impl Default for Plan {
    fn default() -> Self {
        Self {
            jobs: None,
            payload: 100,
            producers: 4,
            batch: 100,
            concurrency: 200,
            rounds: 3,
            rate: None,
            within: Duration::from_secs(5),
            backlog: vec![1_000, 100_000],
        }
    }
}

impl Plan {
    /// Validates the plan.
    pub fn check(&self) -> Result<()> {
        let limits = Limits::default();
        let bad = |part: &str, why: String, help: String| Err(Error::invalid(part, why, help));
        if !(PAYLOAD_MIN..=limits.payload_bytes_max).contains(&self.payload) {
            return bad(
                "payload",
                format!("{} bytes", self.payload),
                format!("use {PAYLOAD_MIN} to {} bytes", limits.payload_bytes_max),
            );
        }
        let batch_max = limits
            .batch_jobs_max
            .min(limits.batch_bytes_max / self.payload);
        if !(1..=batch_max).contains(&self.batch) {
            return bad(
                "batch",
                format!("{} jobs of {} bytes", self.batch, self.payload),
                format!("use 1 to {batch_max} jobs of that size"),
            );
        }
        if self.backlog.is_empty() || self.backlog.contains(&0) {
            return bad(
                "backlog",
                "sizes must be at least 1".to_owned(),
                "use sizes such as 1000,1000000".to_owned(),
            );
        }
        if !(1..=ROUNDS_MAX).contains(&self.rounds) {
            return bad(
                "number of rounds",
                self.rounds.to_string(),
                format!("use 1 to {ROUNDS_MAX}"),
            );
        }
        Ok(())
    }

    /// The number of jobs, or the default of the scenario.
    pub(crate) fn jobs_or(&self, default: u64) -> u64 {
        self.jobs.unwrap_or(default)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_invalid_plan_is_refused_with_the_allowed_range() {
        Plan::default().check().unwrap();
        let large = Plan {
            payload: 1_000_000,
            ..Plan::default()
        };
        let error = large.check().unwrap_err();
        assert!(error.help().contains("1 to 16 jobs"), "{}", error.help());
        let tiny = Plan {
            payload: 7,
            ..Plan::default()
        };
        assert!(tiny.check().is_err());
        let no_backlog = Plan {
            backlog: vec![],
            ..Plan::default()
        };
        assert!(no_backlog.check().is_err());
    }
}
