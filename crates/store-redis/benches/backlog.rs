//! What a large backlog costs: the same calls at a thousand and at a million jobs, slow calls counted.
//!
//! `cargo bench -p windlass-store-redis --bench backlog [-- JOBS]`

#![expect(clippy::print_stdout, reason = "a program that prints its figures")]
#![expect(
    clippy::cast_precision_loss,
    reason = "counts of jobs stay far below 2^53"
)]

use std::time::{Duration, Instant};

use windlass_core::Clock;
use windlass_core::{
    Changed, ClaimRequest, Hold, JobId, NewJob, QueueName, Store, SystemClock, Target, Timestamp,
};
use windlass_store_redis::{Options, RedisStore};
use windlass_testkit::redis::{Server, ServerOptions};

const BATCH: usize = 100;

/// Batches measured at each size.
const ROUNDS: usize = 200;

/// A call of the server above this long is slow.
const SLOW: Duration = Duration::from_millis(10);

struct Place {
    server: Server,
    store: RedisStore,
    queue: QueueName,
}

/// Redis' own time for scripts so far: microseconds and calls.
fn scripts(server: &Server) -> (f64, f64) {
    let text = server.command(&["INFO", "commandstats"]).text();
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix("cmdstat_evalsha:"));
    let figure = |name: &str| {
        let at = line?.split(',').find_map(|part| part.strip_prefix(name))?;
        at.parse::<f64>().ok()
    };
    (
        figure("usec=").unwrap_or_default(),
        figure("calls=").unwrap_or_default(),
    )
}

impl Place {
    async fn new() -> Self {
        let server = ServerOptions::new().tcp().start();
        let slow = SLOW.as_micros().to_string();
        server
            .command(&["CONFIG", "SET", "slowlog-log-slower-than", &slow])
            .ok();
        server
            .command(&["CONFIG", "SET", "slowlog-max-len", "100000"])
            .ok();
        let store = RedisStore::open(&server.url(), Options::default())
            .await
            .expect("opened");
        let queue = QueueName::new("backlog").expect("a good name");
        Self {
            server,
            store,
            queue,
        }
    }

    async fn fill(&self, jobs: usize, due: Option<Timestamp>) {
        for _ in 0..jobs / 500 {
            let batch = (0..500).map(|_| new_job(due)).collect();
            self.store
                .enqueue(&self.queue, batch)
                .await
                .expect("enqueued");
        }
    }

    /// Microseconds of Redis for one job of each verb, at the size the queue has.
    async fn costs(&self) -> [f64; 4] {
        let far = Timestamp::from_ms(SystemClock.now_us() / 1000 + 3_600_000);
        let jobs = (ROUNDS * BATCH) as f64;
        let mut costs = [0.0; 4];
        for (verb, cost) in costs.iter_mut().enumerate() {
            let before = scripts(&self.server).0;
            match verb {
                0 => self.rounds_of_enqueue(None).await,
                1 => self.rounds_of_enqueue(Some(far)).await,
                2 => self.rounds_of_claim().await,
                _ => self.rounds_of_complete().await,
            }
            *cost = (scripts(&self.server).0 - before) / jobs;
        }
        // The last includes a claim of as many jobs: what is left is the completion.
        costs[3] -= costs[2];
        costs
    }

    async fn rounds_of_enqueue(&self, due: Option<Timestamp>) {
        for _ in 0..ROUNDS {
            // Random due times: the place in the schedule is drawn.
            let due = due.map(|due| Timestamp::from_ms(due.as_ms() + fastrand::u64(..3_600_000)));
            let batch = (0..BATCH).map(|_| new_job(due)).collect();
            self.store
                .enqueue(&self.queue, batch)
                .await
                .expect("enqueued");
        }
    }

    async fn rounds_of_claim(&self) {
        for _ in 0..ROUNDS {
            let claim = self
                .store
                .claim(&self.queue, ClaimRequest::single(BATCH))
                .await;
            assert!(claim.expect("claimed").is_some());
        }
    }

    async fn rounds_of_complete(&self) {
        for _ in 0..ROUNDS {
            let claim = self
                .store
                .claim(&self.queue, ClaimRequest::single(BATCH))
                .await;
            let claim = claim.expect("claimed").expect("there are jobs");
            let done = claim
                .jobs
                .iter()
                .map(|job| Hold::new(job.id.clone(), claim.token).completion());
            self.store
                .complete(&self.queue, done.collect(), None)
                .await
                .expect("completed");
        }
    }

