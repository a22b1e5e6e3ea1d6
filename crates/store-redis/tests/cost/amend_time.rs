//! The time that the server spends on an enqueue that replaces a job, next to one of a new job with a unique
//! key and a delay. Prints it; run it by hand:
//!
//! ```text
//! cargo test -p windlass-store-redis --test cost -- --ignored --nocapture replace
//! ```

use std::time::Duration;

use windlass_core::store::{OnDuplicate, UniqueKey};
use windlass_core::{NewJob, QueueName, Store};
use windlass_store_redis::{Options, RedisStore};
use windlass_testkit::redis::Server;

const ROUNDS: usize = 20;
const CALLS: usize = 500;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "prints times: see the top of this file"]
async fn print_the_time_of_an_enqueue_that_replaces_a_job() {
    let server = Server::start();
    let store = RedisStore::open(&server.url(), Options::default()).await;
    let store = store.unwrap();
    let job = |key: String| {
        let job = NewJob::new(vec![b'x'; 100]).unique_key(UniqueKey::new(key).unwrap());
        job.delay(Duration::from_secs(3600))
    };
    let [new, replaced] = ["new", "replaced"].map(|name| QueueName::new(name).unwrap());
    let mut rounds = Vec::new();
    for round in 0..ROUNDS {
        let mut spent = [0, 0];
        for (at, spent) in spent.iter_mut().enumerate() {
            let before = evalsha_us(&server);
            for call in 0..CALLS {
                let (queue, job) = if at == 0 {
                    (&new, job(format!("{round} {call}")))
                } else {
                    let job = job(format!("{call}"));
                    (&replaced, job.on_duplicate(OnDuplicate::Replace))
                };
                store.enqueue(queue, vec![job]).await.unwrap();
            }
            *spent = evalsha_us(&server) - before;
        }
        rounds.push(spent);
    }
    // The first round stores the jobs that the others replace.
    let mut rounds = rounds.split_off(1);
    rounds.sort_by_key(|[new, replaced]| replaced - new);
    let [new, replaced] = rounds[rounds.len() / 2];
    println!("us per {CALLS} calls: new {new}, replaced {replaced} (median difference)");
}

/// The time spent in scripts so far.
fn evalsha_us(server: &Server) -> i64 {
    let text = server.command(&["INFO", "commandstats"]).ok().text();
    let line = text
        .lines()
        .find(|line| line.starts_with("cmdstat_evalsha:"));
    let us = line.and_then(|line| line.split("usec=").nth(1));
    let us = us.and_then(|text| text.split(',').next());
    us.and_then(|text| text.parse().ok()).unwrap_or_default()
}
