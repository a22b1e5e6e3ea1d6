//! Measures what `durability=replicated:1` costs: calls per second of one job each, compared with
//! `memory` on the same primary in the same round.
//!
//! `cargo run --release -p windlass-store-redis --example durability_cost`

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a measurement ends at the first error and prints its result"
)]

use std::time::Instant;

use tokio::task::JoinSet;
use windlass_core::{ClaimRequest, JobLease, NewJob, QueueName, Store};
use windlass_store_redis::{Options, RedisStore};
use windlass_testkit::redis::{Server, ServerOptions, until};

/// Calls of each verb in a round.
const CALLS: u32 = 3_000;

const ROUNDS: usize = 5;

const VERBS: [&str; 3] = ["enqueue", "claim", "complete"];

#[tokio::main]
async fn main() {
    let primary = ServerOptions::new().tcp().start();
    let _replica = replica_of(&primary);
    let open = |level: &str| {
        let url = format!("{}?durability={level}", primary.url());
        async move { RedisStore::open(&url, Options::default()).await.unwrap() }
    };
    let (memory, replicated) = (open("memory").await, open("replicated:1").await);
    println!("calls/s: memory, replicated:1, ratio (medians of {ROUNDS} rounds)");
    for concurrency in [1, 10, 100] {
        let mut rounds = Vec::new();
        for round in 0..ROUNDS {
            let q = QueueName::new(format!("{concurrency}-{round}")).unwrap();
            rounds.push((
                measure(&memory, &q, concurrency).await,
                measure(&replicated, &q, concurrency).await,
            ));
        }
        for (at, verb) in VERBS.into_iter().enumerate() {
            let memory = median(rounds.iter().map(|round| round.0[at]));
            let replicated = median(rounds.iter().map(|round| round.1[at]));
            let ratio = median(rounds.iter().map(|round| round.1[at] / round.0[at]));
            println!("{verb:8} x{concurrency:<3} {memory:8.0} {replicated:8.0} {ratio:.2}");
        }
    }
}

fn replica_of(primary: &Server) -> Server {
    let replica = ServerOptions::new().tcp().start();
    let port = primary.port().to_string();
    replica.command(&["REPLICAOF", "127.0.0.1", &port]).ok();
    until("the replica is connected", || {
        let info = replica.ask(&["INFO", "replication"])?;
        let is_up = info.field("master_link_status").as_deref() == Some("up");
        is_up.then_some(()).ok_or_else(|| info.text())
    });
    replica
}

/// The calls per second of each verb.
async fn measure(store: &RedisStore, q: &QueueName, concurrency: u32) -> [f64; 3] {
    let mut rates = [0.0; 3];
    let mut leases: Vec<Vec<JobLease>> = (0..concurrency).map(|_| Vec::new()).collect();
    for (at, rate) in rates.iter_mut().enumerate() {
        let started = Instant::now();
        let mut tasks = JoinSet::new();
        for held in leases.drain(..) {
            let (store, q) = (store.clone(), q.clone());
            tasks.spawn(async move { call(&store, &q, at, CALLS / concurrency, held).await });
        }
        leases = tasks.join_all().await;
        *rate = f64::from(CALLS) / started.elapsed().as_secs_f64();
    }
    rates
}

/// Calls a verb and returns the leases that it leaves.
async fn call(
    store: &RedisStore,
    q: &QueueName,
    verb: usize,
    calls: u32,
    mut held: Vec<JobLease>,
) -> Vec<JobLease> {
    for _ in 0..calls {
        match verb {
            0 => drop(store.enqueue(q, vec![NewJob::new("job")]).await.unwrap()),
            1 => {
                let claim = store.claim(q, ClaimRequest::single(1)).await.unwrap();
                let claim = claim.expect("there are as many jobs as claims");
                held.push(JobLease::new(claim.jobs[0].id.clone(), claim.token));
            }
            _ => {
                let done = vec![held.pop().expect("a claim").completion()];
                drop(store.complete(q, done, None).await.unwrap());
            }
        }
    }
    held
}

fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
