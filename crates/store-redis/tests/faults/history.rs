//! No data is left of jobs that ended.

use std::sync::Arc;
use std::time::Duration;

use windlass_core::store::Setting;
use windlass_core::{
    BootId, ClaimRequest, Clock, JobId, JobLease, ManualClock, NewJob, Store, SystemClock,
    Timestamp,
};
use windlass_store_redis::{Options, RedisStore};
use windlass_testkit::fixture::leases_of;
use windlass_testkit::redis::Server;

use crate::contents;
use crate::support::queue;

const JOBS: usize = 10_000;
const BATCH: usize = 500;

/// A little longer than an ended claim is remembered.
const CLAIM_TOMBSTONE: Duration = Duration::from_secs(61);

#[tokio::test(flavor = "multi_thread")]
async fn nothing_names_a_job_that_ended_once_its_claim_is_forgotten() {
    let server = Server::start();
    // Generated ids contain their creation time.
    let now = Timestamp::from_ms(SystemClock.now_us() / 1000);
    let clock = Arc::new(ManualClock::new(now));
    let store = opened(&server, &clock).await;
    let q = queue("q");
    let setting: Setting = "dedup_for=0s".parse().unwrap();
    store.set(&q, vec![setting]).await.unwrap();
    let boot = BootId::generate();
    let mut generated = Vec::new();
    let mut seq = 0;
    for batch in 0..JOBS / BATCH {
        // Half of the ids are chosen by the caller.
        let jobs: Vec<_> = (0..BATCH)
            .map(|n| match n % 2 {
                0 => NewJob::new("trace-payload"),
                _ => NewJob::new("trace-payload")
                    .id(JobId::new(format!("trace-{batch}-{n}")).unwrap()),
            })
            .collect();
        generated.extend(
            jobs.iter()
                .filter(|job| !job.is_named)
                .map(|job| job.id.clone()),
        );
        store.enqueue(&q, jobs).await.unwrap();
        let mut done = 0;
        while done < BATCH {
            seq += 1;
            let request = match seq % 2 {
                0 => ClaimRequest::worker(boot.clone(), seq, BATCH),
                _ => ClaimRequest::single(BATCH),
            };
            let claim = store.claim(&q, request).await.unwrap().expect("jobs wait");
            done += claim.jobs.len();
            let completions = leases_of(&claim).into_iter().map(JobLease::completion);
            store
                .complete(&q, completions.collect(), None)
                .await
                .unwrap();
        }
    }
    // The claims are still remembered, so there are traces.
    assert!(!traces(&server, &generated).is_empty());

    clock.advance(CLAIM_TOMBSTONE);
    while !store.maintain(&q, BATCH).await.unwrap().is_idle() {}

    assert_eq!(traces(&server, &generated), [""; 0]);
    let stats = store.stats(&q).await.unwrap().unwrap();
    assert_eq!(stats.total.succeeded, JOBS as u64);
}

async fn opened(server: &Server, clock: &Arc<ManualClock>) -> RedisStore {
    let options = Options {
        clock: Some(clock.clone()),
        ..Options::default()
    };
    RedisStore::open(&server.url(), options).await.unwrap()
}

/// Returns the keys that contain an id or a payload.
fn traces(server: &Server, generated: &[JobId]) -> Vec<String> {
    // Generated within minutes, the ids share a prefix, which does not occur in the registry.
    let ends = [&generated[0], &generated[generated.len() - 1]].map(JobId::as_str);
    let shared = ends[0]
        .bytes()
        .zip(ends[1].bytes())
        .take_while(|(a, b)| a == b)
        .count();
    assert!(shared >= 4, "{ends:?}");
    let marks = [b"trace-".as_slice(), &ends[0].as_bytes()[..shared]];
    let contents = contents::read(&mut server.connect().unwrap());
    let names_a_job = |content: &contents::Content| {
        let has = |text: &[u8], mark: &[u8]| text.windows(mark.len()).any(|window| window == mark);
        let strings = content.strings();
        strings
            .iter()
            .any(|text| marks.iter().any(|mark| has(text, mark)))
    };
    let named = contents
        .into_iter()
        .filter(|(_, content)| names_a_job(content));
    named.map(|(key, _)| key).collect()
}
