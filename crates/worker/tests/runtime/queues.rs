//! Several queues in one worker: order, weights, limits.

use std::sync::Arc;
use std::time::Duration;

use windlass_core::{NewJob, QueueName};
use windlass_worker::{Context, Options, Order, Outcome, Source};

use crate::scene::{Count, Notes, Scene, for_ever, text};

fn queue(name: &str) -> QueueName {
    QueueName::new(name).unwrap()
}

async fn fill(scene: &Scene, name: &'static str, count: usize) {
    let jobs = (0..count).map(|_| NewJob::new(name)).collect();
    scene.store.enqueue(&queue(name), jobs).await.unwrap();
}

/// A handler that notes the payload of each job.
fn noting(notes: &Notes, done: &Count) -> impl windlass_worker::Handle {
    let (notes, done) = (notes.clone(), done.clone());
    move |context: Context| {
        let (notes, done) = (notes.clone(), done.clone());
        async move {
            notes.write(text(&context));
            done.add();
            Outcome::done()
        }
    }
}

#[tokio::test]
async fn a_strict_order_finishes_the_first_queue_before_the_second() {
    let scene = Scene::new();
    fill(&scene, "first", 30).await;
    fill(&scene, "second", 30).await;
    let (notes, done) = (Notes::default(), Count::new());
    let mut options = Options::new([Source::new(queue("first")), Source::new(queue("second"))]);
    options.order = Order::Strict;
    options.concurrency = 1;

    let worker = scene.start(options, noting(&notes, &done));
    done.reaches(60).await;
    worker.stop().await;

    let notes = notes.read();
    let early = notes[..30].iter().filter(|note| *note == "first").count();
    assert!(early >= 29, "{early} of the first 30: {notes:?}");
}

#[tokio::test]
async fn weighted_queues_all_get_their_share() {
    let scene = Scene::new();
    fill(&scene, "often", 400).await;
    fill(&scene, "seldom", 400).await;
    let (notes, done) = (Notes::default(), Count::new());
    let mut options = Options::new([
        Source::new(queue("often")).weight(3),
        Source::new(queue("seldom")),
    ]);
    options.concurrency = 1;

    let worker = scene.start(options, noting(&notes, &done));
    done.reaches(400).await;
    worker.stop().await;

    let often = notes.read()[..400]
        .iter()
        .filter(|note| *note == "often")
        .count();
    assert!((240..=360).contains(&often), "{often} of 400");
}

#[tokio::test]
async fn a_queue_with_a_limit_of_its_own_leaves_slots_to_the_others() {
    let scene = Scene::new();
    fill(&scene, "slow", 10).await;
    fill(&scene, "quick", 10).await;
    let (slow, quick) = (Count::new(), Count::new());
    let mut options = Options::new([
        Source::new(queue("slow")).concurrency(2),
        Source::new(queue("quick")),
    ]);
    options.concurrency = 4;
    options.grace = Duration::ZERO;
    let worker = scene.start(options, {
        let (slow, quick) = (slow.clone(), quick.clone());
        move |context: Context| {
            let (slow, quick) = (slow.clone(), quick.clone());
            async move {
                if text(&context) == "slow" {
                    slow.add();
                    return for_ever().await;
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
async fn an_idle_worker_of_many_queues_hears_of_jobs_in_each() {
    for concurrency in [1, 16] {
        let scene = Scene::new();
        let names = ["a", "b", "c"];
        let (notes, done) = (Notes::default(), Count::new());
        let mut options = Options::new(names.map(|name| Source::new(queue(name))));
        options.concurrency = concurrency;
        let worker = scene.start(options, noting(&notes, &done));
        let store = Arc::clone(&scene.store);

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
