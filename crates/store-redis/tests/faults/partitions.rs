//! A partitioned queue with one server down: the other partitions keep working.

use std::sync::Arc;
use std::time::Duration;

use windlass_core::store::Owner;
use windlass_core::{
    BootId, Claim, ClaimRequest, Error, LeaseTime, Mode, QueueName, Renewal, Store, Token,
};
use windlass_store_redis::RedisStore;
use windlass_testkit::fixture::{lease_of, named};
use windlass_testkit::redis::{Cluster, Reply, slot_of};

use crate::support::{blocking, eventually, open, queue, with, with_options};

const PARTITIONS: u64 = 4;
const LEASE: LeaseTime = LeaseTime::nearest(Duration::from_secs(100));

/// A Cluster with a partitioned queue and jobs in each partition.
struct ClusterFixture {
    cluster: Arc<Cluster>,
    store: RedisStore,
    queue: QueueName,
    boot: BootId,
}

impl ClusterFixture {
    async fn start(jobs: usize) -> Self {
        // Otherwise the Cluster rejects all calls while one slot has no owner.
        let lines = ["cluster-require-full-coverage no"];
        let cluster = Arc::new(blocking(move || Cluster::start_with(&lines)).await);
        let store = open(&with_options(&cluster.url(), "timeout=5s")).await;
        let fixture = Self {
            cluster,
            store,
            queue: queue("mail"),
            boot: BootId::generate(),
        };
        let setting = format!("partitions={PARTITIONS}").parse().unwrap();
        fixture
            .store
            .set(&fixture.queue, vec![setting])
            .await
            .unwrap();
        let jobs = (0..jobs).map(|n| named(&format!("j{n}"))).collect();
        fixture.store.enqueue(&fixture.queue, jobs).await.unwrap();
        fixture
    }

    /// Claims with this sequence number, which also selects the first partition to try.
    async fn claim(&self, seq: u64) -> windlass_core::Result<Option<Claim>> {
        let request = ClaimRequest::worker(self.boot.clone(), seq, 1).lease(LEASE);
        self.store.claim(&self.queue, request).await
    }

    async fn renew(
        &self,
        tokens: Vec<Token>,
        settled: u64,
        lease: LeaseTime,
    ) -> windlass_core::Result<windlass_core::store::Renewed> {
        let renewal = Renewal::Worker {
            boot: self.boot.clone(),
            tokens,
            settled,
        };
        self.store.renew(&self.queue, renewal, lease).await
    }

    /// Runs an action on the server of the first partition.
    async fn with_first(&self, act: fn(&windlass_testkit::redis::Server)) {
        let slot = slot_of(tag(0).as_bytes());
        with(&self.cluster, move |cluster| {
            act(cluster.node_of_slot(slot));
        })
        .await;
    }

    /// Returns the partitions that are not on the server of the first one.
    fn others(&self) -> Vec<u64> {
        let home = |partition| {
            self.cluster
                .node_of_slot(slot_of(tag(partition).as_bytes()))
                .port()
        };
        (1..PARTITIONS)
            .filter(|partition| home(*partition) != home(0))
            .collect()
    }

    /// Returns when the worker's lease in a partition expires.
    fn lease_end(&self, partition: u64) -> u64 {
        let lease = Owner::boot(&self.boot);
        let score = self.command(partition, "ZSCORE", "leases", &[lease.as_str()]);
        score.text().parse().unwrap()
    }

    /// Returns the size of a key of a partition.
    fn count(&self, partition: u64, command: &str, name: &str) -> i64 {
        self.command(partition, command, name, &[]).integer()
    }

    /// Runs a command on a key of a partition.
    fn command(&self, partition: u64, command: &str, name: &str, rest: &[&str]) -> Reply {
        let node = self
            .cluster
            .node_of_slot(slot_of(tag(partition).as_bytes()));
        let key = format!("windlass:{}:{name}", tag(partition));
        node.command(&[&[command, &key], rest].concat())
    }
}

