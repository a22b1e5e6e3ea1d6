//! Jobs a second, Redis' CPU, bytes and calls per job, beside the bare engine in the same run.
//!
//! `cargo bench -p windlass-store-redis --bench throughput [-- JOBS]`

#![expect(clippy::print_stdout, reason = "a program that prints its figures")]
#![expect(
    clippy::cast_precision_loss,
    reason = "counts of jobs stay far below 2^53"
)]

use std::future::Future;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use redis::aio::MultiplexedConnection;
use windlass_core::{BootId, Claim, ClaimRequest, Hold, NewJob, QueueName, Store};
use windlass_store_redis::{Options, RedisStore};
use windlass_testkit::redis::{Server, ServerOptions};

/// Jobs of one call.
const BATCH: usize = 100;

/// Callers at once, where batches are sent.
const CALLERS: usize = 4;

/// Callers at once, where single jobs are sent.
const SINGLE_CALLERS: usize = 100;

/// What is measured around a piece of work.
struct Figure {
    per_second: f64,
    cpu_us: f64,
    calls: f64,
}

fn info(server: &Server, section: &str, field: &str) -> f64 {
    let text = server.command(&["INFO", section]).text();
    text.lines()
        .filter_map(|line| line.strip_prefix(field)?.strip_prefix(':'))
        .find_map(|value| value.trim().parse::<f64>().ok())
        .unwrap_or_default()
}

fn cpu_us(server: &Server) -> f64 {
    1e6 * (info(server, "cpu", "used_cpu_user") + info(server, "cpu", "used_cpu_sys"))
}

/// Calls sent by clients: scripts, and what the bare engine is sent. What scripts call is not.
fn calls(server: &Server) -> f64 {
    let text = server.command(&["INFO", "commandstats"]).text();
    let count = |line: &str| {
        let rest = ["cmdstat_evalsha:calls=", "cmdstat_eval:calls="]
            .iter()
            .find_map(|prefix| line.strip_prefix(prefix))?;
        rest.split(',').next()?.parse::<f64>().ok()
    };
    text.lines().filter_map(count).sum()
}

async fn measured<F: Future<Output = ()>>(server: &Server, jobs: usize, work: F) -> Figure {
    let (cpu_before, calls_before) = (cpu_us(server), calls(server));
    let began = Instant::now();
    work.await;
    let seconds = began.elapsed().as_secs_f64();
    let count = jobs as f64;
    Figure {
        per_second: count / seconds,
        cpu_us: (cpu_us(server) - cpu_before) / count,
        calls: (calls(server) - calls_before) / count,
    }
}

/// Runs `callers` tasks, each with its number.
async fn all<F, W>(callers: usize, work: W)
where
    F: Future<Output = ()> + Send + 'static,
    W: Fn(usize) -> F,
{
    let tasks: Vec<_> = (0..callers).map(|n| tokio::spawn(work(n))).collect();
    for task in tasks {
        task.await.expect("a caller ends well");
    }
}

fn payload() -> Bytes {
    Bytes::from(vec![b'x'; 100])
}

async fn connect(server: &Server) -> MultiplexedConnection {
    let client = redis::Client::open(format!("redis://127.0.0.1:{}/", server.port()))
        .expect("the address is right");
    let config =
        redis::AsyncConnectionConfig::new().set_response_timeout(Some(Duration::from_secs(60)));
    client
        .get_multiplexed_async_connection_with_config(&config)
        .await
        .expect("the server is there")
}

/// The bare engine: packed strings in a list, and one script that takes the next batch.
async fn bare(server: &Server, jobs: usize) -> (Figure, Figure, Figure) {
    let connection = connect(server).await;
    let packed = {
        let mut packed = vec![b'i'; 26];
        packed.extend_from_slice(&payload());
        packed
    };
    let enqueue = measured(
        server,
        jobs,
        all(CALLERS, |_| {
            let (mut connection, packed) = (connection.clone(), packed.clone());
            async move {
                for _ in 0..jobs / BATCH / CALLERS {
                    let mut push = redis::cmd("RPUSH");
                    push.arg("bare");
                    for _ in 0..BATCH {
                        push.arg(&packed[..]);
                    }
                    let _: i64 = push.query_async(&mut connection).await.expect("pushed");
                }
            }
        }),
    )
    .await;
    let script = "redis.call('DEL', KEYS[2]) local jobs = redis.call('LPOP', KEYS[1], 100) \
                  if jobs then redis.call('RPUSH', KEYS[2], unpack(jobs)) end return jobs";
    let take = measured(
        server,
        jobs,
        all(CALLERS, |n| {
            let mut connection = connection.clone();
            async move {
                loop {
                    let mut take = redis::cmd("EVAL");
                    take.arg(script).arg(2).arg("bare").arg(format!("held{n}"));
                    let taken: Option<Vec<Vec<u8>>> =
                        take.query_async(&mut connection).await.expect("taken");
                    if taken.is_none() {
                        break;
                    }
                }
            }
        }),
    )
    .await;
    let single = measured(
        server,
        jobs,
        all(SINGLE_CALLERS, |_| {
            let (mut connection, packed) = (connection.clone(), packed.clone());
            async move {
                for _ in 0..jobs / SINGLE_CALLERS {
                    let mut push = redis::cmd("RPUSH");
                    push.arg("single").arg(&packed[..]);
                    let _: i64 = push.query_async(&mut connection).await.expect("pushed");
                }
            }
        }),
    )
    .await;
    server.command(&["FLUSHALL"]).ok();
    (enqueue, take, single)
}

