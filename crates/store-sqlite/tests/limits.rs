//! Waiting claims on a queue with limits start when they may, not at their next poll.
//!
//! Other programs use the machine too, so each test takes the fastest of some rounds. Without a wake-up, every
//! round would wait for a poll, which is at least 400 ms later.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot continue fails on the spot"
)]

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tempfile::TempDir;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use windlass_core::notification::Notification;
use windlass_core::store::GroupChange;
use windlass_core::{
    Claim, ClaimRequest, Clock, JobLease, JobState, NewJob, QueueName, Store, SystemClock,
};
use windlass_store_sqlite::{Options, SqliteStore, Synchronous};

const ROUNDS: usize = 5;

/// How long after it may start a job is claimed.
const DELAY_MAX: Duration = Duration::from_millis(50);

/// The system clock, which counts how often it is read.
#[derive(Debug)]
struct CountedClock(watch::Sender<u32>);

impl Clock for CountedClock {
    fn now_us(&self) -> u64 {
        self.0.send_modify(|reads| *reads += 1);
        SystemClock.now_us()
    }
}

fn open(path: &Path, clock: Arc<dyn Clock>) -> Arc<SqliteStore> {
    let options = Options {
        clock,
        synchronous: Synchronous::Off,
        ..Options::default()
    };
    Arc::new(SqliteStore::open(path, options).unwrap())
}

fn queue() -> QueueName {
    QueueName::new("q").unwrap()
}

/// Creates a store with limits and some ready jobs.
async fn limited(settings: &[&str]) -> (TempDir, Arc<SqliteStore>) {
    limited_group(settings, None).await
}

/// The same with jobs of a group.
async fn limited_group(settings: &[&str], group: Option<&str>) -> (TempDir, Arc<SqliteStore>) {
    let folder = tempfile::tempdir().unwrap();
    let store = open(&folder.path().join("jobs.db"), Arc::new(SystemClock));
    let settings = settings.iter().map(|setting| setting.parse().unwrap());
    store.set(&queue(), settings.collect()).await.unwrap();
    let jobs = (0..5).map(|_| {
        let mut job = NewJob::new("x");
        job.group = group.map(|group| group.parse().unwrap());
        job
    });
    let jobs = jobs.collect();
    store.enqueue(&queue(), jobs).await.unwrap();
    (folder, store)
}

async fn claim(store: &SqliteStore) -> Claim {
    let claim = store.claim(&queue(), ClaimRequest::single(1)).await;
    claim.unwrap().unwrap()
}

async fn complete(store: &SqliteStore, claim: &Claim, next: Option<ClaimRequest>) -> Option<Claim> {
    let done = JobLease::new(claim.jobs[0].id.clone(), claim.token).completion();
    let completed = store.complete(&queue(), vec![done], next).await;
    completed.unwrap().next
}

/// Starts a claim on a connection of its own. Returns once it has found that no job may start, and waits.
async fn start_waiting(folder: &TempDir) -> JoinHandle<(Claim, Instant)> {
    let (reads, mut read) = watch::channel(0);
    let clock = Arc::new(CountedClock(reads));
    let store = open(&folder.path().join("jobs.db"), clock.clone());
    let claimer = store.clone();
    let waiting = tokio::spawn(async move {
        let (mut request, wait) = (ClaimRequest::single(1), Duration::from_secs(20));
        let claim = claimer.claim_waiting(&queue(), &mut request, wait).await;
        let claimed_at = Instant::now();
        // On a busy machine a rate may open before the first claim, which then reads the clock only once.
        clock.0.send_modify(|reads| *reads += 2);
        (claim.unwrap().unwrap(), claimed_at)
    });
    // A claim that found nothing, then the stats that say how long to wait. Reads are answered in order.
    read.wait_for(|reads| *reads >= 2).await.unwrap();
    store.stats(&queue()).await.unwrap();
    waiting
}

#[tokio::test]
async fn a_waiting_claim_starts_when_another_connection_frees_a_slot() {
    let mut delays = Vec::new();
    for _ in 0..ROUNDS {
        let (folder, store) = limited(&["max_running=1"]).await;
        let running = claim(&store).await;
        let waiting = start_waiting(&folder).await;

        complete(&store, &running, None).await;

        let completed_at = Instant::now();
        let (_, claimed_at) = waiting.await.unwrap();
        delays.push(claimed_at.saturating_duration_since(completed_at));
    }
    assert!(*delays.iter().min().unwrap() < DELAY_MAX, "{delays:?}");
}

#[tokio::test]
async fn a_waiting_claim_starts_when_another_connection_raises_a_limit() {
    let mut delays = Vec::new();
    for _ in 0..ROUNDS {
        let (folder, store) = limited(&["max_running=1"]).await;
        claim(&store).await;
        let waiting = start_waiting(&folder).await;

        let raised = vec!["max_running=2".parse().unwrap()];
        store.set(&queue(), raised).await.unwrap();

        let raised_at = Instant::now();
        let (_, claimed_at) = waiting.await.unwrap();
        delays.push(claimed_at.saturating_duration_since(raised_at));
    }
    assert!(*delays.iter().min().unwrap() < DELAY_MAX, "{delays:?}");
}

