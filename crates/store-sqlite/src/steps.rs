//! Limits how many statements, and how many steps of SQLite's virtual machine, a hot call takes. Both are
//! the same in every run.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use windlass_core::store::{GroupName, PlannedInstant, Refill, Rule};
use windlass_core::{
    BootId, ClaimRequest, JobLease, ManualClock, NewJob, QueueName, Schedule, ScheduleName, Store,
    Timestamp,
};

use crate::{Options, SqliteStore, Synchronous};

/// Statements and steps.
type Cost = (i32, i32);

thread_local! {
    /// Statements and steps of this thread, which is the writer of one store.
    static COST: Cell<Cost> = const { Cell::new((0, 0)) };
    /// The steps of each statement so far; SQLite counts them per prepared statement.
    static TOTALS: RefCell<BTreeMap<String, i32>> = const { RefCell::new(BTreeMap::new()) };
}

/// Records that a statement ended, with all its steps since it was prepared.
pub(crate) fn record(sql: &str, total: i32) {
    let before = TOTALS.with_borrow_mut(|totals| totals.insert(sql.to_owned(), total));
    // A statement that was prepared again starts at 0.
    let before = before.filter(|before| *before <= total).unwrap_or_default();
    let (statements, steps) = COST.get();
    COST.set((statements + 1, steps + total - before));
}

/// Returns the cost since the last time, including a `BEGIN` and a `COMMIT` of its own.
async fn take(store: &SqliteStore) -> Cost {
    let taken = store.writer.write(0, |_| Ok(COST.take())).await;
    taken.unwrap()
}

/// Returns the statements and steps of a call that enqueues `batch` jobs, and of one that completes as many
/// and claims the next, in a queue with some settings, and schedules that are not due.
async fn measure(batch: usize, schedules: usize, settings: &[&str]) -> [Cost; 2] {
    measure_groups(batch, schedules, settings, None).await
}

/// The same with the jobs of each call in some groups.
async fn measure_groups(
    batch: usize,
    schedules: usize,
    settings: &[&str],
    groups: Option<Groups>,
) -> [Cost; 2] {
    let folder = tempfile::tempdir().unwrap();
    let options = Options {
        clock: Arc::new(ManualClock::new(Timestamp::from_ms(1_000_000_000))),
        synchronous: Synchronous::Off,
        ..Options::default()
    };
    let store = SqliteStore::open(&folder.path().join("jobs.db"), options).unwrap();
    let (queue, boot) = (QueueName::new("mail").unwrap(), BootId::generate());
    let job = |n: usize| {
        let mut job = NewJob::new("dear Ann");
        job.group = groups.map(|groups| group_name(n % groups.per_call));
        job
    };
    let jobs = || (0..batch).map(job).collect();
    let request = |seq| ClaimRequest::worker(boot.clone(), seq, batch);
    store.enqueue(&queue, jobs()).await.unwrap();
    put_schedules(&store, &queue, schedules).await;
    fill_groups(&store, &queue, groups).await;
    let settings = settings.iter().map(|setting| setting.parse().unwrap());
    store.set(&queue, settings.collect()).await.unwrap();
    take(&store).await;
    let own = take(&store).await;

    store.enqueue(&queue, jobs()).await.unwrap();
    let enqueued = take(&store).await;
    let claim = store.claim(&queue, request(1)).await.unwrap().unwrap();
    let leases = claim
        .jobs
        .iter()
        .map(|job| JobLease::new(job.id.clone(), claim.token));
    let done = leases.map(JobLease::completion).collect();
    take(&store).await;
    let completed = store.complete(&queue, done, Some(request(2))).await;
    assert_eq!(completed.unwrap().next.unwrap().jobs.len(), batch);
    let exchanged = take(&store).await;

    [enqueued, exchanged].map(|(statements, steps)| (statements - own.0, steps - own.1))
}

/// Groups of the jobs of one call, and of other jobs.
#[derive(Clone, Copy)]
struct Groups {
    per_call: usize,
    others: usize,
}

fn group_name(n: usize) -> GroupName {
    GroupName::new(format!("group {n}")).unwrap()
}

/// Enqueues a job in each of the other groups.
async fn fill_groups(store: &SqliteStore, queue: &QueueName, groups: Option<Groups>) {
    let others = groups.map_or(0, |groups| groups.others);
    let names: Vec<_> = (0..others).map(|n| group_name(n + 1000)).collect();
    for page in names.chunks(1000) {
        let jobs = page.iter().map(|name| NewJob::new("x").group(name.clone()));
        store.enqueue(queue, jobs.collect()).await.unwrap();
    }
}