fn completions(claim: &Claim) -> Vec<windlass_core::Completion> {
    let hold = |id: &windlass_core::JobId| Hold::new(id.clone(), claim.token).completion();
    claim.jobs.iter().map(|job| hold(&job.id)).collect()
}

/// One worker: completes what it holds and takes the next in the same step.
async fn work(store: RedisStore, queue: QueueName, batch: usize) {
    let boot = BootId::generate();
    let mut seq = 1;
    let first = ClaimRequest::worker(boot.clone(), seq, batch);
    let mut claim = store.claim(&queue, first).await.expect("claimed");
    while let Some(held) = claim {
        seq += 1;
        let next = ClaimRequest::worker(boot.clone(), seq, batch);
        let done = store.complete(&queue, completions(&held), Some(next));
        claim = done.await.expect("completed").next;
    }
}

struct Ours {
    enqueue: Figure,
    process: Figure,
    single: Figure,
    bytes: f64,
}

async fn ours(server: &Server, jobs: usize) -> Ours {
    let store = RedisStore::open(&server.url(), Options::default())
        .await
        .expect("opened");
    let queue = QueueName::new("bench").expect("a good name");
    store.enqueue(&queue, Vec::new()).await.expect("made");
    let memory = info(server, "memory", "used_memory");
    let enqueue = measured(
        server,
        jobs,
        all(CALLERS, |_| {
            let (store, queue) = (store.clone(), queue.clone());
            async move {
                for _ in 0..jobs / BATCH / CALLERS {
                    let batch = (0..BATCH).map(|_| NewJob::new(payload())).collect();
                    store.enqueue(&queue, batch).await.expect("enqueued");
                }
            }
        }),
    )
    .await;
    let bytes = (info(server, "memory", "used_memory") - memory) / jobs as f64;
    let process = measured(
        server,
        jobs,
        all(CALLERS, |_| work(store.clone(), queue.clone(), BATCH)),
    )
    .await;
    let stats = store.stats(&queue).await.expect("stats").expect("there");
    assert_eq!((stats.ready, stats.running), (0, 0), "every job ran");
    let single = measured(
        server,
        jobs,
        all(SINGLE_CALLERS, |_| {
            let (store, queue) = (store.clone(), queue.clone());
            async move {
                for _ in 0..jobs / SINGLE_CALLERS {
                    store
                        .enqueue(&queue, vec![NewJob::new(payload())])
                        .await
                        .expect("enqueued");
                }
            }
        }),
    )
    .await;
    server.command(&["FLUSHALL"]).ok();
    Ours {
        enqueue,
        process,
        single,
        bytes,
    }
}

fn show(name: &str, ours: &Figure, bare: &Figure) {
    println!(
        "{name:28} {:>9.0}/s  bare {:>9.0}/s  ratio {:.2}   Redis CPU {:.2} us/job (bare {:.2})   calls/job {:.4}",
        ours.per_second,
        bare.per_second,
        ours.per_second / bare.per_second,
        ours.cpu_us,
        bare.cpu_us,
        ours.calls,
    );
}

fn main() {
    let jobs = std::env::args()
        .find_map(|word| word.parse().ok())
        .unwrap_or(200_000);
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .expect("a runtime");
    let server = Arc::new(ServerOptions::new().tcp().start());
    println!(
        "{jobs} jobs of 100 bytes, batches of {BATCH}, {CALLERS} callers; singles by {SINGLE_CALLERS} callers"
    );
    runtime.block_on(async {
        for round in 1..=3 {
            let (bare_enqueue, bare_take, bare_single) = bare(&server, jobs).await;
            let ours = ours(&server, jobs).await;
            println!("round {round}");
            show("enqueue", &ours.enqueue, &bare_enqueue);
            show("complete and claim", &ours.process, &bare_take);
            show("single enqueues, gathered", &ours.single, &bare_single);
            println!(
                "bytes per waiting job {:.0}; Redis CPU enqueue + claim + complete {:.2} us/job",
                ours.bytes,
                ours.enqueue.cpu_us + ours.process.cpu_us
            );
        }
    });
}