    /// Cancels, deletes and enqueues one id again and again among all that wait.
    async fn churn(&self) {
        let id = JobId::new("churn").expect("a good id");
        let target = Target::Ids(vec![id.clone()]);
        let mut longest = Duration::ZERO;
        for _ in 0..1000 {
            let began = Instant::now();
            let job = NewJob::new("x").id(id.clone());
            let answer = self
                .store
                .enqueue(&self.queue, vec![job])
                .await
                .expect("enqueued");
            assert!(!answer[0].is_duplicate());
            for changed in [
                self.store
                    .cancel(&self.queue, &target, None)
                    .await
                    .expect("cancelled"),
                self.store
                    .delete(&self.queue, &target, None)
                    .await
                    .expect("deleted"),
            ] {
                assert_eq!(changed.items[0].changed, Changed::Done);
            }
            longest = longest.max(began.elapsed());
        }
        println!(
            "cancel, delete and enqueue again, 1000 times: longest round of three calls {longest:?}"
        );
        let job = NewJob::new("x").id(id.clone());
        self.store
            .enqueue(&self.queue, vec![job])
            .await
            .expect("enqueued");
    }

    /// Claims and completes all that is ready or falls due; answers how often "churn" was run.
    async fn drain(&self, jobs: usize) -> usize {
        let (mut done, mut churned) = (0, 0);
        let mut claim = self
            .store
            .claim(&self.queue, ClaimRequest::single(BATCH))
            .await
            .expect("claimed");
        let mut empty = 0;
        while done < jobs && empty < 10_000 {
            let Some(held) = claim else {
                empty += 1;
                claim = self
                    .store
                    .claim(&self.queue, ClaimRequest::single(BATCH))
                    .await
                    .expect("claimed");
                continue;
            };
            done += held.jobs.len();
            churned += held
                .jobs
                .iter()
                .filter(|job| job.id.as_str() == "churn")
                .count();
            let items = held
                .jobs
                .iter()
                .map(|job| Hold::new(job.id.clone(), held.token).completion());
            let next = Some(ClaimRequest::single(BATCH));
            claim = self
                .store
                .complete(&self.queue, items.collect(), next)
                .await
                .expect("completed")
                .next;
        }
        println!("drained {done} jobs");
        churned
    }

    fn slow_calls(&self, what: &str, since: f64) {
        let slow = self.server.command(&["SLOWLOG", "LEN"]).integer();
        let calls = scripts(&self.server).1 - since;
        println!(
            "{what}: {slow} of {calls:.0} calls above {SLOW:?} ({:.4} %)",
            100.0 * slow as f64 / calls
        );
        let calls = self.server.command(&["SLOWLOG", "GET", "-1"]);
        let longest = calls.array().iter().map(|call| call.array()[2].integer());
        println!("    the longest: {} us", longest.max().unwrap_or_default());
        self.server.command(&["SLOWLOG", "RESET"]).ok();
    }
}

fn new_job(due: Option<Timestamp>) -> NewJob {
    let job = NewJob::new(vec![b'x'; 100]);
    match due {
        Some(due) => job.at(due),
        None => job,
    }
}

async fn run(jobs: usize) {
    let small = Place::new().await;
    small.fill(1000 + 3 * ROUNDS * BATCH, None).await;
    let few = small.costs().await;
    drop(small);
    let large = Place::new().await;
    let began = Instant::now();
    large.fill(jobs, None).await;
    // All of them fall due at one moment, after everything else here is done.
    let due = Timestamp::from_ms(SystemClock.now_us() / 1000 + 150_000);
    large.fill(jobs, Some(due)).await;
    println!(
        "{jobs} waiting and {jobs} scheduled in {:?}",
        began.elapsed()
    );
    large.slow_calls("while it was filled", 0.0);
    let before = scripts(&large.server).1;
    let many = large.costs().await;
    for (verb, (few, many)) in ["enqueue", "schedule", "claim", "complete"]
        .iter()
        .zip(few.iter().zip(many))
    {
        println!(
            "{verb:9} {few:.2} us/job at a thousand, {many:.2} at {jobs}: ratio {:.2}",
            many / few
        );
    }
    large.churn().await;
    large.slow_calls("with the backlog", before);
    let before = scripts(&large.server).1;
    let now_ms = SystemClock.now_us() / 1000;
    tokio::time::sleep(Duration::from_millis(due.as_ms().saturating_sub(now_ms))).await;
    let stats = large
        .store
        .stats(&large.queue)
        .await
        .expect("stats")
        .expect("there");
    let churned = large
        .drain(usize::try_from(stats.ready).unwrap_or(usize::MAX) + jobs)
        .await;
    println!("the id that was cancelled and deleted 1000 times ran {churned} time(s)");
    large.slow_calls("drained while all fell due at once", before);
}

fn main() {
    let jobs = std::env::args()
        .find_map(|word| word.parse().ok())
        .unwrap_or(1_000_000);
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .expect("a runtime");
    runtime.block_on(run(jobs));
}
