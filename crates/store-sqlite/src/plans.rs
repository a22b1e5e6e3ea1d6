//! Checks that every statement run by the verbs uses an index, whatever the backlog.
//!
//! In tests each connection records its statements; their query plans are checked afterwards.

mod groups;
mod limits;
mod terms;

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rusqlite::trace::{TraceEvent, TraceEventCodes};
use rusqlite::{Connection, StatementStatus};
use windlass_core::store::{
    Claimer, Fraction, OnDuplicate, Overlap, PlannedInstant, Refill, Retry, Rule, Run,
    ScheduleChange, UniqueKey, UniqueUntil,
};
use windlass_core::{
    BootId, Change, Claim, ClaimRequest, Clock, Due, Filter, JobId, JobLease, JobState, LeaseTime,
    ManualClock, NewJob, Priority, QueueName, Renewal, Result, Schedule, ScheduleName, Store,
    Target, Timestamp,
};

use crate::schema::SCHEMA;
use crate::{Options, SqliteStore, steps};

static EXECUTED: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());

/// Records the statements a connection runs.
pub(crate) fn record_statements(mut db: Connection) -> Connection {
    let record = |event: TraceEvent<'_>| {
        if let TraceEvent::Profile(statement, _) = event {
            let sql = statement.sql().into_owned();
            steps::record(&sql, statement.get_status(StatementStatus::VmStep));
            let mut executed = EXECUTED.lock().unwrap_or_else(PoisonError::into_inner);
            executed.insert(sql);
        }
    };
    db.trace_v2(TraceEventCodes::SQLITE_TRACE_PROFILE, Some(record))
        .unwrap();
    db
}

/// Tables that grow with the backlog or with recently finished jobs.
const GROWING: [&str; 10] = [
    "job",
    "large_payload",
    "lease",
    "claim",
    "claim_ids",
    "departure",
    "tombstone",
    "schedule",
    "job_group",
    "history",
];

/// The steps of a query plan whose cost grows with the backlog.
fn slow_steps(db: &Connection, sql: &str) -> Vec<String> {
    let mut plan = db.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).unwrap();
    let empty = vec![rusqlite::types::Null; plan.parameter_count()];
    let steps = plan.query_map(rusqlite::params_from_iter(empty), |row| row.get(3));
    let steps: Vec<String> = steps.unwrap().collect::<Result<_, _>>().unwrap();
    let is_slow = |step: &String| {
        let mut words = step.split(' ');
        let scans = words.next() == Some("SCAN");
        let table = words.next().unwrap_or_default();
        // Walking all ids of a queue is as slow as a scan.
        let walks = step.ends_with("INDEX job_id (queue=?)");
        walks || (scans && GROWING.contains(&table)) || step.contains("TEMP B-TREE")
    };
    let mut slow: Vec<_> = steps.iter().filter(|step| is_slow(step)).cloned().collect();
    slow.extend(terms::unbounded_terms(sql, &steps));
    // `OR` does not bound an index: every row may be read, and the plan does not show it.
    if sql
        .split_once("WHERE")
        .is_some_and(|(_, terms)| terms.contains(" OR "))
    {
        slow.push("OR".to_owned());
    }
    slow
}

#[test]
fn a_term_that_does_not_bound_its_index_is_slow() {
    let db = Connection::open_in_memory().unwrap();
    db.execute_batch(SCHEMA).unwrap();
    let refill =
        "SELECT name FROM schedule WHERE queue = ?1 AND refill_at <= ?2 ORDER BY refill_at, name";
    let page = "SELECT id FROM job WHERE queue = ?1 AND state = 0 AND (due_at, id) > (?2, ?3) ORDER BY due_at, id";
    let claims = "SELECT seq FROM claim WHERE queue = ?1 AND finished_at IS NULL AND owner = ?2 ORDER BY number";
    let claims_by_index = claims.replace("claim W", "claim INDEXED BY claim_open W");
    for sql in [refill, page, &claims_by_index] {
        assert_eq!(slow_steps(&db, sql), [""; 0], "{sql}");
    }

    let without_index = refill.replace("refill_at <=", "+refill_at <=");
    assert_eq!(slow_steps(&db, &without_index), ["+refill_at<=?2"]);
    let without_index = page.replace("(due_at, id) >", "(+due_at, id) >");
    assert_eq!(slow_steps(&db, &without_index), ["(+due_at,id)>(?2,?3)"]);
    // The planner prefers the primary key, and walks all claims of the queue.
    assert_eq!(slow_steps(&db, claims), ["owner=?2"]);
}

