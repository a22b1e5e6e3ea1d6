//! Several queues in one worker: order, weights, limits.

use std::sync::Arc;
use std::time::Duration;

use windlass_core::{NewJob, QueueName};
use windlass_worker::{AttemptContext, Options, Order, Outcome, Source};

use crate::fixture::{CallLog, Count, Fixture, never_returns, text};

fn queue(name: &str) -> QueueName {
    QueueName::new(name).unwrap()
}

async fn fill(fixture: &Fixture, name: &'static str, count: usize) {
    let jobs = (0..count).map(|_| NewJob::new(name)).collect();
    fixture.store.enqueue(&queue(name), jobs).await.unwrap();
}

/// A handler that records the payload of each job.
fn recording(log: &CallLog, done: &Count) -> impl windlass_worker::Handle {
    let (log, done) = (log.clone(), done.clone());
    move |context: AttemptContext| {
        let (log, done) = (log.clone(), done.clone());
        async move {
            log.write(text(&context));
            done.add();
            Outcome::done()
        }
    }
}

#[tokio::test]
async fn a_strict_order_finishes_the_first_queue_before_the_second() {
    let fixture = Fixture::new();
    fill(&fixture, "first", 30).await;
    fill(&fixture, "second", 30).await;
    let (log, done) = (CallLog::default(), Count::new());
    let mut options = Options::new([Source::new(queue("first")), Source::new(queue("second"))]);
    options.order = Order::Strict;
    options.concurrency = 1;

    let worker = fixture.start(options, recording(&log, &done));
    done.reaches(60).await;
    worker.stop().await;

    let log = log.read();
    let early = log[..30].iter().filter(|line| *line == "first").count();
    assert!(early >= 29, "{early} of the first 30: {log:?}");
}

#[tokio::test]
async fn weighted_queues_all_get_their_share() {
    let fixture = Fixture::new();
    fill(&fixture, "often", 400).await;
    fill(&fixture, "seldom", 400).await;
    let (log, done) = (CallLog::default(), Count::new());
    let mut options = Options::new([
        Source::new(queue("often")).weight(3),
        Source::new(queue("seldom")),
    ]);
    options.concurrency = 1;

    let worker = fixture.start(options, recording(&log, &done));
    done.reaches(400).await;
    worker.stop().await;

    let often = log.read()[..400]
        .iter()
        .filter(|line| *line == "often")
        .count();
    assert!((240..=360).contains(&often), "{often} of 400");
}

#[tokio::test]
async fn a_queue_with_its_own_limit_leaves_slots_to_the_others() {
    let fixture = Fixture::new();
    fill(&fixture, "slow", 10).await;
    fill(&fixture, "quick", 10).await;
    let (slow, quick) = (Count::new(), Count::new());
    let mut options = Options::new([
        Source::new(queue("slow")).concurrency(2),
        Source::new(queue("quick")),
    ]);
    options.concurrency = 4;
    options.grace = Duration::ZERO;
    let worker = fixture.start(options, {
        let (slow, quick) = (slow.clone(), quick.clone());
        move |context: AttemptContext| {
            let (slow, quick) = (slow.clone(), quick.clone());
            async move {
                if text(&context) == "slow" {
                    slow.add();
                    return never_returns().await;
                }
                quick.add();
                Outcome::done()
            }
        }
    });

    quick.reaches(10).await;
    slow.reaches(2).await;

    assert_eq!(slow.get(), 2);
    worker.stop().await;
}

#[tokio::test]
async fn an_idle_worker_of_many_queues_notices_jobs_in_each() {
    for concurrency in [1, 16] {
        let fixture = Fixture::new();
        let names = ["a", "b", "c"];
        let (log, done) = (CallLog::default(), Count::new());
        let mut options = Options::new(names.map(|name| Source::new(queue(name))));
        options.concurrency = concurrency;
        let worker = fixture.start(options, recording(&log, &done));
        let store = Arc::clone(&fixture.store);

        for (round, name) in names.iter().cycle().take(9).enumerate() {
            store
                .enqueue(&queue(name), vec![NewJob::new("x")])
                .await
                .unwrap();
            done.reaches(round as u64 + 1).await;
        }

        worker.stop().await;
    }
}