/// Returns the hash tag of a partition's keys.
fn tag(partition: u64) -> String {
    match partition {
        0 => "{mail}".to_owned(),
        _ => format!("{{mail/{partition}}}"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_renews_in_every_partition_that_can_be_reached() {
    let fixture = ClusterFixture::start(100).await;
    let mut tokens = Vec::new();
    for seq in PARTITIONS..2 * PARTITIONS {
        tokens.push(fixture.claim(seq).await.unwrap().unwrap().token);
    }
    let others = fixture.others();
    assert!(!others.is_empty(), "the partitions are on several servers");
    let ends: Vec<u64> = others
        .iter()
        .map(|partition| fixture.lease_end(*partition))
        .collect();
    fixture.with_first(|server| server.kill()).await;

    let renewal = fixture.renew(
        tokens.clone(),
        2 * PARTITIONS - 1,
        LeaseTime::nearest(3 * LEASE.get()),
    );
    let renewed = renewal.await.unwrap();

    let is_reached = |token: &Token| others.contains(&u64::from(token.nonce >> 24));
    tokens.retain(|token| !is_reached(token));
    assert!(!tokens.is_empty(), "one claim is in the first partition");
    assert_eq!(renewed.unreached, Some(tokens));
    assert_eq!(renewed.lost, []);
    assert!(renewed.until.is_some());
    for (partition, end) in others.into_iter().zip(ends) {
        let moved = fixture.lease_end(partition) - end;
        assert!(moved > 100_000, "partition {partition}: {moved} ms later");
    }
}

/// A worker waits for the reply for a third of its lease, however long the timeout of the store is.
#[tokio::test(flavor = "multi_thread")]
async fn a_partition_that_hangs_delays_the_renewal_of_the_others_for_a_quarter_of_the_lease() {
    let mut fixture = ClusterFixture::start(100).await;
    fixture.store = open(&with_options(&fixture.cluster.url(), "timeout=10m")).await;
    fixture.store.settings(&fixture.queue).await.unwrap();
    let mut tokens = Vec::new();
    for seq in PARTITIONS..2 * PARTITIONS {
        tokens.push(fixture.claim(seq).await.unwrap().unwrap().token);
    }
    fixture.with_first(|server| server.stop()).await;

    let renewal = fixture.renew(
        tokens,
        2 * PARTITIONS - 1,
        LeaseTime::nearest(Duration::from_secs(4)),
    );
    let renewed = tokio::time::timeout(Duration::from_secs(30), renewal).await;

    fixture.with_first(|server| server.resume()).await;
    let renewed = renewed.expect("it takes a second").unwrap();
    assert!(renewed.unreached.is_some_and(|tokens| !tokens.is_empty()));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_is_lost_only_if_the_first_partition_was_reached() {
    let (fixture, _) = fixture_with_claims().await;
    // Issued for a partition that is reached; before the queue was partitioned, the first may have it.
    let others = fixture.others();
    let nonce = u32::try_from(others[0]).unwrap() << 24;
    let stale = Token { number: 1, nonce };

    let renewed = fixture.renew(vec![stale], 0, LEASE).await.unwrap();

    assert_eq!(
        (renewed.lost, renewed.unreached),
        (vec![], Some(vec![stale]))
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_claim_skips_a_partition_that_cannot_be_reached() {
    let fixture = ClusterFixture::start(100).await;
    fixture.with_first(|server| server.kill()).await;

    let claim = fixture.claim(PARTITIONS).await.unwrap();

    assert!(claim.is_some(), "the other partitions have jobs");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_claim_that_finds_nothing_reports_that_a_partition_could_not_be_reached() {
    let fixture = ClusterFixture::start(0).await;
    fixture.with_first(|server| server.kill()).await;

    let result = fixture.claim(PARTITIONS).await;

    assert!(result.is_err_and(|error| error.is_transient()));
}

/// A stopped server may still execute the abandoned claim later.
#[tokio::test(flavor = "multi_thread")]
async fn jobs_claimed_late_in_a_skipped_partition_return_with_the_next_renewal() {
    let fixture = ClusterFixture::start(100).await;
    fixture.with_first(|server| server.stop()).await;
    let claim = fixture.claim(PARTITIONS).await.unwrap().unwrap();
    fixture.with_first(|server| server.resume()).await;

    eventually(
        "only the jobs that the worker got are running",
        async || {
            let result = fixture.renew(vec![claim.token], PARTITIONS, LEASE).await;
            let lost = result.map_err(|error| error.to_string())?.lost;
            assert_eq!(lost, []);
            let stats = fixture.store.stats(&fixture.queue).await.unwrap().unwrap();
            (stats.running == 1 && stats.ready == 99)
                .then_some(())
                .ok_or_else(|| format!("{stats:?}"))
        },
    )
    .await;
}

/// Claims while the server of the first partition is stopped; it may execute the claim later.
async fn claim_while_the_first_partition_is_stopped(
    request: impl FnOnce(&BootId) -> ClaimRequest,
) -> Error {
    let fixture = ClusterFixture::start(100).await;
    fixture.with_first(|server| server.stop()).await;
    let result = fixture
        .store
        .claim(&fixture.queue, request(&fixture.boot))
        .await;
    fixture.with_first(|server| server.resume()).await;
    result.unwrap_err()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_claim_without_a_number_has_an_unknown_outcome() {
    let error = claim_while_the_first_partition_is_stopped(|_| ClaimRequest::single(1)).await;

    assert!(error.is_unknown(), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_claim_at_most_once_has_an_unknown_outcome() {
    let request = |boot: &BootId| {
        let mut request = ClaimRequest::worker(boot.clone(), PARTITIONS, 1);
        request.mode = Mode::AtMostOnce;
        request
    };

    let error = claim_while_the_first_partition_is_stopped(request).await;

    assert!(error.is_unknown(), "{error}");
}

/// A worker that holds a job in each partition, after the server of the first one was killed.
async fn fixture_with_claims() -> (ClusterFixture, Vec<Claim>) {
    let fixture = ClusterFixture::start(100).await;
    let mut claims = Vec::new();
    for seq in PARTITIONS..2 * PARTITIONS {
        claims.push(fixture.claim(seq).await.unwrap().unwrap());
    }
    assert!(
        !fixture.others().is_empty(),
        "the partitions are on several servers"
    );
    fixture.with_first(|server| server.kill()).await;
    (fixture, claims)
}

#[tokio::test(flavor = "multi_thread")]
async fn jobs_end_in_every_partition_that_can_be_reached() {
    let (fixture, claims) = fixture_with_claims().await;
    let done = claims.iter().map(|claim| lease_of(claim, 0).completion());

    let result = fixture
        .store
        .complete(&fixture.queue, done.collect(), None)
        .await;

    let error = result.expect_err("a partition is down");
    assert!(error.is_unknown(), "{error}");
    for partition in fixture.others() {
        assert_eq!(
            fixture.count(partition, "HLEN", "open"),
            1,
            "partition {partition}: the anchor"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_leaves_every_partition_that_can_be_reached() {
    let (fixture, _) = fixture_with_claims().await;

    let result = fixture
        .store
        .leave(&fixture.boot, Some(&fixture.queue))
        .await;

    assert!(result.is_err_and(|error| error.is_transient()));
    for partition in fixture.others() {
        assert_eq!(
            fixture.count(partition, "ZCARD", "leases"),
            0,
            "partition {partition}"
        );
    }
}

/// A worker that stops must not wait for a server that does not reply.
#[tokio::test(flavor = "multi_thread")]
async fn a_worker_in_a_hurry_leaves_every_partition_that_replies() {
    let mut fixture = ClusterFixture::start(100).await;
    // A store that knows the partitions only from its claims and has not read their number yet.
    fixture.store = open(&with_options(&fixture.cluster.url(), "timeout=5s")).await;
    fixture.claim(1).await.unwrap().unwrap();
    for seq in PARTITIONS..2 * PARTITIONS {
        fixture.claim(seq).await.unwrap().unwrap();
    }
    fixture.with_first(|server| server.stop()).await;

    let leaving = fixture.store.leave(&fixture.boot, Some(&fixture.queue));
    let result = tokio::time::timeout(Duration::from_millis(800), leaving).await;

    assert!(result.is_err(), "the first partition does not reply");
    for partition in fixture.others() {
        assert_eq!(
            fixture.count(partition, "ZCARD", "leases"),
            0,
            "partition {partition}"
        );
    }
    fixture.with_first(|server| server.resume()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_expired_is_reaped_in_every_partition_that_can_be_reached() {
    let (fixture, claims) = fixture_with_claims().await;
    for partition in fixture.others() {
        let lease = Owner::boot(&fixture.boot);
        fixture.command(partition, "ZADD", "leases", &["1", lease.as_str()]);
    }
    assert_eq!(claims.len() as u64, PARTITIONS);

    let result = fixture.store.maintain(&fixture.queue, 100).await;

    assert!(result.is_err_and(|error| error.is_transient()));
    for partition in fixture.others() {
        assert_eq!(
            fixture.count(partition, "ZCARD", "leases"),
            0,
            "partition {partition}"
        );
    }
}
