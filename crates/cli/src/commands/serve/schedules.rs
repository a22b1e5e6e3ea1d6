//! Maintains the queues of a served store, so that schedules and histories need no worker.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound::{Excluded, Unbounded};
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::time::{Instant, timeout_at};
use windlass::runtime::Connections;
use windlass::store::limits::PAGE;
use windlass::{QueueName, Store};
use windlass_server::CancellationToken;

/// Time between two rounds of maintenance.
const EVERY: Duration = Duration::from_secs(1);

/// Time between two rounds for a queue without schedules, so that its history has a row for each minute.
const SAMPLE_EVERY: Duration = Duration::from_secs(60);

/// The most known queues that a round reads to find new schedules, so that idle queues cost no more than this. With
/// 6000 queues, it takes a minute to read all of them, which is the age up to which an instant always fires.
const READ_MAX: usize = 100;

/// The most pages of a queue per round: its instants may all be due at once.
const PAGES_MAX: usize = 100;

/// The most queues that requests report between two rounds. The search finds the others.
pub(super) const REPORTED_MAX: usize = 1024;

/// Maintains the queues that have schedules each second, and the others each minute, until `stop`. Workers do the same;
/// doing it twice is harmless.
/// `reported` receives the queues in which requests to this server put schedules.
pub(super) async fn fire(
    stores: Connections,
    mut reported: mpsc::Receiver<QueueName>,
    stop: CancellationToken,
) {
    let store = stores.store().as_ref();
    let mut caller = stores.outage().caller();
    let mut search = Search::default();
    while !stop.is_cancelled() {
        let next_round = Instant::now() + EVERY;
        // On an error, the queues found so far stand.
        let _ = search.advance(store).await;
        let others = search.next_samples(Instant::now());
        for queue in search.found.iter().chain(&others) {
            caller.record(&maintain(store, queue).await);
        }
        let waiting = async {
            while let Ok(Some(queue)) = timeout_at(next_round, reported.recv()).await {
                search.found.insert(queue);
            }
            // The server has stopped reporting.
            tokio::time::sleep_until(next_round).await;
        };
        tokio::select! {
            () = waiting => {}
            () = stop.cancelled() => {}
        }
    }
}

/// Finds all queues, and those with schedules, which other processes may have put.
#[derive(Debug, Default)]
struct Search {
    /// The queues with schedules.
    found: BTreeSet<QueueName>,
    /// All queues that were read at least once, and when to maintain each for its history.
    known: BTreeMap<QueueName, Instant>,
    /// The last known queue that was read again.
    position: Option<QueueName>,
}

impl Search {
    /// Reads the next of the known queues, and all that are new.
    async fn advance(&mut self, store: &dyn Store) -> windlass::Result<()> {
        let queues: BTreeSet<_> = store.queues().await?.into_iter().collect();
        self.known.retain(|queue, _| queues.contains(queue));
        self.found.retain(|queue| queues.contains(queue));
        for queue in self.turn() {
            self.read(store, &queue).await?;
            self.position = Some(queue);
        }
        for queue in queues {
            if !self.known.contains_key(&queue) {
                self.read(store, &queue).await?;
                // A random second of the minute, so that not all queues are maintained at once.
                let first = Instant::now() + SAMPLE_EVERY.mul_f64(fastrand::f64());
                self.known.insert(queue, first);
            }
        }
        Ok(())
    }

    /// Returns the known queues whose turn it is, each at most once.
    fn turn(&self) -> Vec<QueueName> {
        let after = self.position.as_ref().map_or(Unbounded, Excluded);
        let rest = self.known.range::<QueueName, _>((after, Unbounded));
        let turn = rest.chain(&self.known).take(self.known.len().min(READ_MAX));
        turn.map(|(queue, _)| queue.clone()).collect()
    }

