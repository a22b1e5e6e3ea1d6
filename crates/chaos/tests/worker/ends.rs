//! Handlers that misbehave: each ends as documented, and its neighbours are unharmed.

use std::time::Duration;

use windlass_chaos::behaviour::{Behaviour, PANIC};
use windlass_core::{JobId, JobState, Reason, RetryPolicy};

use crate::ground::{Ground, PATIENCE, job};
use crate::hands::Spec;

const NEIGHBOURS: usize = 100;
const TIMEOUT: Duration = Duration::from_millis(300);
const TEN_MB: usize = 10 * 1024 * 1024;

on_each_store!(a_handler_that_misbehaves_ends_as_documented_and_its_neighbours_are_unharmed);

async fn a_handler_that_misbehaves_ends_as_documented_and_its_neighbours_are_unharmed(
    ground: Ground,
) {
    let once = |id: &str, behaviour| job(id, behaviour).retry(RetryPolicy::never());
    let mut jobs = vec![
        once("panic", Behaviour::Panic),
        once("never", Behaviour::Never).timeout(TIMEOUT),
        // So long that whoever fails it is sooner, on a busy machine too.
        once("deaf", Behaviour::Block(TIMEOUT * 10)).timeout(TIMEOUT),
        job("huge", Behaviour::Leave(TEN_MB)),
        job("again", Behaviour::Panic).retry(RetryPolicy::fixed(Duration::ZERO).max_attempts(3)),
    ];
    let neighbour = |n| {
        job(
            &format!("neighbour-{n}"),
            Behaviour::Sleep(Duration::from_millis(20)),
        )
    };
    jobs.extend((0..NEIGHBOURS).map(neighbour));
    ground.enqueue(jobs).await;
    let spec = Spec {
        concurrency: 20,
        // No lease ends because a busy machine stands still.
        lease: Duration::from_secs(20),
        ..Spec::default()
    };

    let hand = ground.hand("hand", spec).await;
    ground.until_done(PATIENCE).await;
    let life = hand.life;
    ground.terminate(hand).await;

    let stats = ground.assert_sound().await;
    assert_eq!(
        (stats.total.succeeded, stats.total.dead),
        (NEIGHBOURS as u64, 5)
    );
    assert_eq!(ground.left(life).0, NEIGHBOURS as u64);
    let jobs = ground.jobs().await;
    let panicked = format!("the handler panicked: {PANIC}");
    let timed_out = format!("the attempt timed out after {TIMEOUT:?}");
    let too_large = format!("the result is too large: it has {TEN_MB} bytes, the limit is 1048576");
    for (id, reason, attempt, error) in [
        ("panic", Reason::Exhausted, 1, &panicked),
        ("never", Reason::Exhausted, 1, &timed_out),
        ("deaf", Reason::Exhausted, 1, &timed_out),
        ("huge", Reason::Permanent, 1, &too_large),
        ("again", Reason::Exhausted, 3, &panicked),
    ] {
        let job = &jobs[&JobId::new(id).unwrap()];
        let seen = (job.state, job.reason, job.attempt, job.expiries);
        assert_eq!(seen, (JobState::Dead, Some(reason), attempt, 0), "{job:?}");
        let said = job.error.as_deref().unwrap();
        assert!(said.starts_with(error.as_str()), "{id}: {said}");
    }
}