/// Puts schedules that fire in the next minute.
async fn put_schedules(store: &SqliteStore, queue: &QueueName, count: usize) {
    for n in 0..count {
        let name = ScheduleName::new(format!("s{n}")).unwrap();
        let rule = Rule::every(Duration::from_secs(60)).unwrap();
        let schedule = Schedule::new(name.clone(), rule, NewJob::new("x"));
        let put = store.put_schedule(queue, schedule, None).await.unwrap();
        let request = put.refill.unwrap();
        let at = request.now.plus(Duration::from_secs(60));
        let jitter = Duration::ZERO;
        let refill = Refill {
            name,
            revision: request.revision,
            after: request.after,
            missed: 0,
            missed_until: request.after,
            instants: vec![PlannedInstant { at, jitter }],
            known_until: at,
        };
        store.refill_schedules(queue, vec![refill]).await.unwrap();
    }
}

#[tokio::test]
async fn schedules_that_are_not_due_cost_a_claim_nothing() {
    assert_eq!(measure(5, 100, &[]).await, measure(5, 0, &[]).await);
}

#[tokio::test]
async fn limits_cost_a_claim_no_statement_and_no_step() {
    let limits = ["max_running=100", "rate=1000/1s", "burst=1000"];
    assert_eq!(measure(5, 0, &limits).await, measure(5, 0, &[]).await);
}

#[tokio::test]
async fn the_number_of_groups_costs_a_claim_nothing() {
    let measure = async |others| {
        let per_call = 5;
        let groups = Some(Groups { per_call, others });
        measure_groups(10, 0, &[], groups).await
    };
    assert_eq!(measure(100).await, measure(100_000).await);
}

/// Jobs and groups per call, and the most that a call may take, in queues with and without limits of groups.
const GROUP_BUDGETS: [(usize, usize, [Cost; 2]); 3] = [
    (1, 1, [(7, 290), (23, 875)]),
    (50, 10, [(74, 6_650), (215, 14_600)]),
    (50, 50, [(154, 11_300), (366, 24_200)]),
];

#[tokio::test]
async fn claims_in_turn_take_few_statements_and_steps() {
    let limits = [
        "group_max_running=100",
        "group_rate=1000/1s",
        "group_burst=1000",
    ];
    for (batch, per_call, budget) in GROUP_BUDGETS {
        for settings in [&limits[..], &[]] {
            let others = 0;
            let groups = Some(Groups { per_call, others });
            let cost = measure_groups(batch, 0, settings, groups).await;
            assert_within(cost, budget, &format!("{batch} jobs in {per_call} groups"));
        }
    }
}

#[tokio::test]
async fn a_wait_for_jobs_claims_once_before_and_once_after() {
    let folder = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(&folder.path().join("jobs.db"), Options::default()).unwrap();
    let (queue, mut request) = (QueueName::new("mail").unwrap(), ClaimRequest::single(1));
    store.set_paused(&queue, false).await.unwrap();
    take(&store).await;
    let own = take(&store).await.0;
    store.claim(&queue, request.clone()).await.unwrap();
    let claim = take(&store).await.0 - own;

    let wait = Duration::from_millis(1);
    store
        .claim_waiting(&queue, &mut request, wait)
        .await
        .unwrap();

    let waited = take(&store).await.0 - own;
    assert!(
        waited <= 2 * claim,
        "{waited} statements, {claim} per claim"
    );
}

/// Jobs per call, and the most that a call which enqueues, and one which completes and claims, may take. The
/// steps have a few percent of slack for other versions of SQLite. The column `unique_for_ms` is one step
/// of a job that is enqueued, and four of a job that is completed and replaced by the next. The condition of the index
/// `job_holder` is evaluated for every job.
const BUDGETS: [(usize, [Cost; 2]); 2] = [
    (1, [(5, 172), (16, 545)]),
    (50, [(54, 5_400), (114, 10_300)]),
];

#[tokio::test]
async fn hot_calls_take_few_statements_and_steps() {
    for (batch, budget) in BUDGETS {
        let cost = measure(batch, 0, &[]).await;
        assert_within(cost, budget, &format!("{batch} jobs per call"));
    }
}

fn assert_within(cost: [Cost; 2], budget: [Cost; 2], what: &str) {
    let is_within =
        |((statements, steps), most): (Cost, Cost)| statements <= most.0 && steps <= most.1;
    assert!(
        cost.into_iter().zip(budget).all(is_within),
        "{what}: {cost:?} statements and steps, budget {budget:?}"
    );
}
