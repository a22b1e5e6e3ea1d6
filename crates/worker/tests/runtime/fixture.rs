//! The fixture: a store, a worker on it, and helpers that wait for what they do.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::sync::watch;
use tokio::task::JoinHandle;
use windlass_core::limits::CLAIM_MAX;
use windlass_core::store::Stats;
use windlass_core::{
    ClaimRequest, Job, JobId, JobState, LeaseTime, NewJob, QueueName, Result, Store, SystemClock,
};
use windlass_store_memory::MemoryStore;
use windlass_worker::{
    AttemptContext, Connections, Handle, Options, Outcome, Runtime, Source, Stopper, Summary,
};

/// Longer than any test takes; reaching it is a failure.
pub(crate) const TIMEOUT: Duration = Duration::from_secs(60);

/// Less than the default grace period, and more than a busy machine stalls.
pub(crate) const SOON: Duration = Duration::from_secs(15);

/// One queue on a memory store.
pub(crate) struct Fixture {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) queue: QueueName,
}

impl Fixture {
    pub(crate) fn new() -> Self {
        Self::on(Arc::new(MemoryStore::new(Arc::new(SystemClock))))
    }

    /// The same on another store.
    pub(crate) fn on(store: Arc<dyn Store>) -> Self {
        Self {
            store,
            queue: QueueName::new("mail").unwrap(),
        }
    }

    /// A lease that is renewed every four seconds, and a long stop wait, so that a machine that stalls
    /// does not exceed either.
    pub(crate) fn options(&self) -> Options {
        let mut options = Options::new([Source::new(self.queue.clone())]);
        options.lease = LeaseTime::nearest(Duration::from_secs(12));
        options.stop_wait = Duration::from_secs(10);
        options
    }

    /// Enqueues jobs whose outcome is kept.
    pub(crate) async fn enqueue(&self, payloads: &[&'static str]) -> Vec<JobId> {
        let jobs = payloads
            .iter()
            .map(|payload| NewJob::new(*payload).keep_outcome());
        self.enqueue_jobs(jobs.collect()).await
    }

    pub(crate) async fn enqueue_jobs(&self, jobs: Vec<NewJob>) -> Vec<JobId> {
        let replies = self.store.enqueue(&self.queue, jobs).await.unwrap();
        replies.iter().map(|reply| reply.id().clone()).collect()
    }

    pub(crate) fn start(&self, options: Options, handler: impl Handle) -> StartedWorker {
        let connections = Connections::shared(Arc::clone(&self.store));
        let runtime = Runtime::new(connections, options, Arc::new(handler)).unwrap();
        StartedWorker {
            stopper: runtime.stopper(),
            boot: runtime.boot(),
            task: tokio::spawn(runtime.run()),
        }
    }

    /// Starts a worker with one job, and waits until its handler has started.
    pub(crate) async fn start_with_job(
        &self,
        options: Options,
        handler: impl Handle,
    ) -> (JobId, StartedWorker) {
        let begun = Count::new();
        let id = self.enqueue(&["x"]).await.remove(0);
        let worker = self.start(options, {
            let begun = begun.clone();
            move |context: AttemptContext| {
                begun.add();
                handler.handle(context)
            }
        });
        begun.reaches(1).await;
        (id, worker)
    }

    pub(crate) async fn get(&self, id: &JobId) -> Job {
        self.store
            .get(&self.queue, id)
            .await
            .unwrap()
            .expect("the job exists")
    }

    /// Waits until this many jobs are claimed.
    pub(crate) async fn until_running(&self, count: u64) {
        let claimed = async {
            while self.stats().await.running < count {
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
        };
        let claimed = tokio::time::timeout(TIMEOUT, claimed).await;
        claimed.expect("the jobs are claimed");
    }

    async fn stats(&self) -> Stats {
        let stats = self.store.stats(&self.queue).await.unwrap();
        stats.expect("the queue exists")
    }

    /// Claims all jobs that are ready, and returns their payloads in order.
    pub(crate) async fn claim_all(&self) -> Vec<String> {
        let mut payloads = Vec::new();
        let request = || ClaimRequest::single(CLAIM_MAX);
        while let Some(claim) = self.store.claim(&self.queue, request()).await.unwrap() {
            let jobs = claim.jobs.into_iter();
            payloads.extend(jobs.map(|job| String::from_utf8(job.payload.to_vec()).unwrap()));
        }
        payloads
    }

    /// Waits until a job matches.
    pub(crate) async fn until(&self, id: &JobId, matches: impl Fn(&Job) -> bool) -> Job {
        let polled = async {
            loop {
                let job = self.get(id).await;
                if matches(&job) {
                    return job;
                }
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
        };
        match tokio::time::timeout(TIMEOUT, polled).await {
            Ok(job) => job,
            Err(elapsed) => panic!(
                "{elapsed}, the job does not match: {:?}",
                self.get(id).await
            ),
        }
    }

    pub(crate) async fn until_state(&self, id: &JobId, state: JobState) -> Job {
        self.until(id, |job| job.state == state).await
    }
}

/// A running worker.
pub(crate) struct StartedWorker {
    pub(crate) stopper: Stopper,
    pub(crate) boot: windlass_core::BootId,
    task: JoinHandle<Result<Summary>>,
}

impl StartedWorker {
    pub(crate) async fn stop(self) -> Summary {
        self.stopper.stop();
        self.ended().await.unwrap()
    }

    pub(crate) async fn ended(self) -> Result<Summary> {
        tokio::time::timeout(TIMEOUT, self.task)
            .await
            .expect("the worker ends")
            .unwrap()
    }
}

/// A counter for handlers; tests can wait for a count.
#[derive(Clone)]
pub(crate) struct Count(Arc<watch::Sender<u64>>);

impl Count {
    pub(crate) fn new() -> Self {
        Self(Arc::new(watch::Sender::new(0)))
    }

    pub(crate) fn add(&self) {
        self.0.send_modify(|count| *count += 1);
    }

    pub(crate) fn remove(&self) {
        self.0.send_modify(|count| *count -= 1);
    }

    pub(crate) fn get(&self) -> u64 {
        *self.0.borrow()
    }

    pub(crate) async fn reaches(&self, least: u64) {
        let mut counts = self.0.subscribe();
        let reached = counts.wait_for(|count| *count >= least);
        tokio::time::timeout(TIMEOUT, reached)
            .await
            .expect("the count is reached")
            .unwrap();
    }
}

/// Lines that handlers recorded, in order.
#[derive(Clone, Default)]
pub(crate) struct CallLog(Arc<Mutex<Vec<String>>>);

impl CallLog {
    pub(crate) fn write(&self, line: impl Into<String>) {
        self.0.lock().unwrap().push(line.into());
    }

    pub(crate) fn read(&self) -> Vec<String> {
        self.0.lock().unwrap().clone()
    }
}

pub(crate) fn text(context: &AttemptContext) -> String {
    String::from_utf8_lossy(&context.job().payload).into_owned()
}

/// A handler that never returns.
pub(crate) async fn never_returns() -> Outcome {
    std::future::pending().await
}
