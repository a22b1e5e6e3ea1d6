//! Redis dies, or cuts its connections, under running workers.

use std::time::{Duration, Instant};

use windlass_chaos::behaviour::Behaviour;
use windlass_testkit::redis::{Fsync, Server, ServerOptions};

use crate::ground::{Ground, ended};
use crate::hands::{Crew, Spec};
use crate::rounds;

const WORKERS: usize = 3;
const JOBS: usize = 600;
const TIME: Duration = Duration::from_millis(20);
const PATIENCE: Duration = Duration::from_secs(60);

/// How often the server dies while the jobs of one round run.
const DEATHS: usize = 3;

#[tokio::test(flavor = "multi_thread")]
async fn workers_go_on_after_their_server_was_killed_and_restarted_on_redis() {
    let server = ServerOptions::new().append_only(Fsync::Always).start();
    under_faults(server, DEATHS * rounds(), |server| {
        server.kill();
        server.restart();
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn workers_go_on_through_storms_of_cut_connections_on_redis() {
    under_faults(Server::start(), 20 * rounds(), |server| {
        for kind in ["normal", "pubsub"] {
            // One that cut itself off has done so all the same.
            let _ = server.try_command(&["CLIENT", "KILL", "TYPE", kind, "SKIPME", "yes"]);
        }
    })
    .await;
}

async fn under_faults(server: Server, faults: usize, strike: impl Fn(&Server)) {
    let ground = Ground::on(server).await;
    let server = ground.server.as_ref().unwrap();
    let all = JOBS * rounds();
    let mut witness = ground.witness();
    ground.set("poison_after=1000").await;
    ground
        .enqueue_alike("job", all, Behaviour::Sleep(TIME))
        .await;
    let began = Instant::now();
    let crew = Crew::start(&ground, Spec::default(), WORKERS).await;
    for fault in 0..faults {
        let share = all * (fault + 1) / (faults + 1);
        let is_far = witness
            .until(PATIENCE, |seen| ended(seen).len() >= share)
            .await;
        assert!(is_far.unwrap(), "the workers did not go on");
        tokio::task::block_in_place(|| strike(server));
    }
    let all_seen = witness
        .until(PATIENCE, |seen| ended(seen).len() == all)
        .await;
    assert!(all_seen.unwrap(), "a job was lost");
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
