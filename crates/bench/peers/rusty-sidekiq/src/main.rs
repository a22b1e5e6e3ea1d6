//! The benchmark on rusty-sidekiq: its processor with the requested number of workers and connections.

use std::sync::OnceLock;
use std::time::Instant;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use sidekiq::{Processor, ProcessorConfig, RedisConnectionManager, RedisPool, Worker};
use tokio::time::sleep;
use windlass_bench_contract::{Asked, Clock, GAP, GLANCE, Pickups, tell_nothing};

type Done = Result<(), Box<dyn std::error::Error>>;

static CLOCK: OnceLock<Clock> = OnceLock::new();
static PICKUPS: Pickups = Pickups::new();

#[derive(Clone)]
struct Noop;

#[derive(Debug, Serialize, Deserialize)]
struct Data {
    data: String,
}

#[async_trait]
impl Worker<Data> for Noop {
    async fn perform(&self, data: Data) -> sidekiq::Result<()> {
        match CLOCK.get() {
            Some(clock) => clock.tick(),
            None => PICKUPS.note(&data.data),
        }
        Ok(())
    }
}

#[tokio::main]
async fn main() -> Done {
    let asked = Asked::read();
    match asked.scenario.as_str() {
        "enqueue-one" => enqueue_one(&asked).await,
        "enqueue-bulk" => {
            tell_nothing();
            Ok(())
        }
        "process" => process(&asked).await,
        "pickup" => pickup(&asked).await,
        other => Err(format!("no such scenario: {other}").into()),
    }
}

async fn pool(asked: &Asked, size: usize) -> Result<RedisPool, Box<dyn std::error::Error>> {
    let manager = RedisConnectionManager::new(asked.url.as_str())?;
    let builder = bb8::Pool::builder().max_size(u32::try_from(size)?);
    Ok(builder.build(manager).await?)
}

async fn enqueue_one(asked: &Asked) -> Done {
    let pool = pool(asked, 1).await?;
    let began = Instant::now();
    for _ in 0..asked.jobs {
        Noop::perform_async(
            &pool,
            Data {
                data: asked.stamped(),
            },
        )
        .await?;
    }
    asked.tell_rate(began.elapsed());
    Ok(())
}

/// A processor; every worker blocks on a separate connection, and a few more serve the rest.
async fn processor(asked: &Asked) -> Result<Processor, Box<dyn std::error::Error>> {
    let pool = pool(asked, asked.concurrency + 10).await?;
    let config = ProcessorConfig::default().num_workers(asked.concurrency);
    let mut processor = Processor::new(pool, vec!["default".to_owned()]).with_config(config);
    processor.register(Noop);
    Ok(processor)
}

async fn process(asked: &Asked) -> Done {
    let clock = CLOCK.get_or_init(|| Clock::new(asked.jobs));
    let worker = tokio::spawn(processor(asked).await?.run());
    let took = loop {
        match clock.took() {
            Some(took) => break took,
            None => sleep(GLANCE).await,
        }
    };
    sleep(GAP).await;
    worker.abort();
    asked.tell_rate(took);
    Ok(())
}

async fn pickup(asked: &Asked) -> Done {
    let own = pool(asked, 1).await?;
    let worker = tokio::spawn(processor(asked).await?.run());
    for sent in 1..=asked.jobs {
        sleep(GAP).await;
        Noop::perform_async(
            &own,
            Data {
                data: asked.stamped(),
            },
        )
        .await?;
        while PICKUPS.count() < sent {
            sleep(GLANCE).await;
        }
    }
    worker.abort();
    PICKUPS.tell();
    Ok(())
}
