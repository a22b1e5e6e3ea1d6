//! A queue on a dedicated server, with direct access to its keys.

use std::sync::Arc;

use windlass_core::store::{Audited, Repair};
use windlass_core::{ManualClock, Result};
use windlass_store_redis::{Options, RedisStore};
use windlass_testkit::StoreUnderTest;
use windlass_testkit::fixture::Fixture;
use windlass_testkit::redis::{Reply, Server};

/// The queue of all tests.
const QUEUE: &str = "q";

pub(crate) struct AuditFixture {
    pub(crate) fixture: Fixture,
    pub(crate) server: Arc<Server>,
}

impl AuditFixture {
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
        let fixture = Fixture::open(open, QUEUE).await;
        Self { fixture, server }
    }

    /// Runs `COMMAND KEY …` on a key of the queue.
    #[track_caller]
    pub(crate) fn command(&self, command: &str, key: &str, rest: &[&str]) -> Reply {
        let key = self::key(key);
        let mut command = vec![command, &key];
        command.extend(rest);
        self.server.command(&command).ok()
    }

    /// Overwrites a number of the `figures` field, counted from 1.
    #[track_caller]
    pub(crate) fn set_stat(&self, at: usize, number: f64) {
        let Reply::Bulk(mut figures) = self.command("HGET", "state", &["figures"]) else {
            panic!("the queue has stats");
        };
        figures[8 * (at - 1)..8 * at].copy_from_slice(&number.to_le_bytes());
        let key = key("state");
        let command: [&[u8]; 4] = [b"HSET", key.as_bytes(), b"figures", &figures];
        self.server.command(&command).ok();
    }

    /// Audits the whole queue.
    pub(crate) async fn audit(&self) -> Result<(u64, Vec<Repair>)> {
        let mut checked = 0;
        let mut repairs = Vec::new();
        let mut from = None;
        loop {
            let page = self.fixture.store.audit(&self.fixture.queue, from).await?;
            let Audited {
                checked: seen,
                repairs: made,
                next,
            } = page;
            assert!(seen <= 500, "a page checks {seen} jobs");
            checked += seen;
            repairs.extend(made);
            from = next;
            if from.is_none() {
                return Ok((checked, repairs));
            }
        }
    }

    /// Audits the queue, asserts that it is sound afterwards, and returns each repair once, with its
    /// job id if it has one.
    pub(crate) async fn repair(&self) -> Result<Vec<String>> {
        let (_, repairs) = self.audit().await?;
        let (_, again) = self.audit().await?;
        assert_eq!(
            again,
            [],
            "the first audit missed these; it found {repairs:?}"
        );
        self.assert_sound().await?;
        let mut found: Vec<String> = repairs.iter().map(code_of).collect();
        found.sort();
        found.dedup();
        Ok(found)
    }

    /// Asserts that the queue exists and is consistent.
    pub(crate) async fn assert_sound(&self) -> Result<()> {
        self.fixture.snapshot().await?;
        self.fixture.assert_sound().await
    }

    /// Claims and completes all jobs and returns their ids in order.
    pub(crate) async fn drain(&self) -> Result<Vec<String>> {
        let mut ids = Vec::new();
        while let Some(claim) = self.fixture.claim(100).await? {
            ids.extend(claim.jobs.iter().map(|job| job.id.to_string()));
            let leases = windlass_testkit::fixture::leases_of(&claim);
            let done = self.fixture.complete_all(leases).await?.statuses;
            assert!(
                done.iter()
                    .all(|done| *done == windlass_core::OutcomeStatus::Completed),
                "{done:?}"
            );
        }
        Ok(ids)
    }
}

/// Returns a key of the queue.
pub(crate) fn key(name: &str) -> String {
    format!("windlass:{{{QUEUE}}}:{name}")
}

/// Returns `CODE` or `CODE ID`.
fn code_of(repair: &Repair) -> String {
    match &repair.id {
        None => repair.code.to_owned(),
        Some(id) => format!("{} {id}", repair.code),
    }
}
