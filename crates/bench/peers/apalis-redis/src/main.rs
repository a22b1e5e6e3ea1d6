//! The benchmark on apalis-redis: one worker that runs each job in a separate task.

use std::sync::OnceLock;
use std::time::{Duration, Instant};

use apalis::prelude::*;
use apalis_redis::{Config, RedisStorage};
use serde::{Deserialize, Serialize};
use tokio::task::JoinHandle;
use tokio::time::sleep;
use windlass_bench_contract::{Asked, Clock, GAP, GLANCE, Pickups};

type Done = Result<(), BoxDynError>;
type Started = JoinHandle<Result<(), WorkerError>>;

/// How often an idle worker polls for jobs.
const LOOK: Duration = Duration::from_millis(10);

static CLOCK: OnceLock<Clock> = OnceLock::new();
static PICKUPS: Pickups = Pickups::new();

#[derive(Debug, Clone, Serialize, Deserialize)]
struct Noop {
    data: String,
}

async fn work(job: Noop) -> Result<(), BoxDynError> {
    match CLOCK.get() {
        Some(clock) => clock.tick(),
        None => PICKUPS.note(&job.data),
    }
    Ok(())
}

/// In a task, as the handlers of a web server are: replies are read by the threads that run tasks.
#[tokio::main]
async fn main() -> Done {
    tokio::spawn(run()).await?
}

async fn run() -> Done {
    let asked = Asked::read();
    let connection = apalis_redis::connect(asked.url.as_str()).await?;
    let mut storage = RedisStorage::new(connection).with_config(config(&asked));
    match asked.scenario.as_str() {
        "enqueue-one" => enqueue_one(&asked, &mut storage).await,
        "enqueue-bulk" => enqueue_bulk(&asked, &mut storage).await,
        "process" => process(&asked).await,
        "pickup" => pickup(&asked, &mut storage).await,
        other => Err(format!("no such scenario: {other}").into()),
    }
}

fn config(asked: &Asked) -> Config {
    // Results and events are not used here. Locks stay on: they make jobs survive a crash.
    let mut config = Config::default()
        .queue("bench")
        .batch_size(asked.concurrency);
    config.persist_results = false;
    config.emit_events = false;
    config
}

async fn enqueue_one(asked: &Asked, storage: &mut RedisStorage<Noop>) -> Done {
    let began = Instant::now();
    for _ in 0..asked.jobs {
        storage
            .push(Noop {
                data: asked.stamped(),
            })
            .await?;
    }
    asked.tell_rate(began.elapsed());
    Ok(())
}

async fn enqueue_bulk(asked: &Asked, storage: &mut RedisStorage<Noop>) -> Done {
    let began = Instant::now();
    for size in asked.bulks() {
        let jobs = (0..size)
            .map(|_| Noop {
                data: asked.stamped(),
            })
            .collect();
        storage.push_bulk(jobs).await?;
    }
    asked.tell_rate(began.elapsed());
    Ok(())
}

/// Starts the worker. A job pushed for now is stored as due now without a notification: an idle worker
/// finds it when it polls.
async fn start(asked: &Asked) -> Result<Started, BoxDynError> {
    let connection = apalis_redis::connect(asked.url.as_str()).await?;
    let storage = RedisStorage::new(connection).with_config(config(asked));
    let worker = WorkerBuilder::new("bench")
        .backend(storage.poll_with_interval(LOOK))
        .concurrency(asked.concurrency)
        .parallelize(tokio::spawn)
        .build(work);
    Ok(tokio::spawn(worker.run()))
}

/// Waits for a moment; returns an error if the worker ended.
async fn glance(worker: &mut Started) -> Done {
    if worker.is_finished() {
        worker.await??;
        return Err("the worker ended before its jobs did".into());
    }
    sleep(GLANCE).await;
    Ok(())
}

async fn process(asked: &Asked) -> Done {
    let clock = CLOCK.get_or_init(|| Clock::new(asked.jobs));
    let mut worker = start(asked).await?;
    let took = loop {
        match clock.took() {
            Some(took) => break took,
            None => glance(&mut worker).await?,
        }
    };
    sleep(GAP).await;
    worker.abort();
    asked.tell_rate(took);
    Ok(())
}

async fn pickup(asked: &Asked, producer: &mut RedisStorage<Noop>) -> Done {
    let mut worker = start(asked).await?;
    for sent in 1..=asked.jobs {
        sleep(GAP).await;
        producer
            .push(Noop {
                data: asked.stamped(),
            })
            .await?;
        while PICKUPS.count() < sent {
            glance(&mut worker).await?;
        }
    }
    worker.abort();
    PICKUPS.tell();
    Ok(())
}