#[tokio::test]
async fn every_statement_of_every_verb_follows_an_index() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("jobs.db");
    let clock = Arc::new(ManualClock::new(Timestamp::from_ms(1_000_000_000)));
    let options = Options {
        clock: clock.clone(),
        ..Options::default()
    };
    let store = SqliteStore::open(&path, options).unwrap();
    EXECUTED.lock().unwrap().clear();

    run_everything(&store, &clock).await.unwrap();

    let executed = EXECUTED.lock().unwrap().clone();
    drop(store);
    let db = Connection::open(&path).unwrap();
    let verbs = ["SELECT", "INSERT", "UPDATE", "DELETE"];
    let is_query = |sql: &&String| verbs.iter().any(|verb| sql.starts_with(verb));
    let queries: Vec<_> = executed.iter().filter(is_query).collect();
    let slow = queries.iter().map(|sql| (sql, slow_steps(&db, sql)));
    let slow: Vec<_> = slow.filter(|(_, steps)| !steps.is_empty()).collect();
    assert!(slow.is_empty(), "{slow:#?}");
    assert!(queries.len() > 40, "all verbs were run: {queries:#?}");
}

/// Every verb except audit, which scans everything on purpose.
async fn run_everything(store: &SqliteStore, clock: &ManualClock) -> Result<()> {
    let q = QueueName::new("q")?;
    let job = |n: usize| NewJob::new(vec![7; n * 300]).id(JobId::new(format!("job {n}")).unwrap());
    store.enqueue(&q, (0..40).map(job).collect()).await?;
    store.enqueue(&q, vec![job(1)]).await?;
    let soon = |n: usize| job(n).delay(Duration::from_secs(5));
    store.enqueue(&q, (100..110).map(soon).collect()).await?;
    let keyed = job(200).unique_key(UniqueKey::new("key")?);
    store.enqueue(&q, vec![keyed.clone(), keyed]).await?;
    let late = job(300).expires(Due::After(Duration::from_secs(1)));
    store
        .enqueue(&q, vec![late.clone().id(JobId::new("late")?), late])
        .await?;

    duplicates(store, &q).await?;
    outcomes(store, &q).await?;
    clock.advance(Duration::from_secs(10));
    let claim = store.claim(&q, ClaimRequest::single(3)).await?;
    let claim = claim.expect("jobs are ready");
    change(store, &q, &job_lease(&claim, 0)).await?;
    clock.advance(Duration::from_secs(100));
    for _ in 0..3 {
        store.maintain(&q, 100).await?;
        store.claim(&q, ClaimRequest::single(1)).await?;
        clock.advance(Duration::from_secs(100_000));
    }
    // The clock is set back, which deletes rows of the history.
    clock.step_back(Duration::from_secs(90));
    store.maintain(&q, 100).await?;
    schedules(store, &q, clock).await?;
    limits::run(store, clock).await?;
    groups::run(store, clock).await?;
    read(store, &q).await?;
    store.purge(&q).await?;
    store.delete_queue(&q).await?;
    Ok(())
}

fn job_lease(claim: &Claim, index: usize) -> JobLease {
    JobLease::new(claim.jobs[index].id.clone(), claim.token)
}

/// Replaces and postpones jobs, frees a key at the start, and holds keys after the end.
async fn duplicates(store: &SqliteStore, q: &QueueName) -> Result<()> {
    let job = |id: &str, key: &str| {
        let job = NewJob::new(vec![7; 3000]).id(JobId::new(id).unwrap());
        let job = job.priority(Priority::new(0).unwrap()).keep_outcome();
        job.unique_key(UniqueKey::new(key).unwrap())
    };
    let hour = Duration::from_secs(3600);
    let until_start = job("until start", "start").unique_until(UniqueUntil::Start);
    let held = ["a", "b"].map(|id| job(id, id).unique_for(hour));
    store.enqueue(q, vec![until_start]).await?;
    store.enqueue(q, held.to_vec()).await?;
    let claim = store.claim(q, ClaimRequest::single(3)).await?;
    let claim = claim.expect("jobs are ready");
    assert_eq!(claim.jobs.len(), 3);
    let done = (0..2).map(|index| job_lease(&claim, index).completion());
    store.complete(q, done.collect(), None).await?;
    let mut failure = job_lease(&claim, 2).failure("no");
    failure.retry = Retry::Permanent;
    store.fail(q, vec![failure]).await?;
    store.enqueue(q, vec![job("c", "a")]).await?;
    let by_key = Target::UniqueKey(UniqueKey::new("a")?);
    store.change(q, Change::Delete, &by_key, None).await?;
    let dead = Target::Ids(vec![JobId::new("b")?]);
    store.change(q, Change::Retry, &dead, None).await?;

    store.enqueue(q, vec![job("waiting", "waiting")]).await?;
    for (id, on_duplicate) in ["r", "p", "rp"].iter().zip(&OnDuplicate::ALL[1..]) {
        let call = job(id, "waiting").on_duplicate(*on_duplicate);
        let reply = store.enqueue(q, vec![call.delay(hour)]).await?;
        assert!(!reply[0].is_duplicate(), "{reply:?}");
    }
    Ok(())
}

