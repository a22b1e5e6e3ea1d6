//! The real worker, until so many jobs have run.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use tokio::sync::Notify;
use tokio::task::JoinHandle;
use windlass::runtime::{AttemptContext, Options, Runtime};
use windlass::{OpenMode, Outcome, QueueName, Result, Source, StoreUrl, Summary};

use super::QUEUE;
use crate::fault;
use crate::stage::Stage;
use crate::tasks::{StopOnDrop, panicked};

/// A run that makes no headway for this long is given up.
const STALL_MAX: Duration = Duration::from_secs(120);

/// How often a watcher looks at the count.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// A worker at work.
#[derive(Debug)]
pub(crate) struct Working {
    stop: StopOnDrop,
    task: JoinHandle<Result<Summary>>,
    count: Arc<Count>,
    wanted: u64,
}

/// Handlers that have run.
#[derive(Debug, Default)]
struct Count {
    ran: AtomicU64,
    reached: Notify,
}

impl Working {
    /// Starts a worker on a store; `note` sees each job at the start of its handler.
    pub(crate) async fn start(
        stage: &Stage<'_>,
        url: &StoreUrl,
        jobs: u64,
        note: impl Fn(&AttemptContext) + Send + Sync + 'static,
    ) -> Result<Self> {
        let stores = windlass::open_connections(url, OpenMode::CreateIfMissing).await?;
        let mut options = Options::new([Source::new(QueueName::new(QUEUE)?)]);
        "bench".clone_into(&mut options.name);
        options.concurrency = stage.plan.concurrency;
        let count = Arc::new(Count::default());
        let counted = Arc::clone(&count);
        let handler = move |context: AttemptContext| {
            note(&context);
            if counted.ran.fetch_add(1, Ordering::Relaxed) + 1 == jobs {
                counted.reached.notify_one();
            }
            std::future::ready(Outcome::done())
        };
        let runtime = Runtime::new(stores, options, Arc::new(handler))?;
        let stop = StopOnDrop(runtime.stopper());
        let task = stage.tasks.spawn_lasting(runtime.run());
        Ok(Self {
            stop,
            task,
            count,
            wanted: jobs,
        })
    }

    /// Waits until all jobs have run.
    pub(crate) async fn reached(&mut self, stage: &Stage<'_>) -> Result<()> {
        let mut last = (0, Instant::now());
        let mut look = tokio::time::interval(LOOK_EVERY);
        loop {
            tokio::select! {
                () = self.count.reached.notified() => return Ok(()),
                ended = &mut self.task => {
                    let summary = ended.map_err(panicked)??;
                    return Err(fault::internal(format!("the worker ended early: {summary:?}")));
                }
                _ = look.tick() => {}
            }
            let ran = self.count.ran.load(Ordering::Relaxed);
            stage.progress.reached(ran);
            if ran > last.0 {
                last = (ran, Instant::now());
            } else if last.1.elapsed() > STALL_MAX {
                let why = format!("{ran} of {} jobs ran, then none did", self.wanted);
                return Err(fault::internal(why));
            }
        }
    }

    /// Stops the worker; every job must have ended well.
    pub(crate) async fn end(self) -> Result<()> {
        self.stop.0.stop();
        let summary = self.task.await.map_err(panicked)??;
        if summary.succeeded < self.wanted {
            let wanted = self.wanted;
            let why = format!(
                "only {} of {wanted} jobs ended well: {summary:?}",
                summary.succeeded
            );
            return Err(fault::internal(why));
        }
        Ok(())
    }
}

/// Works off a full queue; answers how long it took.
pub(crate) async fn process(stage: &Stage<'_>, url: &StoreUrl, jobs: u64) -> Result<Duration> {
    let began = Instant::now();
    let mut working = Working::start(stage, url, jobs, |_| {}).await?;
    working.reached(stage).await?;
    let took = began.elapsed();
    working.end().await?;
    Ok(took)
}
