//! A store with a witness beside it, and what must be true of both at the end.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use tempfile::TempDir;
use tokio::time::{Instant, sleep};
use windlass_chaos::actor::Stage;
use windlass_chaos::behaviour::Behaviour;
use windlass_chaos::event::{Event, Line};
use windlass_chaos::witness::{Sight, Sighting, Witness};
use windlass_chaos::{QUEUE, invariants, listing};
use windlass_core::limits::SCAN_PAGE;
use windlass_core::{Filter, Job, JobId, NewJob, QueueName, Stats};
use windlass_store_redis::RedisStore;
use windlass_store_sqlite::SqliteStore;
use windlass_testkit::redis::Server;
use windlass_testkit::{StoreUnderTest, paging, soundness};

const PROGRAM: &str = env!("CARGO_BIN_EXE_windlass-actor");

/// How long anything may take before it counts as broken: far more than a busy machine needs.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// How often the figures of the store are looked at.
const NAP: Duration = Duration::from_millis(10);

/// Where one test takes place.
pub(crate) struct Ground {
    pub(crate) stage: Stage,
    pub(crate) opened: StoreUnderTest,
    pub(crate) queue: QueueName,
    /// The server, where the store is Redis.
    pub(crate) server: Option<Server>,
    pub(crate) folder: TempDir,
    /// The test itself in the ledger.
    teller: usize,
}

impl Ground {
    pub(crate) async fn sqlite() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("jobs.db");
        let options = windlass_store_sqlite::Options::default();
        let opened = StoreUnderTest::new(SqliteStore::open(&path, options).unwrap());
        Self::of(Stage::new(PROGRAM, path), opened, None, folder).await
    }

    pub(crate) async fn redis() -> Self {
        Self::on(Server::start()).await
    }

    pub(crate) async fn on(server: Server) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let options = windlass_store_redis::Options::default();
        let opened = StoreUnderTest::new(RedisStore::open(&server.url(), options).await.unwrap());
        let stage = Stage::new(PROGRAM, server.url());
        Self::of(stage, opened, Some(server), folder).await
    }

    async fn of(
        stage: Stage,
        opened: StoreUnderTest,
        server: Option<Server>,
        folder: TempDir,
    ) -> Self {
        let queue = QueueName::new(QUEUE).unwrap();
        let kept = listing::keep_everything(opened.store.as_ref(), &queue);
        kept.await.unwrap();
        let teller = stage.record.ledger().begin("test");
        Self {
            stage,
            opened,
            queue,
            server,
            folder,
            teller,
        }
    }

    pub(crate) async fn set(&self, setting: &str) {
        let settings = vec![setting.parse().unwrap()];
        self.opened.store.set(&self.queue, settings).await.unwrap();
    }

    pub(crate) fn witness(&self) -> Witness {
        Witness::of(&self.folder.path().join("witness"))
    }

    /// Enqueues jobs, and writes down that they were accepted.
    pub(crate) async fn enqueue(&self, jobs: Vec<NewJob>) {
        let ids: Vec<JobId> = jobs.iter().map(|job| job.id.clone()).collect();
        self.note(Event::Asking(ids));
        for part in jobs.chunks(1_000) {
            let answers = self.opened.store.enqueue(&self.queue, part.to_vec()).await;
            for answer in answers.unwrap() {
                assert!(!answer.is_duplicate());
                self.note(Event::Accepted(answer.id().clone()));
            }
        }
    }

    /// Enqueues jobs that all behave alike, as `NAME-0` and so on.
    pub(crate) async fn enqueue_alike(&self, name: &str, count: usize, behaviour: Behaviour) {
        let jobs = (0..count).map(|n| job(&format!("{name}-{n}"), behaviour));
        self.enqueue(jobs.collect()).await;
    }

    fn note(&self, event: Event) {
        self.stage
            .record
            .note(self.teller, Line { at_us: 0, event });
    }

    pub(crate) async fn stats(&self) -> Stats {
        self.opened.store.stats(&self.queue).await.unwrap().unwrap()
    }

    /// Waits until every job has ended.
    pub(crate) async fn until_done(&self, patience: Duration) {
        let deadline = Instant::now() + patience;
        loop {
            let stats = self.stats().await;
            if stats.ready + stats.scheduled + stats.running == 0 {
                return;
            }
            assert!(Instant::now() < deadline, "not done: {stats:?}");
            sleep(NAP).await;
        }
    }

    /// Every job, by its id.
    pub(crate) async fn jobs(&self) -> BTreeMap<JobId, Job> {
        let store = self.opened.store.as_ref();
        let jobs = paging::list(store, &self.queue, &Filter::default(), SCAN_PAGE).await;
        let jobs = jobs.unwrap().into_iter();
        jobs.map(|job| (job.id.clone(), job)).collect()
    }

    /// Nothing lost, one completion per job, figures right, nothing to repair; and every job that
    /// succeeded was seen to its end by the witness.
    pub(crate) async fn assert_sound(&self) -> Stats {
        let store = self.opened.store.as_ref();
        let listing = listing::of(store, &self.queue).await.unwrap();
        let stats = self.stats().await;
        let ledger = self.stage.record.ledger().clone();
        let violations = invariants::at_the_end(&ledger, &listing, &stats);
        invariants::assert_none(&violations, "at the end");
        let succeeded = listing
            .iter()
            .filter(|(_, state)| state.as_str() == "succeeded");
        let succeeded: BTreeSet<_> = succeeded.map(|(id, _)| id.clone()).collect();
        assert_eq!(stats.total.succeeded, succeeded.len() as u64);
        let mut witness = self.witness();
        let seen = ended(witness.look().unwrap());
        let unseen: Vec<_> = succeeded.difference(&seen).take(20).collect();
        assert!(
            unseen.is_empty(),
            "succeeded, and nobody saw it: {unseen:?}"
        );
        let dump = self.opened.dump.dump(&self.queue).await.unwrap().unwrap();
        assert_eq!(soundness::problems(&dump), [""; 0]);
        let (_, repairs) = paging::audit(store, &self.queue).await.unwrap();
        assert_eq!(repairs, []);
        stats
    }
}

pub(crate) fn job(id: &str, behaviour: Behaviour) -> NewJob {
    NewJob::new(behaviour.payload()).id(JobId::new(id).unwrap())
}

/// Waits until something was seen.
pub(crate) async fn until_seen(
    witness: &mut Witness,
    what: &str,
    is_it: impl FnMut(&[Sighting]) -> bool,
) {
    let is_seen = witness.until(PATIENCE, is_it).await.unwrap();
    assert!(is_seen, "not seen: {what}; {:?}", witness.look());
}

/// The jobs whose whole effect was seen.
pub(crate) fn ended(seen: &[Sighting]) -> BTreeSet<JobId> {
    let ends = seen.iter().filter(|line| line.sight == Sight::End);
    ends.map(|line| line.id.clone()).collect()
}

/// How often something was seen of a job.
pub(crate) fn count(seen: &[Sighting], id: &str, sight: Sight) -> usize {
    let is_it = |line: &&Sighting| line.id.as_str() == id && line.sight == sight;
    seen.iter().filter(is_it).count()
}
