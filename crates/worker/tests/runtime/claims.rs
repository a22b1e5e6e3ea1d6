//! How many jobs a worker claims, and how long it holds them.

use std::sync::Arc;
use std::time::Duration;

use tokio::runtime::Handle;
use windlass_core::store::WorkerCommand;
use windlass_core::{ClaimRequest, JobState, LeaseTime, NewJob, QueueName, Store};
use windlass_worker::{AttemptContext, Outcome, Source};

use crate::faulty_store::FaultyStore;
use crate::fixture::{CallLog, Count, Fixture, TIMEOUT, never_returns, text};

#[tokio::test]
async fn never_more_jobs_run_at_once_than_the_concurrency() {
    let fixture = Fixture::new();
    let jobs = (0..200).map(|_| NewJob::new("x")).collect();
    fixture.enqueue_jobs(jobs).await;
    let (running, done) = (Count::new(), Count::new());
    let mut options = fixture.options();
    options.concurrency = 3;
    let worker = fixture.start(options, {
        let (running, done) = (running.clone(), done.clone());
        move |_: AttemptContext| {
            let (running, done) = (running.clone(), done.clone());
            async move {
                running.add();
                assert!(running.get() <= 3);
                tokio::task::yield_now().await;
                running.remove();
                done.add();
                Outcome::done()
            }
        }
    });

    done.reaches(200).await;

    assert_eq!(worker.stop().await.succeeded, 200);
}

#[tokio::test]
async fn no_more_jobs_are_held_than_slots_and_prefetch() {
    let fixture = Fixture::new();
    fixture
        .enqueue_jobs((0..50).map(|_| NewJob::new("x")).collect())
        .await;
    let started = Count::new();
    let mut options = fixture.options();
    options.concurrency = 4;
    options.prefetch = 2;
    options.grace = Duration::ZERO;
    let worker = fixture.start(options, {
        let started = started.clone();
        move |_: AttemptContext| {
            started.add();
            never_returns()
        }
    });
    started.reaches(4).await;

    let stats = fixture.store.stats(&fixture.queue).await.unwrap().unwrap();
    let running = stats.running;
    let summary = worker.stop().await;
    let after = fixture.store.stats(&fixture.queue).await.unwrap().unwrap();

    assert_eq!(running, 6);
    assert_eq!(started.get(), 4);
    assert_eq!(summary.released, 6);
    assert_eq!((after.ready, after.running), (50, 0));
}

/// For example, because the link is too slow for it.
#[tokio::test]
async fn a_claim_whose_reply_never_arrives_is_given_up_and_asked_again_with_fewer_jobs() {
    let store = Arc::new(FaultyStore::new());
    store.lose_replies_above(3);
    let fixture = Fixture::on(Arc::clone(&store) as Arc<dyn Store>);
    let ids = fixture
        .enqueue_jobs((0..40).map(|_| NewJob::new("x").keep_outcome()).collect())
        .await;
    let done = Count::new();
    let mut options = fixture.options();
    options.concurrency = 16;
    let worker = fixture.start(options, {
        let done = done.clone();
        move |_: AttemptContext| {
            done.add();
            std::future::ready(Outcome::done())
        }
    });

    for id in &ids {
        fixture.until_state(id, JobState::Succeeded).await;
    }

    assert_eq!(worker.stop().await.succeeded, 40);
    assert_eq!(done.get(), 40, "each job ran once");
}

#[tokio::test]
async fn a_long_job_is_held_for_many_leases() {
    let fixture = Fixture::new();
    let mut options = fixture.options();
    // Renewed every two seconds, so it survives a machine that stalls for three.
    options.lease = LeaseTime::nearest(Duration::from_secs(6));
    let ids = fixture.enqueue(&["long"]).await;
    let worker = fixture.start(options, |context: AttemptContext| async move {
        tokio::time::sleep(Duration::from_secs(15)).await;
        assert!(context.lease_valid());
        Outcome::done()
    });
    fixture.until_state(&ids[0], JobState::Running).await;

    // Another client keeps claiming, which reaps expired leases.
    let mut stolen = 0;
    while stolen == 0 && fixture.get(&ids[0]).await.state == JobState::Running {
        let claim = fixture
            .store
            .claim(&fixture.queue, ClaimRequest::single(1))
            .await
            .unwrap();
        stolen += claim.map_or(0, |claim| claim.jobs.len());
        tokio::time::sleep(Duration::from_millis(20)).await;
    }

    assert_eq!(stolen, 0);
    assert_eq!(worker.stop().await.succeeded, 1);
}

