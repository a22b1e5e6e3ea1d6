//! Workers are asked to stop at any moment.

use std::time::{Duration, Instant};

use rustix::process::Signal;
use windlass_chaos::behaviour::Behaviour;
use windlass_chaos::event::Event;
use windlass_chaos::witness::{Sight, Sighting};
use windlass_core::JobState;

use crate::figures::Figures;
use crate::ground::{Ground, count, ended, job, until_seen};
use crate::hands::{Crew, Spec};
use crate::{rounds, seed};

const JOBS: usize = 2_500;
const WORKERS: usize = 4;
/// How often each of them is stopped in one round.
const STOPS: usize = 52;

const SPEC: Spec = Spec {
    concurrency: 4,
    prefetch: 4,
    lease: Duration::from_secs(20),
    delay: Duration::ZERO,
    grace: Duration::from_secs(8),
};

/// How long a worker may take to end beyond its grace: a second, and what a busy machine may need.
const END_SLACK: Duration = Duration::from_secs(10);

/// The longest life of a worker: some are stopped before they have claimed anything.
const LIFE_MAX_MS: u64 = 150;

on_each_store!(a_worker_stopped_at_any_moment_loses_nothing_and_counts_no_attempt);

async fn a_worker_stopped_at_any_moment_loses_nothing_and_counts_no_attempt(ground: Ground) {
    let seed = seed();
    let mut rng = fastrand::Rng::with_seed(seed);
    let all = JOBS * rounds();
    let jobs = (0..all).map(|n| {
        let time = Duration::from_millis(rng.u64(..=50));
        job(&format!("job-{n}"), Behaviour::Sleep(time))
    });
    ground.enqueue(jobs.collect()).await;

    let places = (0..WORKERS as u64).map(|place| stopped_again_and_again(&ground, seed, place));
    let mut places = places.collect::<Vec<_>>().into_iter();
    let [a, b, c, d] = std::array::from_fn(|_| places.next().unwrap());
    let (a, b, c, d) = tokio::join!(a, b, c, d);
    let ends = Figures::new([a, b, c, d].concat());
    let left = ground.stats().await.ready;
    let crew = Crew::start(&ground, SPEC, WORKERS).await;
    ground.until_done(Duration::from_secs(120)).await;
    crew.leave().await;

    let stats = ground.assert_sound().await;
    println!("SIGTERM to exit: {ends}; {left} of {all} jobs were left to the last crew");
    assert!(ends.percentile(100) <= SPEC.grace + END_SLACK, "{ends}");
    // Nothing runs for long: nobody waits for the end of the grace.
    assert!(ends.percentile(50) <= SPEC.grace / 2, "{ends}");
    assert_eq!(stats.total.succeeded, all as u64);
    assert_eq!(stats.total.rescued, 0, "no lease ran out");
    for job in ground.jobs().await.values() {
        assert_eq!((job.attempt, job.expiries), (1, 0), "{job:?}");
    }
    // Nothing took longer than the grace, so nothing was cut short and begun again.
    let mut witness = ground.witness();
    let seen = witness.look().unwrap();
    let starts = seen.iter().filter(|line| line.sight == Sight::Start);
    assert_eq!(starts.count(), all, "every job was begun once");
}

async fn stopped_again_and_again(ground: &Ground, seed: u64, place: u64) -> Vec<Duration> {
    let mut rng = fastrand::Rng::with_seed(seed ^ place);
    let mut ends = Vec::new();
    for life in 0..STOPS * rounds() {
        let hand = ground.hand(&format!("hand-{place}.{life}"), SPEC).await;
        let its_life = hand.life;
        // The fault itself: it is stopped at any moment.
        tokio::time::sleep(Duration::from_millis(rng.u64(..LIFE_MAX_MS))).await;
        ends.push(ground.terminate(hand).await);
        assert_eq!(ground.left(its_life).2, 0, "nothing is lost");
    }
    ends
}

on_each_store!(a_job_that_outlives_the_grace_goes_back_with_no_attempt_counted);

async fn a_job_that_outlives_the_grace_goes_back_with_no_attempt_counted(ground: Ground) {
    ground.enqueue_alike("never", 2, Behaviour::Never).await;
    ground.enqueue_alike("listen", 1, Behaviour::Listen).await;
    // One that ends within the grace is let end, whether it listens or not.
    let within = SPEC.grace / 2;
    ground
        .enqueue_alike("within", 1, Behaviour::Sleep(within))
        .await;
    let mut witness = ground.witness();
    let hand = ground.hand("hand", SPEC).await;
    let life = hand.life;
    until_seen(&mut witness, "all begin", |seen| seen.len() == 4).await;

    let took = ground.terminate(hand).await;

    println!("SIGTERM to exit, with handlers that do not end: {took:?}");
    assert!(took <= SPEC.grace + END_SLACK, "{took:?}");
    assert_eq!(ground.left(life), (1, 3, 0));
    for (id, job) in ground.jobs().await {
        let state = match id.as_str() {
            "within-0" => JobState::Succeeded,
            _ => JobState::Ready,
        };
        let seen = (job.state, job.attempt, job.expiries);
        assert_eq!(seen, (state, 1, 0), "{job:?}");
    }
    let seen = witness.look().unwrap();
    for (id, sight) in [
        ("never-0", Sight::Drop),
        ("never-1", Sight::Drop),
        ("listen-0", Sight::Stop),
    ] {
        assert_eq!(count(seen, id, sight), 1, "{id}");
    }
}

on_each_store!(what_has_ended_is_told_to_a_store_that_takes_its_time);

async fn what_has_ended_is_told_to_a_store_that_takes_its_time(ground: Ground) {
    ground.enqueue_alike("plain", 4, Behaviour::Plain).await;
    let mut witness = ground.witness();
    let slow = Spec {
        delay: Duration::from_secs(2),
        ..SPEC
    };
    let hand = ground.hand("hand", slow).await;
    let life = hand.life;
    let all_ended = |seen: &[Sighting]| ended(seen).len() == 4;
    until_seen(&mut witness, "all end", all_ended).await;

    ground.terminate(hand).await;

    assert_eq!(ground.left(life), (4, 0, 0));
    assert_eq!(ground.assert_sound().await.total.succeeded, 4);
}

on_each_store!(a_second_signal_ends_a_worker_now);

async fn a_second_signal_ends_a_worker_now(ground: Ground) {
    ground.enqueue_alike("never", 4, Behaviour::Never).await;
    let mut witness = ground.witness();
    let spec = Spec {
        grace: Duration::from_secs(150),
        ..SPEC
    };
    let hand = ground.hand("hand", spec).await;
    until_seen(&mut witness, "all begin", |seen| seen.len() == 4).await;
    let began = Instant::now();
    hand.signal(Signal::TERM).unwrap();
    // Two that come at once are one: the second is sent when the first was heard.
    ground.until_said(&hand, &Event::Stopping).await;
    let took = ground.terminate(hand).await;

    println!("second SIGTERM to exit: {took:?}");
    assert!(began.elapsed() < spec.grace / 5, "{took:?}");
    assert_eq!(ground.stats().await.ready, 4);
}
