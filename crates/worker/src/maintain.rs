//! The housekeeping of a worker's queues, done by the eldest of their workers.
//!
//! Claims promote and reap by themselves; this is for queues that nobody claims from just now, and
//! for pruning. It is harmless when two do it, and nothing is lost when nobody does.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;
use windlass_core::limits::PAGE;
use windlass_core::{BootId, QueueName, Result, Store, WorkerRecord};

use crate::options::Role;
use crate::shared::Shared;

/// How often the elected worker cleans.
const EVERY: Duration = Duration::from_secs(1);

/// How often a worker looks whether it is the elected one.
const ELECT_EVERY: Duration = Duration::from_secs(15);

/// How many pages one round does at most; the next round goes on.
const PAGES_MAX: usize = 20;

/// Cleans until it is dropped.
pub(crate) async fn run(shared: Arc<Shared>, store: Arc<dyn Store>) {
    if shared.options.role == Role::Follower {
        return;
    }
    let mut elected: Vec<QueueName> = Vec::new();
    let mut elect_at = Instant::now();
    loop {
        if Instant::now() >= elect_at {
            elect_at = Instant::now() + jittered(ELECT_EVERY);
            // Whoever cannot tell goes on as before.
            if let Ok(mine) = elect(&shared, store.as_ref()).await {
                elected = mine;
            }
        }
        for queue in &elected {
            if let Err(error) = clean(store.as_ref(), queue).await {
                tracing::warn!(target: "windlass", %queue, code = error.code(), help = error.help(),
                    "maintain: {error}; trying again");
            }
        }
        tokio::time::sleep(jittered(EVERY)).await;
    }
}

/// The queues that this worker cleans.
async fn elect(shared: &Shared, store: &dyn Store) -> Result<Vec<QueueName>> {
    let queues = shared.lanes.iter().map(|lane| lane.queue().clone());
    if shared.options.role == Role::Leader {
        return Ok(queues.collect());
    }
    let workers = store.workers().await?;
    let boot = shared.boot();
    Ok(queues
        .filter(|queue| is_eldest(&boot, queue, &workers))
        .collect())
}

/// Whether no live worker of the queue has been there for longer.
fn is_eldest(boot: &BootId, queue: &QueueName, workers: &[WorkerRecord]) -> bool {
    let age = |worker: &&WorkerRecord| (worker.started_at, worker.new.boot.clone());
    workers
        .iter()
        .filter(|worker| !worker.is_silent && worker.new.queues.contains(queue))
        .min_by_key(age)
        .is_none_or(|eldest| eldest.new.boot == *boot)
}

async fn clean(store: &dyn Store, queue: &QueueName) -> Result<()> {
    for _ in 0..PAGES_MAX {
        if store.maintain(queue, PAGE).await?.is_idle() {
            break;
        }
    }
    Ok(())
}

/// Drawn from the upper half, so that workers do not march in step.
fn jittered(every: Duration) -> Duration {
    every / 2 + every.mul_f64(fastrand::f64() / 2.0)
}

#[cfg(test)]
mod tests {
    use windlass_core::{NewWorker, Timestamp, WorkerCommand};

    use super::*;

    fn worker(boot: &str, started_at: u64, queue: &str, is_silent: bool) -> WorkerRecord {
        WorkerRecord {
            new: NewWorker {
                boot: BootId::new(boot).unwrap(),
                name: String::new(),
                host: String::new(),
                pid: 1,
                version: String::new(),
                queues: vec![QueueName::new(queue).unwrap()],
            },
            is_busy: false,
            running: Vec::new(),
            command: WorkerCommand::Continue,
            started_at: Timestamp::from_ms(started_at),
            last_seen: Timestamp::from_ms(started_at),
            is_silent,
        }
    }

    #[test]
    fn the_eldest_live_worker_of_a_queue_cleans_it() {
        let workers = [
            worker("dead", 1, "mail", true),
            worker("elsewhere", 2, "bulk", false),
            worker("eldest", 3, "mail", false),
            worker("twin", 3, "mail", false),
        ];
        let mail = QueueName::new("mail").unwrap();
        let is = |boot: &str| is_eldest(&BootId::new(boot).unwrap(), &mail, &workers);

        assert!(is("eldest"));
        assert!(!is("twin") && !is("dead") && !is("elsewhere"));
        assert!(is_eldest(&BootId::new("alone").unwrap(), &mail, &[]));
    }
}
