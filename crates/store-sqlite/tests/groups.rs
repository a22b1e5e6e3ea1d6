//! What the SQLite store does with the rows of groups.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot continue fails on the spot"
)]

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use rusqlite::Connection;
use tempfile::TempDir;
use windlass_core::limits::GROUPS_PER_CLAIM;
use windlass_core::store::{GroupChange, OwnLimit, SnoozeScope};
use windlass_core::{
    Claim, ClaimRequest, Due, JobLease, ManualClock, Mode, NewJob, QueueName, Store, Timestamp,
};
use windlass_store_sqlite::{Options, SqliteStore, Synchronous};

struct Fixture {
    store: SqliteStore,
    clock: Arc<ManualClock>,
    queue: QueueName,
    path: PathBuf,
    _folder: TempDir,
}

impl Fixture {
    async fn new(settings: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("jobs.db");
        let clock = Arc::new(ManualClock::new(Timestamp::from_ms(1_000_000_000)));
        let options = Options {
            clock: clock.clone(),
            synchronous: Synchronous::Off,
            ..Options::default()
        };
        let store = SqliteStore::open(&path, options).unwrap();
        let queue = QueueName::new("q").unwrap();
        let settings = settings.iter().map(|setting| setting.parse().unwrap());
        store.set(&queue, settings.collect()).await.unwrap();
        Self {
            store,
            clock,
            queue,
            path,
            _folder: folder,
        }
    }

    async fn enqueue(&self, job: NewJob) {
        self.store.enqueue(&self.queue, vec![job]).await.unwrap();
    }

    async fn claim(&self) -> Option<Claim> {
        let request = ClaimRequest::single(100);
        self.store.claim(&self.queue, request).await.unwrap()
    }

    async fn complete_all(&self, claim: &Claim) {
        let leases = claim.jobs.iter();
        let leases = leases.map(|job| JobLease::new(job.id.clone(), claim.token));
        let done = leases.map(JobLease::completion).collect();
        self.store.complete(&self.queue, done, None).await.unwrap();
    }

    fn rows(&self) -> u32 {
        let db = Connection::open(&self.path).unwrap();
        let count = "SELECT count(*) FROM job_group";
        db.query_row(count, [], |row| row.get(0)).unwrap()
    }
}

fn grouped(group: &str) -> NewJob {
    NewJob::new("x").group(group.parse().unwrap())
}

#[tokio::test]
async fn a_group_that_has_nothing_left_has_no_row() {
    let fixture = Fixture::new(&[]).await;
    for n in 0..5 {
        fixture.enqueue(grouped(&format!("g{n}"))).await;
    }
    let claim = fixture.claim().await.unwrap();
    assert_eq!(fixture.rows(), 5);

    fixture.complete_all(&claim).await;

    assert_eq!(fixture.rows(), 0);
}

#[tokio::test]
async fn maintenance_deletes_groups_whose_rate_is_open_or_whose_rest_is_over() {
    let fixture = Fixture::new(&["group_rate=1/1s"]).await;
    fixture.enqueue(grouped("closed")).await;
    fixture.enqueue(grouped("rests")).await;
    let claim = fixture.claim().await.unwrap();
    let lease = JobLease::new(claim.jobs[1].id.clone(), claim.token);
    let snooze = lease.snooze(Due::After(Duration::from_secs(9)));
    let snooze = snooze.scope(SnoozeScope::Group);
    let (store, queue) = (&fixture.store, &fixture.queue);
    store.snooze(queue, vec![snooze]).await.unwrap();
    store.purge(queue).await.unwrap();
    fixture.complete_all(&claim).await;
    let mut rows = Vec::new();

    for _ in 0..2 {
        rows.push(fixture.rows());
        fixture.clock.advance(Duration::from_secs(8));
        store.maintain(queue, 100).await.unwrap();
    }
    rows.push(fixture.rows());

    assert_eq!(rows, [2, 1, 0]);
}

#[tokio::test]
async fn a_job_that_maintenance_makes_ready_is_claimed_from_a_group_that_had_nothing_left() {
    let fixture = Fixture::new(&["group_rate=1/1s"]).await;
    fixture.enqueue(grouped("g")).await;
    let claim = fixture.claim().await.unwrap();
    fixture.complete_all(&claim).await;
    let later = grouped("g").delay(Duration::from_secs(5));
    fixture.enqueue(later).await;
    fixture.clock.advance(Duration::from_secs(6));

    let maintained = fixture.store.maintain(&fixture.queue, 100).await;

    assert_eq!(maintained.unwrap().promoted, 1);
    assert_eq!(fixture.claim().await.unwrap().jobs.len(), 1);
}

#[tokio::test]
async fn a_claim_examines_a_limited_number_of_groups_that_it_cannot_use() {
    let fixture = Fixture::new(&[]).await;
    let (store, queue) = (&fixture.store, &fixture.queue);
    let limited = GroupChange {
        max_running: Some(OwnLimit::At(1)),
        ..GroupChange::default()
    };
    for n in 0..GROUPS_PER_CLAIM - 1 {
        let group = format!("g{n}").parse().unwrap();
        store.set_group(queue, &group, limited).await.unwrap();
        fixture.enqueue(grouped(&format!("g{n}"))).await;
    }
    fixture.enqueue(grouped("usable")).await;
    let mut at_most_once = ClaimRequest::single(1);
    at_most_once.mode = Mode::AtMostOnce;

    let claim = store.claim(queue, at_most_once.clone()).await.unwrap();
    assert_eq!(claim.unwrap().jobs.len(), 1);
    let group = "last".parse().unwrap();
    store.set_group(queue, &group, limited).await.unwrap();
    fixture.enqueue(grouped("last")).await;
    fixture.enqueue(grouped("usable")).await;

    assert!(store.claim(queue, at_most_once).await.unwrap().is_none());
}
