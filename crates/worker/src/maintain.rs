//! The maintenance loop: the worker of a queue that started first does its maintenance.
//!
//! Claims fire, promote and reap as they go; this covers queues that no worker claims from at the moment,
//! pruning, and the instants that schedules need. Two workers doing it is harmless, and no job is lost if
//! none does.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;
use windlass_core::limits::{PAGE, WORKER_LATE_AFTER};
use windlass_core::store::WorkerRecord;
use windlass_core::{BootId, QueueName, Result, Store};

use crate::backoff::jittered;
use crate::options::Role;
use crate::shared::Shared;

/// How often the elected worker does maintenance.
const EVERY: Duration = Duration::from_secs(1);

/// How often a worker checks whether it is elected.
const ELECT_EVERY: Duration = Duration::from_secs(15);

/// The most pages per round; the next round continues. As many as the instants of a queue that has the most
/// schedules, all due at once.
const PAGES_MAX: usize = 100;

/// Does maintenance until it is dropped.
pub(crate) async fn run(shared: Arc<Shared>, store: Arc<dyn Store>) {
    if shared.options.role == Role::Follower {
        return;
    }
    let mut elected: Vec<QueueName> = Vec::new();
    let mut elect_at = Instant::now();
    let mut caller = shared.connections.outage().caller();
    loop {
        if Instant::now() >= elect_at {
            elect_at = Instant::now() + jittered(ELECT_EVERY);
            // On an error the previous result stands.
            if let Ok(mine) = elect(&shared, store.as_ref()).await {
                elected = mine;
            }
        }
        let mut round = Ok(());
        for queue in &elected {
            let maintained = maintain(store.as_ref(), queue).await;
            round = round.and(maintained);
        }
        caller.record(&round);
        tokio::time::sleep(jittered(EVERY)).await;
    }
}

/// Returns the queues that this worker maintains.
async fn elect(shared: &Shared, store: &dyn Store) -> Result<Vec<QueueName>> {
    let queues = shared.queues.iter().map(|queue| queue.name().clone());
    if shared.options.role == Role::Leader {
        return Ok(queues.collect());
    }
    let workers = store.workers().await?;
    let boot = shared.boot();
    Ok(queues
        .filter(|queue| is_oldest(&boot, queue, &workers))
        .collect())
}

/// Returns whether a worker still sends heartbeats. One that is late is replaced at once: two maintainers
/// are harmless, and a schedule known only a minute ahead cannot wait until a dead one is declared so.
fn is_live(worker: &WorkerRecord) -> bool {
    worker.silent_for < WORKER_LATE_AFTER
}

/// Returns whether no live worker of the queue started earlier.
fn is_oldest(boot: &BootId, queue: &QueueName, workers: &[WorkerRecord]) -> bool {
    let age = |worker: &&WorkerRecord| (worker.started_at, worker.new.boot.clone());
    workers
        .iter()
        .filter(|worker| is_live(worker) && worker.new.queues.contains(queue))
        .min_by_key(age)
        .is_none_or(|oldest| oldest.new.boot == *boot)
}

async fn maintain(store: &dyn Store, queue: &QueueName) -> Result<()> {
    for _ in 0..PAGES_MAX {
        let maintained = windlass_schedule::maintain(store, queue, PAGE).await?;
        if maintained.is_idle() {
            break;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use windlass_core::Timestamp;
    use windlass_core::store::{NewWorker, WorkerCommand};

    use super::*;

    fn worker(boot: &str, started_at: u64, queue: &str, is_late: bool) -> WorkerRecord {
        WorkerRecord {
            new: NewWorker {
                boot: BootId::new(boot).unwrap(),
                name: String::new(),
                host: String::new(),
                pid: 1,
                version: String::new(),
                queues: vec![QueueName::new(queue).unwrap()],
            },
            running: Vec::new(),
            command: WorkerCommand::Continue,
            started_at: Timestamp::from_ms(started_at),
            last_seen: Timestamp::from_ms(started_at),
            silent_for: Duration::from_secs(if is_late { 8 } else { 7 }),
        }
    }

    #[test]
    fn the_oldest_live_worker_of_a_queue_maintains_it() {
        let workers = [
            worker("dead", 1, "mail", true),
            worker("elsewhere", 2, "bulk", false),
            worker("oldest", 3, "mail", false),
            worker("twin", 3, "mail", false),
        ];
        let mail = QueueName::new("mail").unwrap();
        let is = |boot: &str| is_oldest(&BootId::new(boot).unwrap(), &mail, &workers);

        assert!(is("oldest"));
        assert!(!is("twin") && !is("dead") && !is("elsewhere"));
        assert!(is_oldest(&BootId::new("alone").unwrap(), &mail, &[]));
    }
}