/// The time between two claims, on the store's clock.
fn between(first: &Claim, second: &Claim) -> Duration {
    Duration::from_micros(second.token.number - first.token.number)
}

/// Asserts that claims never came before the rate opened, and the fastest soon after that.
fn assert_opened(after: &[Duration], opens: Duration) {
    let first = after.iter().min().unwrap();
    assert!((opens..opens + DELAY_MAX).contains(first), "{after:?}");
}

#[tokio::test]
async fn a_waiting_claim_starts_when_a_closed_rate_opens() {
    let mut after = Vec::new();
    for _ in 0..ROUNDS {
        let (folder, store) = limited(&["rate=10/1s"]).await;
        let first = claim(&store).await;

        let (second, _) = start_waiting(&folder).await.await.unwrap();

        after.push(between(&first, &second));
    }
    assert_opened(&after, Duration::from_millis(100));
}

/// The waiting claim saw an open rate, which others closed while it waited for a slot.
#[tokio::test]
async fn a_waiting_claim_that_gets_a_slot_learns_when_the_rate_opens() {
    let mut after = Vec::new();
    for _ in 0..ROUNDS {
        let (folder, store) = limited(&["max_running=1", "rate=5/1s", "burst=2"]).await;
        let first = claim(&store).await;
        let waiting = start_waiting(&folder).await;

        let second = complete(&store, &first, Some(ClaimRequest::single(1))).await;
        complete(&store, &second.unwrap(), None).await;

        let (third, _) = waiting.await.unwrap();
        after.push(between(&first, &third));
    }
    assert_opened(&after, Duration::from_millis(250));
}

#[tokio::test]
async fn a_waiting_claim_starts_when_another_connection_frees_a_slot_of_a_group() {
    let mut delays = Vec::new();
    for slot in ["group_slot=run", "group_slot=job", "group_slot=success"].repeat(2) {
        let (folder, store) = limited_group(&[slot, "group_max_running=1"], Some("g")).await;
        let running = claim(&store).await;
        let waiting = start_waiting(&folder).await;

        complete(&store, &running, None).await;

        let completed_at = Instant::now();
        let (_, claimed_at) = waiting.await.unwrap();
        delays.push(claimed_at.saturating_duration_since(completed_at));
    }
    assert!(*delays.iter().min().unwrap() < DELAY_MAX, "{delays:?}");
}

#[tokio::test]
async fn a_waiting_claim_starts_when_another_connection_resumes_a_group() {
    let mut delays = Vec::new();
    for _ in 0..ROUNDS {
        let (folder, store) = limited_group(&[], Some("g")).await;
        let pause = |is_paused| GroupChange {
            is_paused: Some(is_paused),
            ..GroupChange::default()
        };
        let group = "g".parse().unwrap();
        let paused = store.set_group(&queue(), &group, pause(true)).await;
        paused.unwrap();
        let waiting = start_waiting(&folder).await;

        let resumed = store.set_group(&queue(), &group, pause(false)).await;

        let resumed_at = Instant::now();
        resumed.unwrap();
        let (_, claimed_at) = waiting.await.unwrap();
        delays.push(claimed_at.saturating_duration_since(resumed_at));
    }
    assert!(*delays.iter().min().unwrap() < DELAY_MAX, "{delays:?}");
}

#[tokio::test]
async fn a_waiting_claim_starts_when_the_closed_rate_of_a_group_opens() {
    let mut after = Vec::new();
    for _ in 0..ROUNDS {
        let (folder, store) = limited_group(&["group_rate=10/1s"], Some("g")).await;
        let first = claim(&store).await;

        let (second, _) = start_waiting(&folder).await.await.unwrap();

        after.push(between(&first, &second));
    }
    assert_opened(&after, Duration::from_millis(100));
}

/// A call that completes a job and claims the next wakes others only if it leaves them a job.
#[tokio::test]
async fn a_slot_of_a_group_that_the_same_call_takes_again_wakes_nobody() {
    let (_folder, store) = limited_group(&["group_max_running=1"], Some("g")).await;
    let running = claim(&store).await;
    let mut watch = store.watch(&[queue()]).await.unwrap();

    let next = complete(&store, &running, Some(ClaimRequest::single(1))).await;

    // The next call announces work, as the first notification of its kind.
    complete(&store, &next.unwrap(), None).await;
    let ended = async {
        let mut ended = 0;
        while let Some(Notification::Event(_, _, state)) = watch.next().await {
            ended += u32::from(state == JobState::Succeeded);
        }
        ended
    };
    let ended = tokio::time::timeout(Duration::from_secs(20), ended).await;
    assert_eq!(ended, Ok(2));
}
