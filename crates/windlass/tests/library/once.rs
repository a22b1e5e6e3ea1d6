//! An effect happens once, however often its attempts crash.

use std::sync::Arc;
use std::time::Duration;

use rusqlite::Connection;
use windlass::memory::MemoryStore;
use windlass::store::{
    Token, {Claim, ClaimRequest, JobLease, LeaseTime, ManualClock, OutcomeStatus},
};
use windlass::{NewJob, Once, QueueName, Store, Timestamp};

const LEASE: LeaseTime = LeaseTime::nearest(Duration::from_secs(30));

/// Jobs; each crashes twice and is then completed. Two more in a row would make it poison.
const JOBS: usize = 5_000;
const CRASHES: u32 = 2;

/// When an attempt crashes.
#[derive(Clone, Copy, PartialEq)]
enum Crash {
    BeforeCommit,
    AfterCommit,
    Never,
}

fn database() -> Connection {
    let database = Connection::open_in_memory().unwrap();
    database.execute(Once::CREATE, ()).unwrap();
    let effects = "CREATE TABLE effect (id TEXT PRIMARY KEY, times INTEGER NOT NULL)";
    database.execute(effects, ()).unwrap();
    database
}

/// Performs the effect of a job with its record, in one transaction; true if it was committed.
fn attempt(database: &mut Connection, id: &str, token: Token, crash: Crash) -> bool {
    let once = Once::new(format!("mail/{id}/charge"), token);
    let transaction = database.transaction().unwrap();
    let rows = transaction
        .execute(Once::RECORD, (once.key(), once.fence()))
        .unwrap();
    if once.is_first(rows as u64) {
        let effect = "INSERT INTO effect VALUES (?1, 1) \
            ON CONFLICT (id) DO UPDATE SET times = times + 1";
        transaction.execute(effect, [id]).unwrap();
    }
    if crash == Crash::BeforeCommit {
        return false; // dropped: rolled back, as by a crash
    }
    transaction.commit().unwrap();
    true
}

#[tokio::test]
async fn ten_thousand_repeats_after_a_crash_leave_each_effect_once() {
    let seed = fastrand::u64(..);
    println!("seed {seed}");
    let mut random = fastrand::Rng::with_seed(seed);
    let clock = Arc::new(ManualClock::new(Timestamp::from_ms(1_700_000_000_000)));
    let store = MemoryStore::new(Arc::<ManualClock>::clone(&clock));
    let queue = QueueName::new("mail").unwrap();
    let jobs = (0..JOBS).map(|_| NewJob::new("x")).collect();
    store.enqueue(&queue, jobs).await.unwrap();
    let mut database = database();
    let (mut repeats, mut completed, mut commits) = (0_u32, 0, 0);
    let mut last_fence = 0;

    loop {
        let request = ClaimRequest::single(100).lease(LEASE);
        let Some(Claim { token, jobs, .. }) = store.claim(&queue, request).await.unwrap() else {
            if completed == JOBS {
                break;
            }
            // Crashed attempts hold the rest until their leases expire.
            clock.advance(LEASE.get());
            continue;
        };
        assert!(token.number > last_fence);
        last_fence = token.number;
        for job in jobs {
            let crash = match job.expiries {
                CRASHES.. => Crash::Never,
                _ if random.u8(..) < 64 => Crash::BeforeCommit,
                _ => Crash::AfterCommit,
            };
            let is_committed = attempt(&mut database, job.id.as_str(), token, crash);
            commits += usize::from(is_committed);
            if crash == Crash::Never {
                let done = JobLease::new(job.id, token).completion();
                let reply = store.complete(&queue, vec![done], None).await.unwrap();
                assert_eq!(reply.statuses, [OutcomeStatus::Completed]);
                completed += 1;
            } else {
                repeats += 1; // dropped between effect and completion
            }
        }
    }

    assert_eq!(repeats, 10_000);
    assert!(commits > JOBS, "most repeats find the effect done");
    let once: usize = database
        .query_row("SELECT count(*) FROM effect WHERE times = 1", (), |row| {
            row.get(0)
        })
        .unwrap();
    let all: usize = database
        .query_row("SELECT count(*) FROM effect", (), |row| row.get(0))
        .unwrap();
    assert_eq!((once, all), (JOBS, JOBS));
}

#[test]
fn old_records_are_forgotten_and_young_ones_kept() {
    let mut database = database();
    let token = "7-00000001".parse().unwrap();
    assert!(attempt(&mut database, "old", token, Crash::Never));
    database
        .execute("UPDATE windlass_once SET at = '2001-01-01'", ())
        .unwrap();
    assert!(attempt(&mut database, "young", token, Crash::Never));

    let forgotten = database.execute(Once::FORGET, ["2020-01-01"]).unwrap();

    assert_eq!(forgotten, 1);
    let left: String = database
        .query_row("SELECT key FROM windlass_once", (), |row| row.get(0))
        .unwrap();
    assert_eq!(left, "mail/young/charge");
}

#[test]
fn a_fence_rejects_a_stale_attempt() {
    let database = Connection::open_in_memory().unwrap();
    let report = "CREATE TABLE report (id, text, fence); INSERT INTO report VALUES (1, '', 0)";
    database.execute_batch(report).unwrap();
    let write = |text: &str, once: &Once| {
        let write = "UPDATE report SET text = $1, fence = $2 WHERE id = 1 AND fence < $2";
        database.execute(write, (text, once.fence())).unwrap()
    };
    let (first, second) = (
        Once::new("r", "7-00000001".parse().unwrap()),
        Once::new("r", "9-00000001".parse().unwrap()),
    );
    assert_eq!(write("second", &second), 1);
    assert_eq!(write("first, late", &first), 0);
}
