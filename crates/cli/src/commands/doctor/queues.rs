//! The queues: whether jobs wait for somebody who is not there.

use windlass::{KnownWorker as Worker, QueueName, Stats, Store};

use super::{Check, Status};
use crate::exit::Result;

/// Looks at every queue.
pub(super) async fn examine(store: &dyn Store, checks: &mut Vec<Check>) -> Result<()> {
    let workers = store.workers().await?;
    let queues = store.queues().await?;
    let alive = workers.iter().filter(|worker| !worker.is_silent).count();
    let message = format!(
        "{} known, {alive} workers alive, {} silent",
        queues.len(),
        workers.len() - alive
    );
    checks.push(Check::ok("queues", message));
    for queue in &queues {
        if let Some(stats) = store.stats(queue).await? {
            checks.extend(examine_one(queue, &stats, &workers));
        }
    }
    Ok(())
}

fn examine_one(queue: &QueueName, stats: &Stats, workers: &[Worker]) -> Vec<Check> {
    let name = format!("queue {queue}");
    let warn = |message: String, fix: String| Check::new(Status::Warn, &name, message, fix);
    let mut checks = Vec::new();
    if stats.is_paused {
        let message = format!("it is paused with {} jobs ready", stats.ready);
        checks.push(warn(message, format!("windlass queue resume {queue}")));
    }
    let has_worker = workers
        .iter()
        .any(|worker| !worker.is_silent && worker.new.queues.contains(queue));
    if stats.ready > 0 && !has_worker && !stats.is_paused {
        let message = format!("{} jobs are ready and no worker takes them", stats.ready);
        checks.push(warn(
            message,
            format!("start a worker for it, or take one by hand with `windlass claim {queue}`"),
        ));
    }
    if stats.dead > 0 {
        let message = format!("{} jobs are dead", stats.dead);
        let fix = format!(
            "see why with `windlass job list {queue} --state dead`, \
             then run them again with `windlass job retry {queue} --all`"
        );
        checks.push(warn(message, fix));
    }
    if checks.is_empty() {
        let message = format!(
            "{} ready, {} scheduled, {} running",
            stats.ready, stats.scheduled, stats.running
        );
        checks.push(Check::ok(&name, message));
    }
    checks
}

#[cfg(test)]
mod tests {
    use windlass::{BootId, NewWorker, Timestamp, Told};

    use super::*;

    fn mail() -> QueueName {
        QueueName::new("mail").unwrap()
    }

    fn statuses(stats: Stats) -> Vec<Status> {
        statuses_with(stats, &[])
    }

    fn statuses_with(stats: Stats, workers: &[Worker]) -> Vec<Status> {
        examine_one(&mail(), &stats, workers)
            .iter()
            .map(|check| check.status)
            .collect()
    }

    fn worker(is_silent: bool) -> Worker {
        let new = NewWorker {
            boot: BootId::new("w-1").unwrap(),
            name: "w".to_owned(),
            host: "here".to_owned(),
            pid: 1,
            version: String::new(),
            queues: vec![mail()],
        };
        Worker {
            new,
            is_busy: false,
            running: Vec::new(),
            told: Told::Continue,
            started_at: Timestamp::default(),
            last_seen: Timestamp::default(),
            is_silent,
        }
    }

    #[test]
    fn a_silent_worker_takes_no_jobs() {
        let stats = Stats {
            ready: 1,
            ..Stats::default()
        };

        assert_eq!(statuses_with(stats, &[worker(false)]), [Status::Ok]);
        assert_eq!(statuses_with(stats, &[worker(true)]), [Status::Warn]);
    }

    #[test]
    fn jobs_that_wait_for_nobody_are_a_warning() {
        assert_eq!(statuses(Stats::default()), [Status::Ok]);
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
}
