//! Waiting for jobs and outcomes.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, sleep};
use windlass_core::wait::{JobEnd, POLL_MAX, wait_for_end};
use windlass_core::{
    ClaimRequest, JobId, JobLease, JobState, ManualClock, NewJob, QueueName, Store, Timestamp,
};
use windlass_store_memory::MemoryStore;

fn fixture() -> (MemoryStore, QueueName) {
    let clock = Arc::new(ManualClock::new(Timestamp::from_ms(1_000_000)));
    (
        MemoryStore::new(clock),
        QueueName::new("mail").expect("a queue name"),
    )
}

#[tokio::test(start_paused = true)]
async fn a_claim_that_may_not_wait_returns_at_once() {
    let (store, queue) = fixture();
    let began = Instant::now();

    let claim = store
        .claim_waiting(&queue, &mut ClaimRequest::single(1), Duration::ZERO)
        .await;

    assert_eq!(claim.unwrap(), None);
    assert_eq!(began.elapsed(), Duration::ZERO);
}

#[tokio::test(start_paused = true)]
async fn a_waiting_claim_gives_up_when_its_time_is_over() {
    let (store, queue) = fixture();
    let began = Instant::now();
    let wait = Duration::from_millis(2_500);

    let claim = store
        .claim_waiting(&queue, &mut ClaimRequest::single(1), wait)
        .await;

    assert_eq!(claim.unwrap(), None);
    assert!(began.elapsed() >= wait && began.elapsed() < wait + POLL_MAX);
}

#[tokio::test(start_paused = true)]
async fn a_waiting_claim_gets_a_job_that_comes_later() {
    let (store, queue) = fixture();
    let mut request = ClaimRequest::single(1);
    let waiting = store.claim_waiting(&queue, &mut request, Duration::from_mins(1));
    let coming = async {
        sleep(Duration::from_secs(5)).await;
        store.enqueue(&queue, vec![NewJob::new("late")]).await
    };
    let began = Instant::now();

    let (claim, enqueued) = tokio::join!(waiting, coming);

    enqueued.unwrap();
    assert_eq!(claim.unwrap().unwrap().jobs[0].payload, "late");
    assert!(began.elapsed() <= Duration::from_secs(6));
}

#[tokio::test(start_paused = true)]
async fn waiting_ends_with_the_job() {
    let (store, queue) = fixture();
    let job = NewJob::new("x").keep_outcome();
    let id = job.id.clone();
    store.enqueue(&queue, vec![job]).await.unwrap();
    let work = async {
        sleep(Duration::from_secs(5)).await;
        let claim = store
            .claim(&queue, ClaimRequest::single(1))
            .await
            .unwrap()
            .unwrap();
        let lease = JobLease::new(claim.jobs[0].id.clone(), claim.token);
        store
            .complete(&queue, vec![lease.completion().result("done")], None)
            .await
    };

    let (end, completed) = tokio::join!(wait_for_end(&store, &queue, &id, None), work);

    completed.unwrap();
    let JobEnd::Ended(job) = end.unwrap() else {
        panic!("expected a finished job")
    };
    assert_eq!(job.result.unwrap(), "done");
}

#[tokio::test(start_paused = true)]
async fn waiting_for_a_missing_job_returns_not_found() {
    let (store, queue) = fixture();

    let end = wait_for_end(&store, &queue, &JobId::new("missing").unwrap(), None).await;

    assert_eq!(end.unwrap(), JobEnd::NotFound);
}

#[tokio::test(start_paused = true)]
async fn waiting_ends_at_its_limit() {
    let (store, queue) = fixture();
    let job = NewJob::new("x");
    let id = job.id.clone();
    store.enqueue(&queue, vec![job]).await.unwrap();

    let end = wait_for_end(&store, &queue, &id, Some(Duration::from_secs(3))).await;

    assert!(matches!(end.unwrap(), JobEnd::TimedOut(job) if job.state == JobState::Ready));
}
