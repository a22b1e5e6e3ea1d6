//! Somebody else holds the file while workers work.

use std::time::{Duration, Instant};

use rusqlite::Connection;
use windlass_chaos::behaviour::Behaviour;

use crate::ground::{Ground, ended};
use crate::hands::{Crew, Spec};
use crate::rounds;

const WORKERS: usize = 3;
const JOBS: usize = 600;
const TIME: Duration = Duration::from_millis(20);
const PATIENCE: Duration = Duration::from_secs(60);

/// How often the file is held while the jobs of one round run; the last time beyond the lease.
const HOLDS: usize = 5;
const HELD: Duration = Duration::from_millis(200);

#[tokio::test(flavor = "multi_thread")]
async fn workers_go_on_when_somebody_has_held_their_file_on_sqlite() {
    let ground = Ground::sqlite().await;
    let all = JOBS * rounds();
    let holds = HOLDS * rounds();
    let spec = Spec::default();
    let mut witness = ground.witness();
    ground.set("poison_after=1000").await;
    ground
        .enqueue_alike("job", all, Behaviour::Sleep(TIME))
        .await;
    let began = Instant::now();
    let crew = Crew::start(&ground, spec, WORKERS).await;
    let db = Connection::open(ground.folder.path().join("jobs.db")).unwrap();
    db.busy_timeout(PATIENCE).unwrap();
    for hold in 0..holds {
        let share = all * (hold + 1) / (holds + 1);
        let is_far = witness
            .until(PATIENCE, |seen| ended(seen).len() >= share)
            .await;
        assert!(is_far.unwrap(), "the workers did not go on");
        db.execute_batch("BEGIN IMMEDIATE").unwrap();
        // The fault itself: nobody can write for so long.
        let is_last = hold + 1 == holds;
        tokio::time::sleep(if is_last { spec.lease * 2 } else { HELD }).await;
        db.execute_batch("COMMIT").unwrap();
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
        "{all} jobs, {holds} holds in {:?}; {} rescued",
        began.elapsed(),
        stats.total.rescued
    );
}
