//! Damage to schedules: an audit repairs it, and no stored value can crash the process.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use windlass_core::store::{
    Overlap, PlannedInstant, Refill, Rule, Run, ScheduleChange, ScheduleRecord,
};
use windlass_core::{
    ClaimRequest, ErrorKind, ManualClock, NewJob, Schedule, ScheduleName, Store, Timestamp,
};
use windlass_store_sqlite::{Options, SqliteStore};

use super::damaged::{DROP_LAST_STATS, corrupt, repairs, run_all_verbs};
use super::{folder, queue, quick, ready};

const START: Timestamp = Timestamp::from_ms(1_000_000_000_000);

fn name() -> ScheduleName {
    ScheduleName::new("s").unwrap()
}

fn schedule() -> Schedule {
    let rule = Rule::every(Duration::from_secs(10)).unwrap();
    let mut schedule = Schedule::new(name(), rule, NewJob::new("x"));
    schedule.overlap = Overlap::Buffer;
    schedule
}

fn refill(revision: u64, after: Timestamp) -> Refill {
    let at = |n: u32| START.plus(Duration::from_secs(10) * n);
    let jitter = Duration::ZERO;
    Refill {
        name: name(),
        revision,
        after,
        missed: 0,
        missed_until: after,
        instants: (1..9)
            .map(|n| PlannedInstant { at: at(n), jitter })
            .collect(),
        known_until: at(9),
    }
}

/// Opens a store whose schedule has a running job, and a pending one that waits for it.
async fn open_scheduled(path: &Path) -> SqliteStore {
    let (q, clock) = (queue(), Arc::new(ManualClock::new(START)));
    let options = Options {
        clock: clock.clone(),
        ..quick()
    };
    let store = SqliteStore::open(path, options).unwrap();
    let put = store.put_schedule(&q, schedule(), None).await.unwrap();
    let request = put.refill.unwrap();
    let refills = vec![refill(request.revision, request.after)];
    store.refill_schedules(&q, refills).await.unwrap();
    clock.advance(Duration::from_secs(10));
    let claim = store.claim(&q, ClaimRequest::single(1)).await.unwrap();
    assert_eq!(claim.unwrap().jobs.len(), 1);
    clock.advance(Duration::from_secs(10));
    store.maintain(&q, 100).await.unwrap();
    let stats = store.stats(&q).await.unwrap().unwrap();
    assert_eq!((stats.running, stats.pending, stats.ready), (1, 1, 0));
    store
}

async fn record(store: &SqliteStore) -> Option<ScheduleRecord> {
    store.schedule(&queue(), &name()).await.unwrap()
}

#[tokio::test]
async fn a_pending_job_that_nothing_releases_is_released_by_an_audit() {
    for (sql, expected) in [
        (
            "UPDATE schedule SET current = 'gone'",
            &["schedule_job_missing"][..],
        ),
        (
            "UPDATE schedule SET current = NULL",
            &["schedule_job_missing"],
        ),
        (
            "UPDATE schedule SET current = waiting",
            &["schedule_job_missing"],
        ),
        (
            "UPDATE schedule SET waiting = NULL",
            &["pending_without_schedule"],
        ),
        (
            "UPDATE schedule SET waiting = 'gone'",
            &["pending_without_schedule", "schedule_job_missing"],
        ),
        (
            "UPDATE schedule SET waiting = current",
            &["pending_without_schedule", "schedule_job_missing"],
        ),
        (
            "DELETE FROM schedule",
            &[
                "pending_without_schedule",
                "schedule_time_wrong",
                "stats_wrong",
            ],
        ),
    ] {
        let (_folder, path) = folder();
        let store = open_scheduled(&path).await;
        corrupt(&path, sql);

        assert_eq!(repairs(&store).await, expected, "{sql}");

        assert_eq!(ready(&store).await, 1, "{sql}");
        assert_eq!(repairs(&store).await, [""; 0], "{sql}");
        let waiting = record(&store).await.and_then(|record| record.waiting);
        assert_eq!(waiting, None, "{sql}");
    }
}

