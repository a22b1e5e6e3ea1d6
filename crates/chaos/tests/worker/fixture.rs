//! A store with an effect log, and the final checks of both.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use tempfile::TempDir;
use tokio::time::{Instant, sleep};
use windlass_chaos::actor::Launcher;
use windlass_chaos::behaviour::Behaviour;
use windlass_chaos::effect_log::{EffectKind, EffectReader, EffectRecord};
use windlass_chaos::event::{Event, Line};
use windlass_chaos::{QUEUE, invariants, listing};
use windlass_core::limits::SCAN_PAGE;
use windlass_core::store::Stats;
use windlass_core::{Filter, Job, JobId, NewJob, QueueName};
use windlass_store_redis::RedisStore;
use windlass_store_sqlite::SqliteStore;
use windlass_testkit::redis::Server;
use windlass_testkit::{StoreUnderTest, paging, soundness};

const PROGRAM: &str = env!("CARGO_BIN_EXE_windlass-actor");

/// The timeout of every wait: far more than a busy machine needs.
pub(crate) const TIMEOUT_MAX: Duration = Duration::from_secs(60);

/// How often the stats are polled.
const POLL_INTERVAL: Duration = Duration::from_millis(10);

/// The store, effect log and actors of one test.
pub(crate) struct Fixture {
    pub(crate) launcher: Launcher,
    pub(crate) opened: StoreUnderTest,
    pub(crate) queue: QueueName,
    /// The server, where the store is Redis.
    pub(crate) server: Option<Server>,
    pub(crate) folder: TempDir,
    /// The test's own index in the ledger.
    process: usize,
}

impl Fixture {
    pub(crate) async fn sqlite() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("jobs.db");
        let options = windlass_store_sqlite::Options::default();
        let opened = StoreUnderTest::new(SqliteStore::open(&path, options).unwrap());
        Self::of(Launcher::new(PROGRAM, path), opened, None, folder).await
    }

    pub(crate) async fn redis() -> Self {
        Self::on(Server::start()).await
    }

    pub(crate) async fn on(server: Server) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let options = windlass_store_redis::Options::default();
        let opened = StoreUnderTest::new(RedisStore::open(&server.url(), options).await.unwrap());
        let launcher = Launcher::new(PROGRAM, server.url());
        Self::of(launcher, opened, Some(server), folder).await
    }

    async fn of(
        launcher: Launcher,
        opened: StoreUnderTest,
        server: Option<Server>,
        folder: TempDir,
    ) -> Self {
        let queue = QueueName::new(QUEUE).unwrap();
        let kept = listing::keep_everything(opened.store.as_ref(), &queue);
        kept.await.unwrap();
        let process = launcher.ledger.lock().add_process("test");
        Self {
            launcher,
            opened,
            queue,
            server,
            folder,
            process,
        }
    }

    pub(crate) async fn set(&self, setting: &str) {
        let settings = vec![setting.parse().unwrap()];
        self.opened.store.set(&self.queue, settings).await.unwrap();
    }

    pub(crate) fn effects(&self) -> EffectReader {
        EffectReader::of(&self.folder.path().join("effects"))
    }

    /// Enqueues jobs, and logs that they were accepted.
    pub(crate) async fn enqueue(&self, jobs: Vec<NewJob>) {
        let ids: Vec<JobId> = jobs.iter().map(|job| job.id.clone()).collect();
        self.log(Event::Enqueuing(ids));
        for batch in jobs.chunks(1_000) {
            let replies = self.opened.store.enqueue(&self.queue, batch.to_vec()).await;
            for reply in replies.unwrap() {
                assert!(!reply.is_duplicate());
                self.log(Event::Accepted(reply.id().clone()));
            }
        }
    }

    /// Enqueues jobs with the same behaviour, named `NAME-0` and so on.
    pub(crate) async fn enqueue_many(&self, name: &str, count: usize, behaviour: Behaviour) {
        let jobs = (0..count).map(|n| job(&format!("{name}-{n}"), behaviour));
        self.enqueue(jobs.collect()).await;
    }

    fn log(&self, event: Event) {
        self.launcher
            .ledger
            .push(self.process, Line { at_us: 0, event });
    }

    pub(crate) async fn stats(&self) -> Stats {
        self.opened.store.stats(&self.queue).await.unwrap().unwrap()
    }

    /// Waits until every job has ended.
    pub(crate) async fn wait_until_done(&self, timeout: Duration) {
        let deadline = Instant::now() + timeout;
        loop {
            let stats = self.stats().await;
            if stats.ready + stats.scheduled + stats.running == 0 {
                return;
            }
            assert!(Instant::now() < deadline, "timed out: {stats:?}");
            sleep(POLL_INTERVAL).await;
        }
    }

    /// All jobs by id.
    pub(crate) async fn jobs(&self) -> BTreeMap<JobId, Job> {
        let store = self.opened.store.as_ref();
        let jobs = paging::list(store, &self.queue, &Filter::default(), SCAN_PAGE).await;
        let jobs = jobs.unwrap().into_iter();
        jobs.map(|job| (job.id.clone(), job)).collect()
    }

    /// Asserts that no job is lost, each has one completion, stats are right, an audit repairs
    /// nothing, and the effect log has the end of every succeeded job.
    pub(crate) async fn assert_sound(&self) -> Stats {
        let store = self.opened.store.as_ref();
        let listing = listing::of(store, &self.queue).await.unwrap();
        let stats = self.stats().await;
        let ledger = self.launcher.ledger.lock().clone();
        let violations = invariants::at_the_end(&ledger, &listing, &stats);
        invariants::assert_none(&violations, "at the end");
        let succeeded = listing
            .iter()
            .filter(|(_, state)| state.as_str() == "succeeded");
        let succeeded: BTreeSet<_> = succeeded.map(|(id, _)| id.clone()).collect();
        assert_eq!(stats.total.succeeded, succeeded.len() as u64);
        let mut effects = self.effects();
        let seen = ended(effects.read().unwrap());
        let unseen: Vec<_> = succeeded.difference(&seen).take(20).collect();
        assert!(unseen.is_empty(), "succeeded without an effect: {unseen:?}");
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

/// Waits until the effect log meets a condition.
pub(crate) async fn wait_until_seen(
    effects: &mut EffectReader,
    what: &str,
    condition: impl FnMut(&[EffectRecord]) -> bool,
) {
    let is_seen = effects.wait_until(TIMEOUT_MAX, condition).await.unwrap();
    assert!(
        is_seen,
        "timed out waiting until {what}; {:?}",
        effects.read()
    );
}

/// The jobs whose handlers finished.
pub(crate) fn ended(seen: &[EffectRecord]) -> BTreeSet<JobId> {
    let ends = seen.iter().filter(|line| line.kind == EffectKind::End);
    ends.map(|line| line.id.clone()).collect()
}

/// How often the log has an effect of a job.
pub(crate) fn count(seen: &[EffectRecord], id: &str, kind: EffectKind) -> usize {
    let matches = |line: &&EffectRecord| line.id.as_str() == id && line.kind == kind;
    seen.iter().filter(matches).count()
}
