//! A worker that cannot reach its store stops its handlers before other workers get their jobs.

use std::time::Duration;

use rusqlite::Connection;
use windlass_chaos::behaviour::Behaviour;
use windlass_chaos::effect_log::{EffectKind, EffectRecord};
use windlass_core::{Clock, JobState, SystemClock};

use crate::fixture::{Fixture, TIMEOUT_MAX, count, job, wait_until_seen};
use crate::workers::Spec;

/// Long, so that the last sixth of it is 1.5 s: a busy machine may stall for that long.
const LEASE: Duration = Duration::from_secs(9);

/// Still running when it has to be stopped, however slow the machine is.
const LONG: Duration = TIMEOUT_MAX;

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_on_a_locked_file_stops_its_handler_before_its_lease_ends_on_sqlite() {
    let fixture = Fixture::sqlite().await;
    let db = Connection::open(fixture.folder.path().join("jobs.db")).unwrap();
    let cut = || db.execute_batch("BEGIN IMMEDIATE").unwrap();
    let restore = || db.execute_batch("COMMIT").unwrap();
    cut_off(&fixture, cut, restore).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_whose_server_hangs_stops_its_handler_before_its_lease_ends_on_redis() {
    let fixture = Fixture::redis().await;
    let server = fixture.server.as_ref().unwrap();
    cut_off(&fixture, || server.stop(), || server.resume()).await;
}

async fn cut_off(fixture: &Fixture, cut: impl Fn(), restore: impl Fn()) {
    let mut effects = fixture.effects();
    let spec = Spec {
        lease: LEASE,
        ..Spec::default()
    };
    let holder = fixture.start_worker("holder", spec).await;
    fixture
        .enqueue(vec![
            job("sleeping", Behaviour::SleepOnce(LONG)),
            job("listening", Behaviour::UntilStopped),
        ])
        .await;
    wait_until_seen(&mut effects, "both have started", |seen| seen.len() == 2).await;
    let other = fixture.start_worker("other", spec).await;
    fixture.wait_until_registered(2).await;

    cut();
    let cut_us = SystemClock.now_us();
    let both_over = |seen: &[EffectRecord]| {
        count(seen, "sleeping", EffectKind::Drop) == 1
            && count(seen, "listening", EffectKind::Stop) == 1
    };
    let are_over = effects.wait_until(TIMEOUT_MAX, both_over).await.unwrap();
    restore();
    assert!(
        are_over,
        "a handler ran longer than its lease: {:?}",
        effects.read()
    );

    let last_us = effects.read().unwrap().iter().map(|line| line.at_us).max();
    let took = Duration::from_micros(last_us.unwrap() - cut_us);
    println!("disconnected: handlers stopped after {took:?}, the lease is {LEASE:?}");
    assert!(took <= LEASE, "{took:?}");
    let restarted = |seen: &[EffectRecord]| count(seen, "listening", EffectKind::Start) == 2;
    wait_until_seen(&mut effects, "it is restarted", restarted).await;
    let done = |seen: &[EffectRecord]| count(seen, "sleeping", EffectKind::End) == 1;
    wait_until_seen(&mut effects, "the other has ended", done).await;
    let process = holder.process;
    fixture.terminate(holder).await;
    fixture.terminate(other).await;

    assert!(fixture.exit_counts(process).2 >= 2, "it lost both leases");
    for (id, job) in fixture.jobs().await {
        let state = match id.as_str() {
            "sleeping" => JobState::Succeeded,
            // Its handlers only stopped because their workers did.
            _ => JobState::Ready,
        };
        assert_eq!((job.state, job.attempt), (state, 1), "{job:?}");
    }
}
