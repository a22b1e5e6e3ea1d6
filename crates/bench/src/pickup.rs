//! From enqueue to the start of the handler in an idle worker, beside a bare blocking pop and a bare
//! round trip on the same server.

use std::sync::Arc;
use std::time::{Duration, Instant};

use windlass_core::{NewJob, QueueName, Store};
use windlass_store_redis::RedisStore;
use windlass_testkit::redis::{Server, ServerOptions};
use windlass_worker::{Context, Options, Outcome, Runtime, Source, Stores};

use crate::bare_redis;
use crate::sample::Sample;

pub(crate) async fn run(rounds: usize) {
    let server = ServerOptions::new().tcp().start();
    let (pops, pings) = bare_redis::hand_over(&server, rounds).await;
    let ours = ours(&server, rounds).await;
    println!("milliseconds, {rounds} rounds (p50 / p99)");
    let tell = |what: &str, sample: &Sample| {
        println!(
            "{what}: {:.3} / {:.3}",
            sample.median(),
            sample.quantile(0.99)
        );
    };
    tell("bare round trip (PING)", &pings);
    tell("bare BLPOP hand-over", &pops);
    tell("enqueue to handler start", &ours);
    println!(
        "ours ÷ BLPOP: {:.2}, ours ÷ round trip: {:.2} (p50)",
        ours.median() / pops.median(),
        ours.median() / pings.median()
    );
}

async fn ours(server: &Server, rounds: usize) -> Sample {
    let queue = QueueName::new("idle").expect("a good name");
    let url = server.url();
    let open = move || {
        let url = url.clone();
        async move {
            let store = RedisStore::open(&url, windlass_store_redis::Options::default()).await?;
            Ok(Arc::new(store) as Arc<dyn Store>)
        }
    };
    // The producer and the worker have nothing in common but the server.
    let producer = open().await.expect("opened");
    let store = open().await.expect("opened");
    let (started, mut is_started) = tokio::sync::mpsc::unbounded_channel();
    let handler = move |_: Context| {
        let _ = started.send(Instant::now());
        std::future::ready(Outcome::done())
    };
    let options = Options::new([Source::new(queue.clone())]);
    let runtime =
        Runtime::new(Stores::reopened(store, open), options, Arc::new(handler)).expect("good");
    let stopper = runtime.stopper();
    let worker = tokio::spawn(runtime.run());
    let mut sample = Sample::default();
    for round in 0..rounds + 20 {
        tokio::time::sleep(Duration::from_millis(2)).await;
        let began = Instant::now();
        let job = vec![NewJob::new(vec![b'x'; 100])];
        let enqueue = producer.enqueue(&queue, job);
        let (enqueued, at) = tokio::join!(enqueue, is_started.recv());
        enqueued.expect("enqueued");
        let at = at.expect("the worker goes on");
        if round >= 20 {
            sample.push((at - began).as_secs_f64() * 1e3);
        }
    }
    stopper.stop();
    worker.await.expect("no panic").expect("a clean end");
    sample
}
