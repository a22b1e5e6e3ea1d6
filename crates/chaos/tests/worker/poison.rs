//! A job that takes its process down, among many that are innocent.

use std::time::{Duration, Instant};

use windlass_chaos::behaviour::Behaviour;
use windlass_chaos::event::Event;
use windlass_core::{JobId, JobState, Reason};

use crate::ground::{Ground, job};
use crate::hands::Spec;

const INNOCENTS: usize = 99;

/// Suspects run one at a time; each that waited for a poll would take most of a second. Besides, three
/// leases run out.
const PATIENCE: Duration = Duration::from_secs(70);

const SPEC: Spec = Spec {
    concurrency: 100,
    prefetch: 0,
    // No innocent loses its lease a third time because a busy machine stands still.
    lease: Duration::from_secs(5),
    delay: Duration::ZERO,
    grace: Duration::from_secs(1),
};

on_each_store!(a_job_that_aborts_its_process_ends_dead_alone_among_99_innocents);

async fn a_job_that_aborts_its_process_ends_dead_alone_among_99_innocents(ground: Ground) {
    let innocent = |n| {
        job(
            &format!("innocent-{n}"),
            Behaviour::Sleep(Duration::from_millis(20)),
        )
    };
    let mut jobs: Vec<_> = (0..INNOCENTS).map(innocent).collect();
    jobs.insert(INNOCENTS / 2, job("abort", Behaviour::Abort));
    ground.enqueue(jobs).await;
    let began = Instant::now();
    let mut crashes = 0;

    // What an orchestrator does: one that ended badly is started again.
    let hand = loop {
        let mut hand = ground.hand(&format!("hand.{crashes}"), SPEC).await;
        tokio::select! {
            status = hand.ended() => {
                let status = status.unwrap();
                assert!(status.code().is_none(), "it left by itself: {status}");
                crashes += 1;
            }
            () = ground.until_done(Duration::from_secs(120)) => break hand,
        }
    };
    ground.terminate(hand).await;

    let stats = ground.assert_sound().await;
    let took = began.elapsed();
    println!("{crashes} crashes; all had ended after {took:?}");
    assert!(
        took < PATIENCE,
        "the innocent waited for each other: {took:?}"
    );
    assert_eq!(
        (stats.total.succeeded, stats.total.dead),
        (INNOCENTS as u64, 1)
    );
    let jobs = ground.jobs().await;
    let dead = &jobs[&JobId::new("abort").unwrap()];
    let state = (dead.state, dead.reason, dead.attempt, dead.expiries);
    assert_eq!(state, (JobState::Dead, Some(Reason::Poison), 1, 3));
    assert_eq!(crashes, 3);
    // They were claimed together when it happened first.
    let mut witness = ground.witness();
    let seen = witness.look().unwrap();
    let abort = seen
        .iter()
        .find(|line| line.id.as_str() == "abort")
        .unwrap();
    let ledger = ground.stage.record.ledger();
    let is_beside =
        |event: &Event| matches!(event, Event::Claimed(hold) if hold.token == abort.token);
    let together = ledger.events().filter(|(_, event)| is_beside(event));
    assert_eq!(together.count(), INNOCENTS + 1);
}
