//! The queues: whether jobs wait for somebody who is not there, or for too long, and whether a queue
//! is too large for one place.

use std::time::Duration;

use windlass::store::{Partitions, Settings, Stats, WorkerRecord};
use windlass::{QueueName, Store, duration};

use super::{Check, Status};
use crate::exit::Result;

/// A job that waits for so long although somebody works has too few workers.
const WAIT_MAX: Duration = Duration::from_secs(60 * 60);

/// From so many jobs on, or so many bytes, one part of a queue is too much for one server.
const PART_JOBS_MAX: u64 = 1_000_000;
const PART_BYTES_MAX: u64 = 1024 * 1024 * 1024;

/// Looks at every queue.
pub(super) async fn examine(
    store: &dyn Store,
    workers: &[WorkerRecord],
    is_redis: bool,
    checks: &mut Vec<Check>,
) -> Result<()> {
    let queues = store.queues().await?;
    checks.push(Check::ok("queues", format!("{} known", queues.len())));
    for queue in &queues {
        let Some(stats) = store.stats(queue).await? else {
            continue;
        };
        let mut found = examine_one(queue, &stats, workers);
        if is_redis {
            found.extend(size(queue, &stats, &store.settings(queue).await?));
        }
        if found.is_empty() {
            let message = format!(
                "{} ready, {} scheduled, {} running",
                stats.ready, stats.scheduled, stats.running
            );
            found.push(Check::ok(format!("queue {queue}"), message));
        }
        checks.append(&mut found);
    }
    Ok(())
}

/// A part of a queue is a few large keys in one slot: one server, one core.
fn size(queue: &QueueName, stats: &Stats, settings: &Settings) -> Option<Check> {
    let parts = match settings.partitions {
        Partitions::Fixed(parts) => u64::from(parts),
        // It grows by itself.
        Partitions::Auto => return None,
    };
    let jobs = [
        stats.ready,
        stats.scheduled,
        stats.running,
        stats.succeeded,
        stats.dead,
        stats.cancelled,
    ];
    let jobs: u64 = jobs.iter().sum();
    if jobs <= PART_JOBS_MAX.saturating_mul(parts)
        && stats.bytes <= PART_BYTES_MAX.saturating_mul(parts)
    {
        return None;
    }
    let places = if parts == 1 {
        "one partition"
    } else {
        "its partitions"
    };
    Some(Check::new(
        Status::Warn,
        format!("queue {queue}"),
        format!(
            "{jobs} jobs of {} bytes are too much for {places}: each is a few keys on one server",
            stats.bytes
        ),
        format!(
            "spread it with `windlass queue set {queue} partitions=auto`, or keep fewer finished jobs \
             with `windlass queue set {queue} succeeded_count=N dead_count=N`"
        ),
    ))
}

fn examine_one(queue: &QueueName, stats: &Stats, workers: &[WorkerRecord]) -> Vec<Check> {
    let name = format!("queue {queue}");
    let warn = |message: String, fix: String| Check::new(Status::Warn, &name, message, fix);
    let mut checks = Vec::new();
    if stats.is_paused {
        let message = format!("it is paused with {} ready", stats.ready);
        checks.push(warn(
            message,
            format!("go on with `windlass queue resume {queue}`"),
        ));
    }
    let has_worker = workers
        .iter()
        .any(|worker| !worker.is_silent && worker.new.queues.contains(queue));
    if stats.ready > 0 && !has_worker && !stats.is_paused {
        let message = format!("{} ready, and no worker takes them", stats.ready);
        checks.push(warn(
            message,
            format!("start a worker for it, or take one by hand with `windlass claim {queue}`"),
        ));
    }
    let oldest = stats.oldest_ms.map(Duration::from_millis);
    if let Some(age) = oldest.filter(|age| *age > WAIT_MAX && has_worker && !stats.is_paused) {
        let waited = duration::format(Duration::from_secs(age.as_secs()));
        let message = format!("its oldest job waits for {waited}: workers do not keep up");
        let fix = "start more workers for it, or let each run more jobs at once with -j";
        checks.push(warn(message, fix.to_owned()));
    }
    if stats.dead > 0 {
        let message = format!("{} dead", stats.dead);
        let fix = format!(
            "see why with `windlass job list {queue} --state dead`, \
             then run them again with `windlass job retry {queue} --all`"
        );
        checks.push(warn(message, fix));
    }
    checks
}

#[cfg(test)]
mod tests {
    use super::super::sample;
    use super::*;

    fn mail() -> QueueName {
        QueueName::new("mail").unwrap()
    }

    fn statuses(stats: Stats) -> Vec<Status> {
        statuses_with(stats, &[])
    }

    fn statuses_with(stats: Stats, workers: &[WorkerRecord]) -> Vec<Status> {
        examine_one(&mail(), &stats, workers)
            .iter()
            .map(|check| check.status)
            .collect()
    }

    fn worker(is_silent: bool) -> WorkerRecord {
        let mut worker = sample::worker("w-1");
        worker.new.queues.push(mail());
        worker.is_silent = is_silent;
        worker
    }

    #[test]
    fn a_silent_worker_takes_no_jobs() {
        let stats = Stats {
            ready: 1,
            ..Stats::default()
        };

        assert_eq!(statuses_with(stats, &[worker(false)]), []);
        assert_eq!(statuses_with(stats, &[worker(true)]), [Status::Warn]);
    }

    #[test]
    fn jobs_that_wait_for_nobody_are_a_warning() {
        assert_eq!(statuses(Stats::default()), []);
        assert_eq!(
            statuses(Stats {
                ready: 1,
                ..Stats::default()
            }),
            [Status::Warn]
        );
        assert_eq!(
            statuses(Stats {
                is_paused: true,
                ready: 1,
                dead: 1,
                ..Stats::default()
            }),
            [Status::Warn, Status::Warn]
        );
    }

    #[test]
    fn a_job_that_waits_too_long_beside_workers_is_a_warning() {
        let waiting = |ms| Stats {
            ready: 1,
            oldest_ms: Some(ms),
            ..Stats::default()
        };
        assert_eq!(statuses_with(waiting(3_600_000), &[worker(false)]), []);
        let late = statuses_with(waiting(3_600_001), &[worker(false)]);
        assert_eq!(late, [Status::Warn]);
    }

    #[test]
    fn a_queue_too_large_for_its_parts_is_a_warning() {
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
        settings.partitions = Partitions::Fixed(2);
        assert!(!large(stats(1_000_001, 0), &settings));
        settings.partitions = Partitions::Auto;
        assert!(!large(stats(9_000_001, 0), &settings));
    }
}