#[tokio::test]
async fn a_worker_declared_dead_loses_its_jobs_and_continues_under_a_new_id() {
    let fixture = Fixture::new();
    let started = Count::new();
    let ids = fixture.enqueue(&["x"]).await;
    let worker = fixture.start(fixture.options(), {
        let started = started.clone();
        move |context: AttemptContext| {
            started.add();
            let is_first = started.get() == 1;
            async move {
                if is_first {
                    context.stopped().await;
                    assert!(!context.lease_valid());
                }
                Outcome::done()
            }
        }
    });
    started.reaches(1).await;

    let reaped = fixture.store.fail_worker(&worker.boot).await.unwrap();

    assert_eq!(reaped, Some(1));
    started.reaches(2).await;
    let job = fixture.until_state(&ids[0], JobState::Succeeded).await;
    assert_eq!(job.attempt, 1);
    let summary = worker.stop().await;
    assert_eq!((summary.lost, summary.succeeded), (1, 1));
}

#[tokio::test]
async fn a_paused_worker_claims_nothing_until_commanded_to_continue() {
    let fixture = Fixture::new();
    let done = Count::new();
    let worker = fixture.start(fixture.options(), {
        let done = done.clone();
        move |_: AttemptContext| {
            done.add();
            std::future::ready(Outcome::done())
        }
    });
    let first = fixture.enqueue(&["x"]).await;
    fixture.until_state(&first[0], JobState::Succeeded).await;

    assert!(
        fixture
            .store
            .command(&worker.boot, WorkerCommand::Pause)
            .await
            .unwrap()
    );
    // The command arrives with a heartbeat; jobs enqueued before that still run.
    let paused = async {
        loop {
            let id = &fixture.enqueue(&["x"]).await[0];
            for _ in 0..50 {
                tokio::time::sleep(Duration::from_millis(2)).await;
                if fixture.get(id).await.state == JobState::Succeeded {
                    break;
                }
            }
            if fixture.get(id).await.state == JobState::Ready {
                return id.clone();
            }
        }
    };
    let waiting = tokio::time::timeout(TIMEOUT, paused)
        .await
        .expect("the worker pauses");
    assert!(
        fixture
            .store
            .command(&worker.boot, WorkerCommand::Continue)
            .await
            .unwrap()
    );
    fixture.until_state(&waiting, JobState::Succeeded).await;

    worker.stop().await;
}

#[tokio::test]
async fn a_job_whose_lease_ended_before_the_reply_to_its_claim_was_read_is_not_started() {
    let server = tokio::runtime::Runtime::new().unwrap();
    let store = Arc::new(FaultyStore::new());
    store.run_waiting_claims_on(server.handle());
    let fixture = Fixture::on(Arc::clone(&store) as Arc<dyn Store>);
    let blocking = QueueName::new("blocking").unwrap();
    let mut options = fixture.options();
    options.queues.push(Source::new(blocking.clone()));
    options.lease = LeaseTime::nearest(Duration::from_secs(2));
    let (log, done) = (CallLog::default(), Count::new());
    let worker = fixture.start(options, {
        let (log, done) = (log.clone(), done.clone());
        let (blocking, mail) = (blocking.clone(), fixture.queue.clone());
        let (store, server) = (Arc::clone(&fixture.store), server.handle().clone());
        move |context: AttemptContext| {
            if *context.queue() == blocking {
                // The only thread of the worker's runtime waits here.
                take_after_lease(&server, store.as_ref(), &mail);
            }
            log.write(text(&context));
            done.add();
            std::future::ready(Outcome::done())
        }
    });
    // One for each queue.
    store.tap.waiting_claims.reaches(2).await;

    let job = vec![NewJob::new("blocks")];
    fixture.store.enqueue(&blocking, job).await.unwrap();
    done.reaches(1).await;
    fixture.enqueue(&["after"]).await;
    done.reaches(2).await;
    worker.stop().await;
    server.shutdown_background();

    assert_eq!(log.read(), ["blocks", "after"]);
}

/// Enqueues a job for a waiting claim to find, and blocks until another worker has it.
fn take_after_lease(server: &Handle, store: &dyn Store, queue: &QueueName) {
    let is_claimed = async || {
        let stats = store.stats(queue).await.unwrap();
        stats.is_some_and(|stats| stats.running > 0)
    };
    let taken = async {
        let job = vec![NewJob::new("taken")];
        store.enqueue(queue, job).await.unwrap();
        let claimed = async {
            while !is_claimed().await {
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
        };
        // Not claimed if the waiting claim has just ended: then the worker never gets the job.
        let _ = tokio::time::timeout(Duration::from_secs(5), claimed).await;
        let other = || store.claim(queue, ClaimRequest::single(1));
        while other().await.unwrap().is_none() {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    };
    let taken = tokio::time::timeout(TIMEOUT, taken);
    let taken = std::thread::scope(|scope| scope.spawn(|| server.block_on(taken)).join());
    taken.unwrap().expect("the lease ends");
}