    /// Returns the queues without schedules that were not maintained for a minute.
    fn next_samples(&mut self, now: Instant) -> Vec<QueueName> {
        let due = self.known.iter_mut();
        let due = due.filter(|(queue, at)| **at <= now && !self.found.contains(*queue));
        let sampled = |(queue, at): (&QueueName, &mut Instant)| {
            *at = now + SAMPLE_EVERY;
            queue.clone()
        };
        due.take(READ_MAX).map(sampled).collect()
    }

    async fn read(&mut self, store: &dyn Store, queue: &QueueName) -> windlass::Result<()> {
        let stats = store.stats(queue).await?;
        if stats.is_some_and(|stats| stats.schedules > 0) {
            self.found.insert(queue.clone());
        } else {
            self.found.remove(queue);
        }
        Ok(())
    }
}

async fn maintain(store: &dyn Store, queue: &QueueName) -> windlass::Result<()> {
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
    use std::sync::Arc;

    use windlass::NewJob;
    use windlass::memory::MemoryStore;
    use windlass::store::{Rule, Schedule, ScheduleChange, ScheduleName, SystemClock};

    use super::*;

    fn queue(number: usize) -> QueueName {
        QueueName::new(format!("q{number}")).unwrap()
    }

    fn name() -> ScheduleName {
        ScheduleName::new("s").unwrap()
    }

    async fn put(store: &MemoryStore, queue: &QueueName) {
        let rule = Rule::every(Duration::from_secs(1)).unwrap();
        let schedule = Schedule::new(name(), rule, NewJob::new("x"));
        windlass_schedule::put(store, queue, schedule, None)
            .await
            .unwrap();
    }

    /// A store whose idle queues take three rounds to read.
    async fn fixture() -> (MemoryStore, Search) {
        let store = MemoryStore::new(Arc::new(SystemClock));
        for number in 0..3 * READ_MAX {
            store.set_paused(&queue(number), false).await.unwrap();
        }
        let mut search = Search::default();
        search.advance(&store).await.unwrap();
        assert!(search.found.is_empty());
        (store, search)
    }

    #[tokio::test]
    async fn the_first_schedule_of_a_new_queue_is_found_in_the_next_round() {
        let (store, mut search) = fixture().await;
        let new = QueueName::new("new").unwrap();
        put(&store, &new).await;
        search.advance(&store).await.unwrap();
        assert!(search.found.contains(&new));
    }

    #[tokio::test]
    async fn every_queue_is_read_again_but_few_in_a_round() {
        let (store, mut search) = fixture().await;
        for number in 0..3 * READ_MAX {
            put(&store, &queue(number)).await;
        }
        for round in 1..=3 {
            search.advance(&store).await.unwrap();
            assert_eq!(search.found.len(), round * READ_MAX);
        }
    }

    #[tokio::test]
    async fn every_queue_is_maintained_once_a_minute_but_few_in_a_round() {
        let (store, mut search) = fixture().await;
        put(&store, &queue(1)).await;
        search.read(&store, &queue(1)).await.unwrap();
        let start = Instant::now();
        let in_a_minute = start + SAMPLE_EVERY;

        let rounds = [in_a_minute; 4].map(|now| search.next_samples(now));

        // All but the one with schedules, which is maintained each second.
        let sizes = rounds.each_ref().map(Vec::len);
        assert_eq!(sizes, [READ_MAX, READ_MAX, READ_MAX - 1, 0]);
        let all: BTreeSet<_> = rounds.into_iter().flatten().collect();
        assert_eq!(all.len(), 3 * READ_MAX - 1);
        assert_eq!(
            search.next_samples(in_a_minute + SAMPLE_EVERY).len(),
            READ_MAX
        );
    }

    #[tokio::test]
    async fn a_queue_without_schedules_is_no_longer_maintained() {
        let store = MemoryStore::new(Arc::new(SystemClock));
        put(&store, &queue(1)).await;
        let mut search = Search::default();
        search.advance(&store).await.unwrap();
        assert_eq!(search.found.len(), 1);
        let delete = ScheduleChange::Delete;
        store
            .change_schedule(&queue(1), &name(), delete)
            .await
            .unwrap();
        search.advance(&store).await.unwrap();
        assert!(search.found.is_empty());
    }
}
