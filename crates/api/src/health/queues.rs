//! The queues: jobs that wait too long or have no worker, dead jobs, and queues too large for their
//! partitions.

use std::time::Duration;

use windlass_core::store::{Partitions, Settings, Stats, WorkerRecord};
use windlass_core::{QueueName, Result, Store, duration};

use super::{Check, schedules};

/// If a job waits longer than this although there are workers, there are too few.
const WAIT_MAX: Duration = Duration::from_secs(60 * 60);

/// Largest number of bytes for one partition of a queue in Redis.
const PARTITION_BYTES_MAX: u64 = 1024 * 1024 * 1024;

/// From this number on, stale entries are worth a warning: each takes memory, and a claim drops those
/// before the next job first.
const STALE_ENTRIES_MAX: u64 = 100_000;

/// Checks every queue.
pub(super) async fn examine(
    store: &dyn Store,
    workers: &[WorkerRecord],
    is_redis: bool,
    checks: &mut Vec<Check>,
) -> Result<()> {
    let queues = store.queues().await?;
    checks.push(Check::ok("queues", format!("{} found", queues.len())));
    for queue in &queues {
        let Some(stats) = store.stats(queue).await? else {
            continue;
        };
        let mut found = examine_one(queue, &stats, workers);
        if is_redis {
            found.extend(size(queue, &stats, &store.settings(queue).await?));
        }
        if stats.schedules > 0 {
            found.extend(
                schedules::examine(store, queue, &stats, has_worker(queue, workers)).await?,
            );
        }
        if found.is_empty() {
            let message = format!(
                "{} ready, {} scheduled, {} running",
                stats.ready, stats.scheduled, stats.running
            );
            found.push(Check::ok(format!("queue {queue}"), message));
        }
        for check in &mut found {
            check.queue = Some(queue.clone());
        }
        checks.append(&mut found);
    }
    Ok(())
}

/// A partition is a few large keys in one slot: one server, one core.
fn size(queue: &QueueName, stats: &Stats, settings: &Settings) -> Option<Check> {
    let partitions = match settings.partitions {
        Partitions::Fixed(count) => u64::from(count),
        // The number of partitions grows automatically.
        Partitions::Auto => return None,
    };
    let jobs = stats.jobs();
    if jobs <= settings.partition_at.saturating_mul(partitions)
        && stats.bytes <= PARTITION_BYTES_MAX.saturating_mul(partitions)
    {
        return None;
    }
    let noun = if partitions == 1 {
        "partition"
    } else {
        "partitions"
    };
    Some(Check::warn(
        format!("queue {queue}"),
        format!(
            "{jobs} jobs ({} bytes) are too much for {partitions} {noun}; a partition lives on one server",
            stats.bytes
        ),
        format!(
            "add partitions with `windlass queue set {queue} partitions=auto`, or keep fewer finished jobs \
             with `windlass queue set {queue} succeeded_count=N dead_count=N`"
        ),
    ))
}

fn has_worker(queue: &QueueName, workers: &[WorkerRecord]) -> bool {
    let mut live = workers.iter().filter(|worker| !worker.is_silent());
    live.any(|worker| worker.new.queues.contains(queue))
}

fn examine_one(queue: &QueueName, stats: &Stats, workers: &[WorkerRecord]) -> Vec<Check> {
    let name = format!("queue {queue}");
    let warn = |message: String, fix: String| Check::warn(&name, message, fix);
    let mut checks = Vec::new();
    if stats.is_paused {
        let message = format!("paused, {} jobs ready", stats.ready);
        checks.push(warn(
            message,
            format!("resume it with `windlass queue resume {queue}`"),
        ));
    }
    let has_worker = has_worker(queue, workers);
    if stats.ready > 0 && !has_worker && !stats.is_paused {
        let message = format!(
            "{} jobs ready, but no worker claims from this queue",
            stats.ready
        );
        checks.push(warn(
            message,
            format!("start a worker, for example `windlass exec {queue} CMD`"),
        ));
    }
    let is_stopped = stats.is_paused || stats.resting_ms.is_some();
    let oldest = stats.oldest_ms.map(Duration::from_millis);
    if let Some(age) = oldest.filter(|age| *age > WAIT_MAX && has_worker && !is_stopped) {
        let waited = duration::format(Duration::from_secs(age.as_secs()));
        let message = format!("the oldest job has waited {waited}; workers do not keep up");
        let fix = "start more workers, or run more jobs at once per worker with -j";
        checks.push(warn(message, fix.to_owned()));
    }
    if stats.dead > 0 {
        let noun = if stats.dead == 1 { "job" } else { "jobs" };
        let message = format!("{} dead {noun}", stats.dead);
        let fix = format!(
            "list them with `windlass job list {queue} --state dead`, \
             then retry them with `windlass job retry {queue} --all`"
        );
        checks.push(warn(message, fix));
    }
    if stats.stale_entries >= STALE_ENTRIES_MAX {
        let message = format!(
            "{} stale entries of jobs that were cancelled, expired or deleted",
            stats.stale_entries
        );
        checks.push(warn(
            message,
            format!(
                "run `windlass maintain {queue}`; claims drop those between ready jobs as they reach them"
            ),
        ));
    }
    checks
}

