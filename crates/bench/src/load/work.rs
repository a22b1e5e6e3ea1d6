//! Runs the real worker until a number of jobs have run.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use tokio::sync::Notify;
use tokio::task::JoinHandle;
use windlass::runtime::{
    Source, Summary, {AttemptContext, Options, Runtime},
};
use windlass::{OpenMode, Outcome, QueueName, Result, StoreUrl};

use super::QUEUE;
use crate::context::BenchContext;
use crate::error;
use crate::tasks::{StopOnDrop, panicked};

/// A run without progress for this long is aborted.
const STALL_MAX: Duration = Duration::from_secs(120);

/// How often the count is polled.
const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// A running worker.
#[derive(Debug)]
pub(crate) struct RunningWorker {
    stop: StopOnDrop,
    task: JoinHandle<Result<Summary>>,
    count: Arc<Count>,
    wanted: u64,
}

/// Number of handlers that have run.
#[derive(Debug, Default)]
struct Count {
    ran: AtomicU64,
    reached: Notify,
}

impl RunningWorker {
    /// Starts a worker; `on_start` is called for each job at the start of its handler.
    pub(crate) async fn start(
        context: &BenchContext<'_>,
        url: &StoreUrl,
        jobs: u64,
        on_start: impl Fn(&AttemptContext) + Send + Sync + 'static,
    ) -> Result<Self> {
        let queue = QueueName::new(QUEUE)?;
        let handler = move |context: AttemptContext| {
            on_start(&context);
            std::future::ready(Outcome::done())
        };
        let concurrency = context.plan.concurrency;
        Self::start_on(context, url, queue, concurrency, jobs, handler).await
    }

    /// Starts a worker of a queue; `handler` runs its jobs.
    pub(crate) async fn start_on<F: Future<Output = Outcome> + Send + 'static>(
        context: &BenchContext<'_>,
        url: &StoreUrl,
        queue: QueueName,
        concurrency: usize,
        jobs: u64,
        handler: impl Fn(AttemptContext) -> F + Send + Sync + 'static,
    ) -> Result<Self> {
        let stores = windlass::runtime::open_connections(url, OpenMode::CreateIfMissing).await?;
        let mut options = Options::new([Source::new(queue)]);
        "bench".clone_into(&mut options.name);
        options.concurrency = concurrency;
        let count = Arc::new(Count::default());
        let counted = Arc::clone(&count);
        let handler = move |context: AttemptContext| {
            let attempt = handler(context);
            if counted.ran.fetch_add(1, Ordering::Relaxed) + 1 == jobs {
                counted.reached.notify_one();
            }
            attempt
        };
        let runtime = Runtime::new(stores, options, Arc::new(handler))?;
        let stop = StopOnDrop(runtime.stopper());
        let task = context.tasks.spawn_detached(runtime.run());
        Ok(Self {
            stop,
            task,
            count,
            wanted: jobs,
        })
    }

    /// Waits until all jobs have run.
    pub(crate) async fn reached(&mut self, context: &BenchContext<'_>) -> Result<()> {
        let mut last = (0, Instant::now());
        let mut ticks = tokio::time::interval(POLL_INTERVAL);
        loop {
            tokio::select! {
                () = self.count.reached.notified() => return Ok(()),
                ended = &mut self.task => {
                    let summary = ended.map_err(panicked)??;
                    return Err(error::internal(format!("the worker exited early: {summary:?}")));
                }
                _ = ticks.tick() => {}
            }
            let ran = self.count.ran.load(Ordering::Relaxed);
            context.progress.reached(ran);
            if ran > last.0 {
                last = (ran, Instant::now());
            } else if last.1.elapsed() > STALL_MAX {
                let why = format!("no progress after {ran} of {} jobs", self.wanted);
                return Err(error::internal(why));
            }
        }
    }

    /// Stops the worker. Fails unless every job succeeded.
    pub(crate) async fn end(self) -> Result<()> {
        self.stop.0.stop();
        let summary = self.task.await.map_err(panicked)??;
        if summary.succeeded < self.wanted {
            let wanted = self.wanted;
            let why = format!(
                "only {} of {wanted} jobs succeeded: {summary:?}",
                summary.succeeded
            );
            return Err(error::internal(why));
        }
        Ok(())
    }
}

/// Drains a full queue. Returns how long it took.
pub(crate) async fn process(
    context: &BenchContext<'_>,
    url: &StoreUrl,
    jobs: u64,
) -> Result<Duration> {
    let began = Instant::now();
    let mut worker = RunningWorker::start(context, url, jobs, |_| {}).await?;
    worker.reached(context).await?;
    let took = began.elapsed();
    worker.end().await?;
    Ok(took)
}
