//! Replacing jobs that the fast scripts would claim: their options are in their value, or they have none.

#![expect(clippy::unwrap_used, reason = "a test fails at the first error")]

use std::time::Duration;

use windlass_core::store::OnDuplicate;
use windlass_core::{Change, ClaimRequest, Due, JobLease, JobState, NewJob, Store, Target};
use windlass_store_redis::{Options, RedisStore};
use windlass_testkit::fixture::queue;
use windlass_testkit::paging;
use windlass_testkit::redis::Server;

async fn open(server: &Server) -> RedisStore {
    let store = RedisStore::open(&server.url(), Options::default()).await;
    store.unwrap()
}

/// Claims and completes a few jobs: after a full claim, the fast scripts claim plain jobs.
async fn warm_up(store: &RedisStore) {
    for _ in 0..4 {
        let q = queue("q");
        store.enqueue(&q, vec![NewJob::new("x")]).await.unwrap();
        let claim = store.claim(&q, ClaimRequest::single(1)).await.unwrap();
        let claim = claim.unwrap();
        let done = JobLease::new(claim.jobs[0].id.clone(), claim.token).completion();
        store.complete(&q, vec![done], None).await.unwrap();
    }
}

/// A job that replaces `old`, which has a generated id.
fn replacing(old: &NewJob) -> NewJob {
    let job = NewJob::new("new").id(old.id.clone());
    job.on_duplicate(OnDuplicate::Replace)
}

#[tokio::test]
async fn a_plain_job_that_gets_options_is_claimed_and_completed_with_them() {
    let (server, q) = (Server::start(), queue("q"));
    let store = open(&server).await;
    warm_up(&store).await;
    let plain = NewJob::new("old").kind("mail".parse().unwrap());
    let jobs = vec![NewJob::new("first"), plain.clone(), NewJob::new("last")];
    store.enqueue(&q, jobs).await.unwrap();
    let new = replacing(&plain).keep_outcome();
    let new = new.expires(Due::After(Duration::from_secs(3600)));
    store.enqueue(&q, vec![new]).await.unwrap();

    let claim = store.claim(&q, ClaimRequest::single(3)).await.unwrap();
    let claim = claim.unwrap();
    let payloads: Vec<_> = claim.jobs.iter().map(|job| &job.payload[..]).collect();
    assert_eq!(payloads, [&b"first"[..], b"new", b"last"]);
    assert_eq!(claim.jobs[1].kind, None);
    let done = claim.jobs.iter();
    let done = done.map(|job| JobLease::new(job.id.clone(), claim.token).completion());
    store.complete(&q, done.collect(), None).await.unwrap();

    // A caller waits for its outcome.
    let job = store.get(&q, &plain.id).await.unwrap().unwrap();
    assert_eq!(job.state, JobState::Succeeded);
    assert_eq!(paging::audit(&store, &q).await.unwrap().1, []);
}

#[tokio::test]
async fn a_job_that_loses_its_options_leaves_none_behind() {
    let (server, q) = (Server::start(), queue("q"));
    let store = open(&server).await;
    warm_up(&store).await;
    let old = NewJob::new("old").expires(Due::After(Duration::from_secs(3600)));
    store.enqueue(&q, vec![old.clone()]).await.unwrap();
    store.enqueue(&q, vec![replacing(&old)]).await.unwrap();

    let claim = store.claim(&q, ClaimRequest::single(1)).await.unwrap();
    let claim = claim.unwrap();
    assert_eq!(claim.jobs[0].payload, "new");
    let done = JobLease::new(old.id.clone(), claim.token).completion();
    store.complete(&q, vec![done], None).await.unwrap();

    assert_eq!(store.get(&q, &old.id).await.unwrap(), None);
    assert_eq!(paging::audit(&store, &q).await.unwrap().1, []);
}

#[tokio::test]
async fn a_replaced_job_expires_at_its_new_time_only() {
    let (server, q) = (Server::start(), queue("q"));
    let store = open(&server).await;
    let hour = Due::After(Duration::from_secs(3600));
    let [gains, loses] = [NewJob::new("old"), NewJob::new("old").expires(hour)];
    let jobs = vec![gains.clone(), loses.clone()];
    store.enqueue(&q, jobs).await.unwrap();
    let jobs = vec![replacing(&gains).expires(hour), replacing(&loses)];
    store.enqueue(&q, jobs).await.unwrap();

    let expiring = server.command(&["ZRANGE", "windlass:{q}:expiring", "0", "-1"]);
    let expiring: Vec<_> = expiring.ok().array().iter().map(|id| id.text()).collect();
    assert_eq!(expiring, [gains.id.to_string()]);
    assert_eq!(paging::audit(&store, &q).await.unwrap().1, []);
    let all = Target::Ids(vec![gains.id, loses.id]);
    let cancelled = store.change(&q, Change::Cancel, &all, None).await.unwrap();
    assert_eq!(cancelled.items.len(), 2);
    let left = server.command(&["EXISTS", "windlass:{q}:expiring"]);
    assert_eq!(left.ok().integer(), 0);
}
