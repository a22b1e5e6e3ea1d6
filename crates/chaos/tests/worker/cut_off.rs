//! A worker that cannot reach its store stops its handlers before anybody else has their jobs.

use std::time::Duration;

use rusqlite::Connection;
use windlass_chaos::behaviour::Behaviour;
use windlass_chaos::witness::{Sight, Sighting};
use windlass_core::{Clock, JobState, SystemClock};

use crate::ground::{Ground, PATIENCE, count, job, until_seen};
use crate::hands::Spec;

/// Long, so that the sixth before its end is 1.5 s: a busy machine may stand still for so long.
const LEASE: Duration = Duration::from_secs(9);

/// Running still when it has to be stopped, however slow the machine is.
const LONG: Duration = PATIENCE;

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_at_a_busy_file_stops_its_handler_before_its_lease_ends_on_sqlite() {
    let ground = Ground::sqlite().await;
    let db = Connection::open(ground.folder.path().join("jobs.db")).unwrap();
    let cut = || db.execute_batch("BEGIN IMMEDIATE").unwrap();
    let mend = || db.execute_batch("COMMIT").unwrap();
    cut_off(&ground, cut, mend).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_whose_server_hangs_stops_its_handler_before_its_lease_ends_on_redis() {
    let ground = Ground::redis().await;
    let server = ground.server.as_ref().unwrap();
    cut_off(&ground, || server.stop(), || server.resume()).await;
}

async fn cut_off(ground: &Ground, cut: impl Fn(), mend: impl Fn()) {
    let mut witness = ground.witness();
    let spec = Spec {
        lease: LEASE,
        ..Spec::default()
    };
    let holder = ground.hand("holder", spec).await;
    ground
        .enqueue(vec![
            job("deaf", Behaviour::SleepOnce(LONG)),
            job("listening", Behaviour::Listen),
        ])
        .await;
    until_seen(&mut witness, "both begin", |seen| seen.len() == 2).await;
    let other = ground.hand("other", spec).await;
    ground.until_known(2).await;

    cut();
    let cut_us = SystemClock.now_us();
    let both_over = |seen: &[Sighting]| {
        count(seen, "deaf", Sight::Drop) == 1 && count(seen, "listening", Sight::Stop) == 1
    };
    let are_over = witness.until(PATIENCE, both_over).await.unwrap();
    mend();
    assert!(
        are_over,
        "a handler outlived its lease: {:?}",
        witness.look()
    );

    let last_us = witness.look().unwrap().iter().map(|line| line.at_us).max();
    let took = Duration::from_micros(last_us.unwrap() - cut_us);
    println!("cut off: handlers stopped after {took:?}, the lease is {LEASE:?}");
    assert!(took <= LEASE, "{took:?}");
    let begun_again = |seen: &[Sighting]| count(seen, "listening", Sight::Start) == 2;
    until_seen(&mut witness, "it begins again", begun_again).await;
    let done = |seen: &[Sighting]| count(seen, "deaf", Sight::End) == 1;
    until_seen(&mut witness, "the other ends", done).await;
    let holder_life = holder.life;
    ground.terminate(holder).await;
    ground.terminate(other).await;

    assert!(ground.left(holder_life).2 >= 2, "both are lost to it");
    for (id, job) in ground.jobs().await {
        let state = match id.as_str() {
            "deaf" => JobState::Succeeded,
            // Nobody asked it to stop but workers that went away.
            _ => JobState::Ready,
        };
        assert_eq!((job.state, job.attempt), (state, 1), "{job:?}");
    }
}
