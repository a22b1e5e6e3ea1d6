//! The report of the demo, counted from the accepted ids and not from the store's own stats.

use std::collections::BTreeSet;

use serde::Serialize;
use windlass::{Job, JobId, JobState, QueueName, Store};
use windlass_bench::ended_jobs;

use crate::exit::Result;
use crate::output::Output;

/// The outcome of a run.
#[derive(Debug, Serialize)]
pub(super) struct Report {
    accepted: usize,
    succeeded: usize,
    dead: usize,
    retried: usize,
    rescued: u64,
    pub(super) lost: usize,
    seconds: f64,
    jobs_per_second: f64,
    wait_ms: Percentiles,
}

/// Time from due to started.
#[derive(Debug, Serialize)]
struct Percentiles {
    p50: u64,
    p99: u64,
}

impl Report {
    /// Looks up every accepted id among the ended jobs.
    pub(super) async fn collect(
        store: &dyn Store,
        queue: &QueueName,
        accepted: &BTreeSet<JobId>,
        seconds: f64,
    ) -> Result<Self> {
        let ended = ended_jobs(store, queue).await?;
        let count = |state| {
            let is_state = |id: &&JobId| ended.get(*id).is_some_and(|job| job.state == state);
            accepted.iter().filter(is_state).count()
        };
        let (succeeded, dead) = (count(JobState::Succeeded), count(JobState::Dead));
        let stats = store.stats(queue).await?.unwrap_or_default();
        let mut waits: Vec<u64> = ended.values().filter_map(wait_ms).collect();
        waits.sort_unstable();
        #[expect(clippy::cast_precision_loss, reason = "a rate for people to read")]
        let jobs_per_second = (accepted.len() as f64 / seconds.max(0.001)).round();
        Ok(Self {
            accepted: accepted.len(),
            succeeded,
            dead,
            retried: ended.values().filter(|job| job.attempt > 1).count(),
            rescued: stats.total.rescued,
            lost: accepted.len() - succeeded - dead,
            seconds: (seconds * 1000.0).round() / 1000.0,
            jobs_per_second,
            wait_ms: Percentiles {
                p50: percentile(&waits, 50),
                p99: percentile(&waits, 99),
            },
        })
    }

    pub(super) fn print(&self, output: &mut Output) {
        let text = |number: &dyn ToString| Some(number.to_string());
        output.fields(vec![
            ("accepted", text(&self.accepted)),
            (
                "finished",
                text(&format!("{} succeeded, {} dead", self.succeeded, self.dead)),
            ),
            ("lost", text(&self.lost)),
            ("retried", text(&self.retried)),
            (
                "rescued",
                text(&format!("{} from the killed worker", self.rescued)),
            ),
            (
                "time",
                text(&format!(
                    "{} s, {} jobs/s",
                    self.seconds, self.jobs_per_second
                )),
            ),
            (
                "wait time",
                text(&format!(
                    "p50 {} ms, p99 {} ms",
                    self.wait_ms.p50, self.wait_ms.p99
                )),
            ),
        ]);
        output.note(if self.lost == 0 {
            "No job was lost. Next: windlass enqueue mail hello; windlass claim mail; windlass --help"
        } else {
            "Jobs were lost. This is a bug in Windlass; report it with this output"
        });
    }
}

fn wait_ms(job: &Job) -> Option<u64> {
    let waited = job.started_at?.since(job.due_at);
    u64::try_from(waited.as_millis()).ok()
}

fn percentile(sorted: &[u64], percent: usize) -> u64 {
    let index = (sorted.len() * percent / 100).min(sorted.len().saturating_sub(1));
    sorted.get(index).copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_come_from_the_sorted_list() {
        let list: Vec<u64> = (1..=100).collect();
        assert_eq!((percentile(&list, 50), percentile(&list, 99)), (51, 100));
        assert_eq!(percentile(&[], 99), 0);
    }
}
