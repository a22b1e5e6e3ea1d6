//! The benchmark on redis-work-queue: tasks that lease and complete, each on a separate connection.

use std::time::{Duration, Instant};

use redis::aio::MultiplexedConnection;
use redis_work_queue::{Item, KeyPrefix, WorkQueue};
use tokio::task::JoinSet;
use tokio::time::sleep;
use windlass_bench_contract::{Asked, Clock, GAP, GLANCE, Pickups};

type Done = Result<(), Box<dyn std::error::Error + Send + Sync>>;

/// Long enough that no lease ends during a run.
const LEASE: Duration = Duration::from_secs(60);

static PICKUPS: Pickups = Pickups::new();

/// In a task, as the handlers of a web server are: replies are read by the threads that run tasks.
#[tokio::main]
async fn main() -> Done {
    tokio::spawn(run()).await?
}

async fn run() -> Done {
    let asked = Asked::read();
    let client = redis::Client::open(asked.url.as_str())?;
    let mut db = client.get_multiplexed_async_connection().await?;
    match asked.scenario.as_str() {
        "enqueue-one" => enqueue_one(&asked, &mut db).await,
        "enqueue-bulk" => enqueue_bulk(&asked, &mut db).await,
        "process" => process(&asked, &client).await,
        "pickup" => pickup(&asked, &client, &mut db).await,
        other => Err(format!("no such scenario: {other}").into()),
    }
}

fn queue() -> WorkQueue {
    WorkQueue::new(KeyPrefix::new("bench".to_owned()))
}

async fn enqueue_one(asked: &Asked, db: &mut MultiplexedConnection) -> Done {
    let queue = queue();
    let began = Instant::now();
    for _ in 0..asked.jobs {
        queue
            .add_item(db, &Item::from_string_data(asked.stamped()))
            .await?;
    }
    asked.tell_rate(began.elapsed());
    Ok(())
}

async fn enqueue_bulk(asked: &Asked, db: &mut MultiplexedConnection) -> Done {
    let queue = queue();
    let began = Instant::now();
    for size in asked.bulks() {
        let mut pipeline = redis::pipe();
        for _ in 0..size {
            let item = Item::from_string_data(asked.stamped());
            queue.add_unique_item_to_pipeline(&mut pipeline, &item);
        }
        pipeline.query_async::<()>(db).await?;
    }
    asked.tell_rate(began.elapsed());
    Ok(())
}

/// Starts the workers; each calls `act` with the item it leased and then completes it.
async fn start(
    asked: &Asked,
    client: &redis::Client,
    act: impl Fn(&str) + Copy + Send + 'static,
) -> Result<JoinSet<()>, redis::RedisError> {
    let mut workers = JoinSet::new();
    for _ in 0..asked.concurrency {
        let mut db = client.get_multiplexed_async_connection().await?;
        // A blocking lease has no timeout.
        db.set_response_timeout(Duration::from_secs(120));
        workers.spawn(async move {
            let queue = queue();
            loop {
                let item = queue.lease(&mut db, None, LEASE).await.expect("a lease");
                if let Some(item) = item {
                    act(&String::from_utf8_lossy(&item.data));
                    queue.complete(&mut db, &item).await.expect("completed");
                }
            }
        });
    }
    Ok(workers)
}

async fn process(asked: &Asked, client: &redis::Client) -> Done {
    let clock: &'static Clock = Box::leak(Box::new(Clock::new(asked.jobs)));
    let mut workers = start(asked, client, |_| clock.tick()).await?;
    let took = loop {
        match clock.took() {
            Some(took) => break took,
            None => sleep(GLANCE).await,
        }
    };
    // The last ones are completed before their workers end.
    sleep(GAP).await;
    workers.shutdown().await;
    asked.tell_rate(took);
    Ok(())
}

async fn pickup(asked: &Asked, client: &redis::Client, db: &mut MultiplexedConnection) -> Done {
    let mut workers = start(asked, client, |data| PICKUPS.note(data)).await?;
    let queue = queue();
    for sent in 1..=asked.jobs {
        sleep(GAP).await;
        queue
            .add_item(db, &Item::from_string_data(asked.stamped()))
            .await?;
        while PICKUPS.count() < sent {
            sleep(GLANCE).await;
        }
    }
    workers.shutdown().await;
    PICKUPS.tell();
    Ok(())
}