#[cfg(test)]
mod tests {
    use super::super::{CheckStatus as Status, sample};
    use super::*;

    fn mail() -> QueueName {
        QueueName::new("mail").unwrap()
    }

    fn statuses(stats: &Stats) -> Vec<Status> {
        statuses_with(stats, &[])
    }

    fn statuses_with(stats: &Stats, workers: &[WorkerRecord]) -> Vec<Status> {
        examine_one(&mail(), stats, workers)
            .iter()
            .map(|check| check.status)
            .collect()
    }

    fn worker(is_silent: bool) -> WorkerRecord {
        let mut worker = sample::worker("w-1");
        worker.new.queues.push(mail());
        worker.silent_for = Duration::from_secs(if is_silent { 60 } else { 0 });
        worker
    }

    #[test]
    fn a_silent_worker_does_not_count_as_a_worker() {
        let stats = Stats {
            ready: 1,
            ..Stats::default()
        };

        assert_eq!(statuses_with(&stats, &[worker(false)]), []);
        assert_eq!(statuses_with(&stats, &[worker(true)]), [Status::Warn]);
    }

    #[test]
    fn ready_jobs_without_a_worker_are_a_warning() {
        assert_eq!(statuses(&Stats::default()), []);
        assert_eq!(
            statuses(&Stats {
                ready: 1,
                ..Stats::default()
            }),
            [Status::Warn]
        );
        assert_eq!(
            statuses(&Stats {
                is_paused: true,
                ready: 1,
                dead: 1,
                ..Stats::default()
            }),
            [Status::Warn, Status::Warn]
        );
    }

    #[test]
    fn a_job_that_waits_too_long_despite_workers_is_a_warning() {
        let waiting = |ms| Stats {
            ready: 1,
            oldest_ms: Some(ms),
            ..Stats::default()
        };
        assert_eq!(statuses_with(&waiting(3_600_000), &[worker(false)]), []);
        let late = statuses_with(&waiting(3_600_001), &[worker(false)]);
        assert_eq!(late, [Status::Warn]);
        let resting = Stats {
            resting_ms: Some(1),
            ..waiting(3_600_001)
        };
        assert_eq!(statuses_with(&resting, &[worker(false)]), []);
    }

    #[test]
    fn many_stale_entries_are_a_warning() {
        let stale = |stale_entries| Stats {
            stale_entries,
            ..Stats::default()
        };
        assert_eq!(statuses(&stale(99_999)), []);
        assert_eq!(statuses(&stale(100_000)), [Status::Warn]);
    }

    #[test]
    fn a_queue_too_large_for_its_partitions_is_a_warning() {
        let stats = |ready, bytes| Stats {
            ready,
            bytes,
            ..Stats::default()
        };
        let mut settings = Settings::default();
        let large = |stats, settings: &Settings| size(&mail(), &stats, settings).is_some();
        assert!(!large(stats(1_000_000, 1 << 30), &settings));
        assert!(large(stats(1_000_001, 0), &settings));
        assert!(large(stats(0, (1 << 30) + 1), &settings));
        settings.partition_at = 2_000_000;
        assert!(!large(stats(1_000_001, 0), &settings));
        settings.partition_at = 1_000_000;
        settings.partitions = Partitions::Fixed(2);
        assert!(!large(stats(1_000_001, 0), &settings));
        settings.partitions = Partitions::Auto;
        assert!(!large(stats(9_000_001, 0), &settings));
    }
}
