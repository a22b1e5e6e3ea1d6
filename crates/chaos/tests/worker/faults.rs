//! Their store dies, cuts them off or is held by somebody else while workers work.

use std::time::{Duration, Instant};

use rusqlite::Connection;
use tokio::task::block_in_place;
use windlass_chaos::behaviour::Behaviour;
use windlass_chaos::witness::Sighting;
use windlass_testkit::redis::{Fsync, Server, ServerOptions};

use crate::ground::{Ground, PATIENCE, ended, until_seen};
use crate::hands::{Crew, Spec};
use crate::rounds;

const WORKERS: usize = 3;
const JOBS: usize = 600;
const TIME: Duration = Duration::from_millis(20);

/// How often the server dies, cuts its connections, or the file is held, while the jobs of one round
/// run.
const DEATHS: usize = 3;
const CUTS: usize = 20;
const HOLDS: usize = 5;

/// For how long the file is held; the last time beyond the lease.
const HELD: Duration = Duration::from_millis(200);

#[tokio::test(flavor = "multi_thread")]
async fn workers_go_on_after_their_server_was_killed_and_restarted_on_redis() {
    let server = ServerOptions::new().append_only(Fsync::Always).start();
    let ground = Ground::on(server).await;
    let server = ground.server.as_ref().unwrap();
    under_faults(&ground, DEATHS * rounds(), async |_| {
        block_in_place(|| {
            server.kill();
            server.restart();
        });
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn workers_go_on_through_storms_of_cut_connections_on_redis() {
    let ground = Ground::on(Server::start()).await;
    let server = ground.server.as_ref().unwrap();
    under_faults(&ground, CUTS * rounds(), async |_| {
        for kind in ["normal", "pubsub"] {
            let cut = ["CLIENT", "KILL", "TYPE", kind, "SKIPME", "yes"];
            // One that cut itself off has done so all the same.
            let _ = block_in_place(|| server.try_command(&cut));
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn workers_go_on_when_somebody_has_held_their_file_on_sqlite() {
    let ground = Ground::sqlite().await;
    let db = Connection::open(ground.folder.path().join("jobs.db")).unwrap();
    db.busy_timeout(PATIENCE).unwrap();
    let holds = HOLDS * rounds();
    under_faults(&ground, holds, async |hold| {
        let is_last = hold + 1 == holds;
        let held = if is_last {
            Spec::default().lease * 2
        } else {
            HELD
        };
        db.execute_batch("BEGIN IMMEDIATE").unwrap();
        // The fault itself: nobody can write for so long.
        tokio::time::sleep(held).await;
        db.execute_batch("COMMIT").unwrap();
    })
    .await;
}

/// Every job ends once, although the store of the workers fails so often.
async fn under_faults(ground: &Ground, faults: usize, strike: impl AsyncFn(usize)) {
    let all = JOBS * rounds();
    let mut witness = ground.witness();
    ground.set("poison_after=1000").await;
    ground
        .enqueue_alike("job", all, Behaviour::Sleep(TIME))
        .await;
    let began = Instant::now();
    let crew = Crew::start(ground, Spec::default(), WORKERS).await;
    for fault in 0..faults {
        let share = all * (fault + 1) / (faults + 1);
        let are_on = |seen: &[Sighting]| ended(seen).len() >= share;
        until_seen(&mut witness, "the workers go on", are_on).await;
        strike(fault).await;
    }
    let all_end = |seen: &[Sighting]| ended(seen).len() == all;
    until_seen(&mut witness, "every job ends", all_end).await;
    ground.until_done(PATIENCE).await;
    crew.leave().await;

    let stats = ground.assert_sound().await;
    assert_eq!(stats.total.succeeded, all as u64);
    println!(
        "{all} jobs, {faults} faults in {:?}; {} rescued",
        began.elapsed(),
        stats.total.rescued
    );
}
