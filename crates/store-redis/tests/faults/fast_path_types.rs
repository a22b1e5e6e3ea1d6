//! Fast paths check few types. On a queue where they apply, one key has the wrong type: the script
//! either fails before it changes anything, or does not need that key.

use std::sync::Arc;
use std::time::Duration;

use windlass_core::store::{GroupName, Kind};
use windlass_core::{
    BootId, ClaimRequest, Clock, JobLease, LeaseTime, ManualClock, NewJob, QueueName, Result,
    Store, SystemClock, Timestamp,
};
use windlass_store_redis::{Options, RedisStore};
use windlass_testkit::fixture::leases_of;
use windlass_testkit::redis::Server;

use crate::contents;
use crate::wrong_type::{differing, keys, set_wrong_type};

/// A queue on which the fast paths apply. Nothing is random, so that each run does the same.
struct FastPathFixture {
    queue: QueueName,
    job: NewJob,
    boot: BootId,
    leases: Vec<JobLease>,
}

impl FastPathFixture {
    async fn build(
        store: &RedisStore,
        kind: Option<Kind>,
        group: Option<GroupName>,
    ) -> Result<Self> {
        let queue = QueueName::new("q")?;
        let job = || {
            let mut job = NewJob::new("payload");
            job.kind.clone_from(&kind);
            job.group.clone_from(&group);
            job
        };
        store
            .enqueue(&queue, (0..6).map(|_| job()).collect())
            .await?;
        let mut fixture = Self {
            queue,
            job: job(),
            boot: BootId::new("boot")?,
            leases: Vec::new(),
        };
        let claim = store.claim(&fixture.queue, fixture.request(1)).await?;
        fixture.leases = leases_of(&claim.expect("jobs are ready"));
        Ok(fixture)
    }

    fn request(&self, seq: u64) -> ClaimRequest {
        let mut request = ClaimRequest::worker(self.boot.clone(), seq, 2);
        request.lease = LeaseTime::nearest(Duration::from_secs(30));
        request.nonce = 9;
        request
    }

    async fn call(&self, verb: &str, store: &RedisStore) -> Result<()> {
        let queue = &self.queue;
        let done = || {
            self.leases
                .iter()
                .cloned()
                .map(JobLease::completion)
                .collect()
        };
        match verb {
            "enqueue" => drop(store.enqueue(queue, vec![self.job.clone()]).await?),
            "claim" => drop(store.claim(queue, self.request(2)).await?),
            "single claim" => {
                let mut request = self.request(2);
                request.claimer = ClaimRequest::single(2).claimer;
                drop(store.claim(queue, request).await?);
            }
            "complete" => drop(store.complete(queue, done(), None).await?),
            "complete and claim" => {
                drop(store.complete(queue, done(), Some(self.request(2))).await?);
            }
            other => panic!("unknown operation {other}"),
        }
        Ok(())
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_of_the_wrong_type_never_leaves_a_fast_path_half_done() {
    assert_never_half_done(None, None).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_of_the_wrong_type_never_leaves_a_fast_path_for_jobs_of_a_kind_half_done() {
    assert_never_half_done(Some(Kind::new("mail.send").unwrap()), None).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_of_the_wrong_type_never_leaves_a_fast_path_for_groups_half_done() {
    assert_never_half_done(None, Some(GroupName::new("ann").unwrap())).await;
}

async fn assert_never_half_done(kind: Option<Kind>, group: Option<GroupName>) {
    let server = Server::start();
    let now = || Timestamp::from_ms(SystemClock.now_us() / 1000);
    let (start, clock) = (now(), Arc::new(ManualClock::new(now())));
    let options = Options {
        clock: Some(clock.clone()),
        ..Options::default()
    };
    let store = RedisStore::open(&server.url(), options).await.unwrap();
    // The ids of the jobs have the time of the store.
    clock.advance(Duration::from_millis(now().as_ms() - start.as_ms()));
    let fixture = FastPathFixture::build(&store, kind, group).await.unwrap();
    let mut link = server.connect().unwrap();
    let dumped = contents::dump(&mut link);
    let (mut refused, mut done, mut broken) = (0, 0, Vec::new());
    for verb in [
        "enqueue",
        "claim",
        "single claim",
        "complete",
        "complete and claim",
    ] {
        contents::restore(&mut link, &dumped);
        fixture.call(verb, &store).await.unwrap();
        let complete = contents::read(&mut link);
        for key in keys() {
            contents::restore(&mut link, &dumped);
            set_wrong_type(&mut link, &key);
            let before = contents::read(&mut link);
            let outcome = fixture.call(verb, &store).await;
            let after = contents::read(&mut link);
            let is_right = if outcome.is_ok() {
                done += 1;
                differing(&after, &complete).iter().all(|name| *name == key)
                    && after.get(&key) == before.get(&key)
            } else {
                refused += 1;
                after == before
            };
            if !is_right {
                let changed = differing(&before, &after);
                let missing = differing(&after, &complete);
                broken.push(format!(
                    "{verb} with {key}: {outcome:?}\n    changed {changed:?}\n    missing {missing:?}"
                ));
            }
        }
    }
    println!("{refused} refused, {done} done without the key");
    assert!(refused > 40 && done > 50, "{refused} refused, {done} done");
    assert!(
        broken.is_empty(),
        "{} broken\n{}",
        broken.len(),
        broken.join("\n")
    );
}
