//! A store, a worker on it, and ways to wait for what they do.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::sync::watch;
use tokio::task::JoinHandle;
use windlass_core::{Job, JobId, JobState, NewJob, QueueName, Result, Store, SystemClock};
use windlass_store_memory::MemoryStore;
use windlass_worker::{
    Context, Handle, Options, Outcome, Runtime, Source, Stopper, Stores, Summary,
};

/// Longer than anything here takes; reaching it is a failure.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// Less than the grace that a worker has by itself, and more than a busy machine stands still.
pub(crate) const SOON: Duration = Duration::from_secs(15);

/// One queue on a store in memory.
pub(crate) struct Scene {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) queue: QueueName,
}

impl Scene {
    pub(crate) fn new() -> Self {
        Self::on(Arc::new(MemoryStore::new(Arc::new(SystemClock))))
    }

    /// The same on a store that was made for the test.
    pub(crate) fn on(store: Arc<dyn Store>) -> Self {
        Self {
            store,
            queue: QueueName::new("mail").unwrap(),
        }
    }

    /// A lease that is renewed every four seconds, and a time to stop in that no handler needs: none
    /// of the two ends because a busy machine stands still.
    pub(crate) fn options(&self) -> Options {
        let mut options = Options::new([Source::new(self.queue.clone())]);
        options.lease = Duration::from_secs(12);
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
        let answers = self.store.enqueue(&self.queue, jobs).await.unwrap();
        answers.iter().map(|answer| answer.id().clone()).collect()
    }

    pub(crate) fn start(&self, options: Options, handler: impl Handle) -> Running {
        let stores = Stores::shared(Arc::clone(&self.store));
        let runtime = Runtime::new(stores, options, Arc::new(handler)).unwrap();
        Running {
            stopper: runtime.stopper(),
            boot: runtime.boot(),
            task: tokio::spawn(runtime.run()),
        }
    }

    /// Starts a worker on one job, and waits until its handler has begun.
    pub(crate) async fn at_work(&self, options: Options, handler: impl Handle) -> (JobId, Running) {
        let begun = Count::new();
        let id = self.enqueue(&["x"]).await.remove(0);
        let worker = self.start(options, {
            let begun = begun.clone();
            move |context: Context| {
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
            .expect("the job is there")
    }

    /// Waits until a job is as asked.
    pub(crate) async fn until(&self, id: &JobId, is_it: impl Fn(&Job) -> bool) -> Job {
        let looked = async {
            loop {
                let job = self.get(id).await;
                if is_it(&job) {
                    return job;
                }
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
        };
        match tokio::time::timeout(PATIENCE, looked).await {
            Ok(job) => job,
            Err(elapsed) => panic!("{elapsed}, not as asked: {:?}", self.get(id).await),
        }
    }

    pub(crate) async fn until_state(&self, id: &JobId, state: JobState) -> Job {
        self.until(id, |job| job.state == state).await
    }
}

/// A worker at work.
pub(crate) struct Running {
    pub(crate) stopper: Stopper,
    pub(crate) boot: windlass_core::BootId,
    task: JoinHandle<Result<Summary>>,
}

impl Running {
    pub(crate) async fn stop(self) -> Summary {
        self.stopper.stop();
        self.ended().await.unwrap()
    }

    pub(crate) async fn ended(self) -> Result<Summary> {
        tokio::time::timeout(PATIENCE, self.task)
            .await
            .expect("the worker ends")
            .unwrap()
    }
}

/// Counts what goes on in handlers, and lets tests wait for a count.
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
        tokio::time::timeout(PATIENCE, reached)
            .await
            .expect("the count is reached")
            .unwrap();
    }
}

/// What handlers wrote down, in order.
#[derive(Clone, Default)]
pub(crate) struct Notes(Arc<Mutex<Vec<String>>>);

impl Notes {
    pub(crate) fn write(&self, note: impl Into<String>) {
        self.0.lock().unwrap().push(note.into());
    }

    pub(crate) fn read(&self) -> Vec<String> {
        self.0.lock().unwrap().clone()
    }
}

pub(crate) fn text(context: &Context) -> String {
    String::from_utf8_lossy(&context.job().payload).into_owned()
}

/// A handler that never ends by itself.
pub(crate) async fn for_ever() -> Outcome {
    std::future::pending().await
}
