//! How much load a run makes; every part has a default that suits a small machine.

use std::time::Duration;

use windlass::store::Limits;
use windlass::{Error, Result};

/// The least payload: some scenarios write a number into it.
const PAYLOAD_MIN: usize = 8;

/// The most rounds.
const ROUNDS_MAX: usize = 1_000;

/// How much load a run makes.
#[derive(Debug, Clone)]
pub struct Plan {
    /// How many jobs; each scenario has a number of its own unless said.
    pub jobs: Option<u64>,
    /// Bytes of one payload.
    pub payload: usize,
    /// Producers that enqueue in bulk at once.
    pub producers: usize,
    /// Jobs of one call in bulk.
    pub batch: usize,
    /// Jobs that a worker runs at once.
    pub concurrency: usize,
    /// How often each figure is taken.
    pub rounds: usize,
    /// Jobs a second of a paced run; half of what a worker was measured to do unless said.
    pub rate: Option<f64>,
    /// Within how long delayed jobs fall due.
    pub within: Duration,
    /// How many jobs wait while the cost of one is taken; the first is what others are compared to.
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
    /// Checks that it can be carried out.
    pub fn check(&self) -> Result<()> {
        let limits = Limits::default();
        let bad = |part: &str, why: String, help: String| Err(Error::invalid(part, why, help));
        if !(PAYLOAD_MIN..=limits.payload_bytes_max).contains(&self.payload) {
            return bad(
                "payload",
                format!("it has {} bytes", self.payload),
                format!("choose {PAYLOAD_MIN} to {} bytes", limits.payload_bytes_max),
            );
        }
        let batch_max = limits
            .batch_jobs_max
            .min(limits.batch_bytes_max / self.payload);
        if !(1..=batch_max).contains(&self.batch) {
            return bad(
                "batch",
                format!("it has {} jobs of {} bytes", self.batch, self.payload),
                format!("choose 1 to {batch_max} jobs of that size"),
            );
        }
        if self.backlog.is_empty() || self.backlog.contains(&0) {
            return bad(
                "backlog",
                "it names no size, or 0".to_owned(),
                "name sizes such as 1000,1000000".to_owned(),
            );
        }
        if !(1..=ROUNDS_MAX).contains(&self.rounds) {
            return bad(
                "number of rounds",
                format!("it is {}", self.rounds),
                format!("choose 1 to {ROUNDS_MAX}"),
            );
        }
        Ok(())
    }

    /// How many jobs, where a scenario has a number of its own.
    pub(crate) fn jobs_or(&self, usual: u64) -> u64 {
        self.jobs.unwrap_or(usual)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plan_that_no_store_takes_is_refused_with_what_it_would_take() {
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
        let nowhere = Plan {
            backlog: vec![],
            ..Plan::default()
        };
        assert!(nowhere.check().is_err());
    }
}
