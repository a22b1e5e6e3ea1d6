//! The store dies, disconnects workers or is locked by another program while workers run.

use std::time::{Duration, Instant};

use rusqlite::Connection;
use tokio::task::block_in_place;
use windlass_chaos::behaviour::Behaviour;
use windlass_chaos::effect_log::EffectRecord;
use windlass_testkit::redis::{Fsync, Server, ServerOptions};

use crate::fixture::{Fixture, TIMEOUT_MAX, ended, wait_until_seen};
use crate::rounds;
use crate::workers::{Spec, Workers};

const WORKERS: usize = 3;
const JOBS: usize = 600;
const TIME: Duration = Duration::from_millis(20);

/// How often the server dies, closes its connections, or the file is locked, per round.
const DEATHS: usize = 3;
const CUTS: usize = 20;
const LOCKS: usize = 5;

/// How long the file is locked; the last time longer than the lease.
const LOCKED_FOR: Duration = Duration::from_millis(200);

#[tokio::test(flavor = "multi_thread")]
async fn workers_continue_after_their_server_was_killed_and_restarted_on_redis() {
    let server = ServerOptions::new().append_only(Fsync::Always).start();
    let fixture = Fixture::on(server).await;
    let server = fixture.server.as_ref().unwrap();
    under_faults(&fixture, DEATHS * rounds(), async |_| {
        block_in_place(|| {
            server.kill();
            server.restart();
        });
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn workers_continue_after_their_connections_were_killed_on_redis() {
    let fixture = Fixture::on(Server::start()).await;
    let server = fixture.server.as_ref().unwrap();
    under_faults(&fixture, CUTS * rounds(), async |_| {
        for kind in ["normal", "pubsub"] {
            let cut = ["CLIENT", "KILL", "TYPE", kind, "SKIPME", "yes"];
            // The command may kill its own connection.
            let _ = block_in_place(|| server.try_command(&cut));
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn workers_continue_after_another_program_locked_their_file_on_sqlite() {
    let fixture = Fixture::sqlite().await;
    let db = Connection::open(fixture.folder.path().join("jobs.db")).unwrap();
    db.busy_timeout(TIMEOUT_MAX).unwrap();
    let locks = LOCKS * rounds();
    under_faults(&fixture, locks, async |lock| {
        let is_last = lock + 1 == locks;
        let locked_for = if is_last {
            Spec::default().lease * 2
        } else {
            LOCKED_FOR
        };
        db.execute_batch("BEGIN IMMEDIATE").unwrap();
        tokio::time::sleep(locked_for).await;
        db.execute_batch("COMMIT").unwrap();
    })
    .await;
}

/// Asserts that every job ends once, although the store fails repeatedly.
async fn under_faults(fixture: &Fixture, faults: usize, inject: impl AsyncFn(usize)) {
    let all = JOBS * rounds();
    let mut effects = fixture.effects();
    fixture.set("poison_after=1000").await;
    fixture
        .enqueue_many("job", all, Behaviour::Sleep(TIME))
        .await;
    let began = Instant::now();
    let workers = Workers::start(fixture, Spec::default(), WORKERS).await;
    for fault in 0..faults {
        let share = all * (fault + 1) / (faults + 1);
        let have_continued = |seen: &[EffectRecord]| ended(seen).len() >= share;
        wait_until_seen(&mut effects, "the workers continue", have_continued).await;
        inject(fault).await;
    }
    let all_end = |seen: &[EffectRecord]| ended(seen).len() == all;
    wait_until_seen(&mut effects, "every job has ended", all_end).await;
    fixture.wait_until_done(TIMEOUT_MAX).await;
    workers.terminate().await;

    let stats = fixture.assert_sound().await;
    assert_eq!(stats.total.succeeded, all as u64);
    println!(
        "{all} jobs, {faults} faults in {:?}; {} rescued",
        began.elapsed(),
        stats.total.rescued
    );
}
