//! The benchmark on Windlass itself, through the public library.

use std::time::Instant;

use serde::{Deserialize, Serialize};
use tokio::time::sleep;
use windlass::{Client, JobError, TypedJob, Worker};
use windlass_bench_contract::{Asked, Clock, GAP, GLANCE, Pickups};

#[derive(Serialize, Deserialize, TypedJob)]
#[job(kind = "noop", queue = "bench")]
struct Noop {
    data: String,
}

type Done = Result<(), Box<dyn std::error::Error + Send + Sync>>;

/// In a task, as the handlers of a web server are: replies are read by the threads that run tasks.
#[tokio::main]
async fn main() -> Done {
    tokio::spawn(run()).await?
}

async fn run() -> Done {
    let asked = Asked::read();
    let client = Client::connect(&asked.url).await?;
    match asked.scenario.as_str() {
        "enqueue-one" => enqueue_one(&asked, &client).await,
        "enqueue-bulk" => enqueue_bulk(&asked, &client).await,
        "process" => process(&asked, client).await,
        "pickup" => pickup(&asked, &client).await,
        other => Err(format!("no such scenario: {other}").into()),
    }
}

async fn enqueue_one(asked: &Asked, client: &Client) -> Done {
    let began = Instant::now();
    for _ in 0..asked.jobs {
        client
            .enqueue(Noop {
                data: asked.stamped(),
            })
            .await?;
    }
    asked.tell_rate(began.elapsed());
    Ok(())
}

async fn enqueue_bulk(asked: &Asked, client: &Client) -> Done {
    let began = Instant::now();
    for size in asked.bulks() {
        let jobs = (0..size).map(|_| Noop {
            data: asked.stamped(),
        });
        for answer in client.enqueue_many(jobs).await {
            answer?;
        }
    }
    asked.tell_rate(began.elapsed());
    Ok(())
}

async fn process(asked: &Asked, client: Client) -> Done {
    let clock: &'static Clock = Box::leak(Box::new(Clock::new(asked.jobs)));
    let work = move |_: Noop| async move {
        clock.tick();
        Ok::<(), JobError>(())
    };
    let worker = Worker::new(client)
        .concurrency(asked.concurrency)
        .handle(work)
        .start()?;
    let took = loop {
        match clock.took() {
            Some(took) => break took,
            None => sleep(GLANCE).await,
        }
    };
    worker.stop().await?;
    asked.tell_rate(took);
    Ok(())
}

async fn pickup(asked: &Asked, client: &Client) -> Done {
    static PICKUPS: Pickups = Pickups::new();
    async fn work(job: Noop) -> Result<(), JobError> {
        PICKUPS.note(&job.data);
        Ok(())
    }
    // The producer and the worker share only the server.
    let own = Client::connect(&asked.url).await?;
    let worker = Worker::new(own)
        .concurrency(asked.concurrency)
        .handle(work)
        .start()?;
    for sent in 1..=asked.jobs {
        sleep(GAP).await;
        client
            .enqueue(Noop {
                data: asked.stamped(),
            })
            .await?;
        while PICKUPS.count() < sent {
            sleep(GLANCE).await;
        }
    }
    worker.stop().await?;
    PICKUPS.tell();
    Ok(())
}
