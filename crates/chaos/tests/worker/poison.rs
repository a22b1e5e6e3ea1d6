//! A job that aborts its process, among many innocent ones.

use std::time::{Duration, Instant};

use windlass_chaos::behaviour::Behaviour;
use windlass_chaos::event::Event;
use windlass_core::store::Reason;
use windlass_core::{JobId, JobState};

use crate::fixture::{Fixture, job};
use crate::workers::Spec;

const INNOCENTS: usize = 99;

/// Suspects run one at a time; if each waited for a poll, it would take most of a second. Four leases
/// expire as well.
const TIMEOUT_MAX: Duration = Duration::from_secs(70);

const SPEC: Spec = Spec {
    concurrency: 100,
    prefetch: 0,
    // Long enough that no innocent job loses its lease a fourth time because of a stalled machine.
    lease: Duration::from_secs(5),
    delay: Duration::ZERO,
    grace: Duration::from_secs(1),
};

on_each_store!(a_job_that_aborts_its_process_ends_dead_alone_among_99_innocents);

async fn a_job_that_aborts_its_process_ends_dead_alone_among_99_innocents(fixture: Fixture) {
    let innocent = |n| {
        job(
            &format!("innocent-{n}"),
            Behaviour::Sleep(Duration::from_millis(20)),
        )
    };
    let mut jobs: Vec<_> = (0..INNOCENTS).map(innocent).collect();
    jobs.insert(INNOCENTS / 2, job("abort", Behaviour::Abort));
    fixture.enqueue(jobs).await;
    let began = Instant::now();
    let mut crashes = 0;

    // Restart a crashed worker, like an orchestrator.
    let worker = loop {
        let mut worker = fixture
            .start_worker(&format!("worker.{crashes}"), SPEC)
            .await;
        tokio::select! {
            status = worker.exited() => {
                let status = status.unwrap();
                assert!(status.code().is_none(), "it exited by itself: {status}");
                crashes += 1;
            }
            () = fixture.wait_until_done(Duration::from_secs(120)) => break worker,
        }
    };
    fixture.terminate(worker).await;

    let stats = fixture.assert_sound().await;
    let took = began.elapsed();
    println!("{crashes} crashes; all jobs ended after {took:?}");
    assert!(
        took < TIMEOUT_MAX,
        "innocent jobs waited for each other: {took:?}"
    );
    assert_eq!(
        (stats.total.succeeded, stats.total.dead),
        (INNOCENTS as u64, 1)
    );
    let jobs = fixture.jobs().await;
    let dead = &jobs[&JobId::new("abort").unwrap()];
    let state = (dead.state, dead.reason, dead.attempt, dead.expiries);
    assert_eq!(state, (JobState::Dead, Some(Reason::Poison), 1, 4));
    assert_eq!(crashes, 4);
    // They were claimed together at the first crash.
    let mut effects = fixture.effects();
    let seen = effects.read().unwrap();
    let abort = seen
        .iter()
        .find(|line| line.id.as_str() == "abort")
        .unwrap();
    let ledger = fixture.launcher.ledger.lock();
    let is_same_claim =
        |event: &Event| matches!(event, Event::Claimed(lease) if lease.token == abort.token);
    let together = ledger.events().filter(|(_, event)| is_same_claim(event));
    assert_eq!(together.count(), INNOCENTS + 1);
}