async fn outcomes(store: &SqliteStore, q: &QueueName) -> Result<()> {
    let boot = BootId::new("boot")?;
    let claim = store
        .claim(q, ClaimRequest::worker(boot.clone(), 1, 10))
        .await?;
    let claim = claim.expect("jobs are ready");
    let again = ClaimRequest::worker(boot.clone(), 1, 10);
    store.claim(q, again).await?;
    let done = vec![
        job_lease(&claim, 0).completion(),
        job_lease(&claim, 1).completion().result("x"),
    ];
    let next = ClaimRequest::worker(boot.clone(), 2, 5);
    store.complete(q, done.clone(), Some(next)).await?;
    store.complete(q, done, None).await?;
    store
        .fail(q, vec![job_lease(&claim, 2).failure("no")])
        .await?;
    store.release(q, vec![job_lease(&claim, 3)]).await?;
    let later = job_lease(&claim, 4).snooze(Due::After(Duration::from_secs(9)));
    store.snooze(q, vec![later]).await?;
    let lease = LeaseTime::default();
    let renewal = Renewal::Worker {
        boot: boot.clone(),
        tokens: vec![claim.token],
        settled: 2,
    };
    store.renew(q, renewal, lease).await?;
    let single = Renewal::Single { token: claim.token };
    store.renew(q, single, lease).await?;
    store.accept(q, job_lease(&claim, 5), lease).await?;
    store
        .progress(q, job_lease(&claim, 5), Fraction::new(0.5)?, None)
        .await?;
    let mut pulled = ClaimRequest::single(1);
    pulled.claimer = Claimer::Single {
        worker: Some(boot.clone()),
    };
    store.claim(q, pulled).await?;
    store.leave(&boot, Some(q)).await?;
    Ok(())
}

async fn change(store: &SqliteStore, q: &QueueName, running: &JobLease) -> Result<()> {
    let one = Target::Ids(vec![running.id.clone(), JobId::new("job 30")?]);
    store.change(q, Change::Cancel, &one, None).await?;
    let single = Renewal::Single {
        token: running.token,
    };
    store.renew(q, single, LeaseTime::default()).await?;
    let by_key = Target::UniqueKey(UniqueKey::new("key")?);
    store.change(q, Change::Cancel, &by_key, None).await?;
    let all = |state| {
        Target::Filter(Filter {
            state: Some(state),
            ..Filter::default()
        })
    };
    store
        .change(q, Change::Promote, &all(JobState::Scheduled), None)
        .await?;
    store
        .change(q, Change::Retry, &all(JobState::Dead), None)
        .await?;
    store
        .change(q, Change::Delete, &all(JobState::Cancelled), None)
        .await?;
    Ok(())
}

async fn schedules(store: &SqliteStore, q: &QueueName, clock: &ManualClock) -> Result<()> {
    let name = ScheduleName::new("s")?;
    let rule = Rule::every(Duration::from_secs(60))?;
    let mut schedule = Schedule::new(name.clone(), rule, NewJob::new("x"));
    for overlap in Overlap::ALL {
        schedule.overlap = *overlap;
        let put = store.put_schedule(q, schedule.clone(), None).await?;
        let request = put.refill.expect("it was changed");
        for _ in 0..2 {
            clock.advance(Duration::from_secs(60));
            let now = Timestamp::from_ms(clock.now_us() / 1_000_000 * 1000);
            let instants = vec![PlannedInstant {
                at: now,
                jitter: Duration::ZERO,
            }];
            let refill = Refill {
                name: name.clone(),
                revision: request.revision,
                after: request.after,
                missed: 0,
                missed_until: request.after,
                instants,
                known_until: now.plus(Duration::from_secs(9)),
            };
            store.refill_schedules(q, vec![refill]).await?;
            store.stats(q).await?;
            store.maintain(q, 100).await?;
        }
    }
    assert_eq!(
        store
            .schedule(q, &name)
            .await?
            .expect("it exists")
            .total
            .fired,
        6
    );
    let nonce = "1".to_owned();
    let is_forced = true;
    store
        .run_schedule(q, &name, Run::Now { nonce, is_forced })
        .await?;
    store.schedules(q, None, 10).await?;
    for change in ScheduleChange::ALL {
        assert!(store.change_schedule(q, &name, *change).await?);
    }
    Ok(())
}

/// Explains jobs in every state.
async fn explain_all(store: &SqliteStore, q: &QueueName) -> Result<()> {
    for job in store.list(q, &Filter::default(), None, 100).await?.items {
        store.explain(q, &job.id).await?;
    }
    Ok(())
}

async fn read(store: &SqliteStore, q: &QueueName) -> Result<()> {
    store.stats(q).await?;
    store.history(q, 60).await?;
    store.get(q, &JobId::new("job 31")?).await?;
    explain_all(store, q).await?;
    let states = JobState::ALL.iter().copied().map(Some);
    for state in states.chain([None]) {
        let filter = Filter {
            state,
            ..Filter::default()
        };
        let page = store.list(q, &filter, None, 2).await?;
        store.list(q, &filter, page.next, 2).await?;
    }
    store.settings(q).await?;
    store.set_paused(q, true).await?;
    store.set_paused(q, false).await
}
