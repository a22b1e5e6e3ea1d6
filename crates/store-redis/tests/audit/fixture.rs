//! Where faults are planted: a queue on a server of its own, and a hand in its database.

use std::sync::Arc;

use windlass_core::{Audited, ManualClock, Repair, Result};
use windlass_store_redis::{Options, RedisStore};
use windlass_testkit::StoreUnderTest;
use windlass_testkit::fixture::Fixture;
use windlass_testkit::redis::{Reply, Server};

/// The queue that all cases work on.
const QUEUE: &str = "q";

pub(crate) struct Site {
    pub(crate) bench: Fixture,
    pub(crate) server: Arc<Server>,
}

impl Site {
    pub(crate) async fn open() -> Self {
        let server = Arc::new(Server::start());
        let guard = Arc::clone(&server);
        let open = |clock: Arc<ManualClock>| async move {
            let options = Options {
                clock: Some(clock),
                ..Options::default()
            };
            let store = RedisStore::open(&guard.url(), options).await;
            StoreUnderTest::guarded(store.expect("a new server can be opened"), guard)
        };
        let bench = Fixture::open(open, QUEUE).await;
        Self { bench, server }
    }

    /// Runs `COMMAND KEY …` by hand, on a key of the queue.
    #[track_caller]
    pub(crate) fn hand(&self, command: &str, key: &str, rest: &[&str]) -> Reply {
        let key = self::key(key);
        let mut words = vec![command, &key];
        words.extend(rest);
        self.server.command(&words).ok()
    }

    /// Changes a figure, counted from 1.
    #[track_caller]
    pub(crate) fn set_figure(&self, at: usize, number: f64) {
        let Reply::Bulk(mut figures) = self.hand("HGET", "state", &["figures"]) else {
            panic!("the queue has figures");
        };
        figures[8 * (at - 1)..8 * at].copy_from_slice(&number.to_le_bytes());
        let key = key("state");
        let words: [&[u8]; 4] = [b"HSET", key.as_bytes(), b"figures", &figures];
        self.server.command(&words).ok();
    }

    /// Audits the queue to its end.
    pub(crate) async fn audit(&self) -> Result<(u64, Vec<Repair>)> {
        let mut checked = 0;
        let mut repairs = Vec::new();
        let mut from = None;
        loop {
            let page = self.bench.store.audit(&self.bench.queue, from).await?;
            let Audited {
                checked: seen,
                repairs: made,
                next,
            } = page;
            assert!(seen <= 500, "a page looks at {seen} jobs");
            checked += seen;
            repairs.extend(made);
            from = next;
            if from.is_none() {
                return Ok((checked, repairs));
            }
        }
    }

    /// Audits the queue, which is sound afterwards, and stays so: the faults found, each once, with
    /// their ids where they have one.
    pub(crate) async fn mend(&self) -> Result<Vec<String>> {
        let (_, repairs) = self.audit().await?;
        let (_, again) = self.audit().await?;
        assert_eq!(
            again,
            [],
            "the first audit left these; it found {repairs:?}"
        );
        self.assert_sound().await?;
        let mut faults: Vec<String> = repairs.iter().map(fault_of).collect();
        faults.sort();
        faults.dedup();
        Ok(faults)
    }

    /// The queue is still there, and does not contradict itself.
    pub(crate) async fn assert_sound(&self) -> Result<()> {
        self.bench.snapshot().await?;
        self.bench.assert_sound().await
    }

    /// Claims and completes until nothing is left: the ids in their order.
    pub(crate) async fn drain(&self) -> Result<Vec<String>> {
        let mut ids = Vec::new();
        while let Some(claim) = self.bench.claim(100).await? {
            ids.extend(claim.jobs.iter().map(|job| job.id.to_string()));
            let holds = windlass_testkit::fixture::leases_of(&claim);
            let done = self.bench.complete_all(holds).await?.statuses;
            assert!(
                done.iter()
                    .all(|done| *done == windlass_core::OutcomeStatus::Completed),
                "{done:?}"
            );
        }
        Ok(ids)
    }
}

/// A key of the queue.
pub(crate) fn key(name: &str) -> String {
    format!("windlass:{{{QUEUE}}}:{name}")
}

/// `FAULT` or `FAULT ID`.
fn fault_of(repair: &Repair) -> String {
    match &repair.id {
        None => repair.code.to_owned(),
        Some(id) => format!("{} {id}", repair.code),
    }
}