#[tokio::test]
async fn wrong_times_and_counts_of_schedules_are_repaired_by_an_audit() {
    for (sql, code) in [
        ("UPDATE schedule SET fires_at = NULL", "schedule_time_wrong"),
        (
            "UPDATE schedule SET fires_at = 7, refill_at = 7",
            "schedule_time_wrong",
        ),
        ("UPDATE queue SET fires_at = NULL", "schedule_time_wrong"),
        (DROP_LAST_STATS, "stats_wrong"),
    ] {
        let (_folder, path) = folder();
        let store = open_scheduled(&path).await;
        let before = store.stats(&queue()).await.unwrap();
        corrupt(&path, sql);

        assert_eq!(repairs(&store).await, [code], "{sql}");

        assert_eq!(store.stats(&queue()).await.unwrap(), before, "{sql}");
        assert_eq!(repairs(&store).await, [""; 0], "{sql}");
    }
}

#[tokio::test]
async fn corrupt_values_of_schedules_are_damage_and_crash_nothing() {
    for sql in [
        "UPDATE schedule SET name = ''",
        "UPDATE schedule SET name = 'a b'",
        "UPDATE schedule SET revision = -1",
        "UPDATE schedule SET revision = 9223372036854775807",
        "UPDATE schedule SET created_at = -1",
        "UPDATE schedule SET settled_until = 9223372036854775807",
        "UPDATE schedule SET known_until = -1",
        "UPDATE schedule SET known_until = 9223372036854775807",
        "UPDATE schedule SET fired = 9223372036854775807",
        "UPDATE schedule SET current = ''",
        "UPDATE schedule SET waiting = x'ff'",
        "UPDATE schedule SET last_end = 'yesterday'",
        "UPDATE schedule SET instants = 'soon'",
        "UPDATE schedule SET instants = '18446744073709551615'",
        "UPDATE schedule SET instants = '1+18446744073709551615'",
        "UPDATE schedule SET history = '1 2 why'",
        "UPDATE schedule SET definition = ''",
        "UPDATE schedule SET definition = replace(definition, 'every=', 'never=')",
        "UPDATE schedule SET definition = replace(definition, 'missed=last', 'missed=99')",
        "UPDATE schedule SET definition = replace(definition, 'due=now', 'due=18446744073709551615')",
        "UPDATE schedule SET definition = definition || char(10) || 'header=a'",
        "UPDATE schedule SET payload = zeroblob(3000000)",
        "UPDATE queue SET fires_at = -5",
        "UPDATE job SET id = 'no at' WHERE state = -1",
        "UPDATE job SET id = '@' WHERE state = -1",
        "DELETE FROM job",
        "DELETE FROM schedule",
    ] {
        let (_folder, path) = folder();
        let store = open_scheduled(&path).await;
        // Some are not text.
        let sql = sql.replace("x'ff'", "CAST(x'ff' AS TEXT)");
        corrupt(&path, &sql);

        let mut errors = run_schedule_verbs(&store).await;
        errors.extend(run_all_verbs(&store).await);
        errors.extend(run_schedule_verbs(&store).await);

        let is_damage = |kind: &ErrorKind| *kind == ErrorKind::StoreDamaged;
        assert!(errors.iter().all(is_damage), "{sql}: {errors:?}");
    }
}

/// Runs every verb of schedules, and returns the kinds of the errors.
async fn run_schedule_verbs(store: &SqliteStore) -> Vec<ErrorKind> {
    let (q, name) = (queue(), name());
    let run = |nonce: &str| Run::Now {
        nonce: nonce.to_owned(),
        is_forced: nonce == "forced",
    };
    let revision = match store.schedule(&q, &name).await {
        Ok(Some(record)) => record.revision,
        _ => 0,
    };
    let refills = vec![refill(revision, START)];
    let replies = [
        store.refill_schedules(&q, refills).await,
        store.maintain(&q, 100).await.map(drop),
        store.run_schedule(&q, &name, run("plain")).await.map(drop),
        store.run_schedule(&q, &name, run("forced")).await.map(drop),
        store.schedule(&q, &name).await.map(drop),
        store.schedules(&q, None, 10).await.map(drop),
        store
            .put_schedule(&q, schedule(), Some(true))
            .await
            .map(drop),
        store
            .change_schedule(&q, &name, ScheduleChange::Resume)
            .await
            .map(drop),
        store
            .change_schedule(&q, &name, ScheduleChange::Delete)
            .await
            .map(drop),
        store.put_schedule(&q, schedule(), None).await.map(drop),
    ];
    let errors = replies.into_iter().filter_map(Result::err);
    errors.map(|error| error.kind()).collect()
}
