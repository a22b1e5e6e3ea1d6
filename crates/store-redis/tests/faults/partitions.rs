//! A queue in parts, of which the server of one is away: the others go on.

use std::sync::Arc;
use std::time::Duration;

use windlass_core::{
    BootId, Claim, ClaimRequest, Error, Mode, Owner, QueueName, Renewal, Store, Token,
};
use windlass_store_redis::RedisStore;
use windlass_testkit::fixture::{lease_of, named};
use windlass_testkit::redis::{Cluster, Reply, slot_of};

use crate::support::{beside, eventually, open, queue, with, with_options};

const PARTS: u64 = 4;
const LEASE: Duration = Duration::from_secs(100);

/// A Cluster with a queue in parts and jobs in each.
struct Site {
    cluster: Arc<Cluster>,
    store: RedisStore,
    queue: QueueName,
    boot: BootId,
}

impl Site {
    async fn start(jobs: usize) -> Self {
        // Otherwise the Cluster refuses everything as soon as one slot has nobody.
        let lines = ["cluster-require-full-coverage no"];
        let cluster = Arc::new(beside(move || Cluster::start_with(&lines)).await);
        let store = open(&with_options(&cluster.url(), "timeout=5s")).await;
        let site = Self {
            cluster,
            store,
            queue: queue("mail"),
            boot: BootId::generate(),
        };
        let setting = format!("partitions={PARTS}").parse().unwrap();
        site.store.set(&site.queue, vec![setting]).await.unwrap();
        let jobs = (0..jobs).map(|n| named(&format!("j{n}"))).collect();
        site.store.enqueue(&site.queue, jobs).await.unwrap();
        site
    }

    /// What a worker's claim with this number gives; it begins with the part of that number.
    async fn claim(&self, seq: u64) -> windlass_core::Result<Option<Claim>> {
        let request = ClaimRequest::worker(self.boot.clone(), seq, 1).lease(LEASE);
        self.store.claim(&self.queue, request).await
    }

    async fn renew(
        &self,
        tokens: Vec<Token>,
        settled: u64,
        lease: Duration,
    ) -> windlass_core::Result<windlass_core::Renewed> {
        let renewal = Renewal::Worker {
            boot: self.boot.clone(),
            tokens,
            settled,
        };
        self.store.renew(&self.queue, renewal, lease).await
    }

    /// Does something with the server of the first part.
    async fn with_first(&self, act: fn(&windlass_testkit::redis::Server)) {
        let slot = slot_of(tag(0).as_bytes());
        with(&self.cluster, move |cluster| {
            act(cluster.node_of_slot(slot));
        })
        .await;
    }

    /// The parts that are not on the server of the first one.
    fn others(&self) -> Vec<u64> {
        let home = |part| {
            self.cluster
                .node_of_slot(slot_of(tag(part).as_bytes()))
                .port()
        };
        (1..PARTS).filter(|part| home(*part) != home(0)).collect()
    }

    /// When the worker's lease in a part ends.
    fn end_in(&self, part: u64) -> u64 {
        let lease = Owner::boot(&self.boot);
        let score = self.command(part, "ZSCORE", "leases", &[lease.as_str()]);
        score.text().parse().unwrap()
    }

    /// How much is under a key of a part.
    fn count(&self, part: u64, command: &str, name: &str) -> i64 {
        self.command(part, command, name, &[]).integer()
    }

    /// Asks the server of a part about one of its keys.
    fn command(&self, part: u64, command: &str, name: &str, rest: &[&str]) -> Reply {
        let node = self.cluster.node_of_slot(slot_of(tag(part).as_bytes()));
        let key = format!("windlass:{}:{name}", tag(part));
        node.command(&[&[command, &key], rest].concat())
    }
}

/// The tag of a part's keys.
fn tag(part: u64) -> String {
    match part {
        0 => "{mail}".to_owned(),
        _ => format!("{{mail/{part}}}"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_renews_in_every_part_that_can_be_reached() {
    let site = Site::start(100).await;
    let mut tokens = Vec::new();
    for seq in PARTS..2 * PARTS {
        tokens.push(site.claim(seq).await.unwrap().unwrap().token);
    }
    let others = site.others();
    assert!(!others.is_empty(), "the parts lie on several servers");
    let ends: Vec<u64> = others.iter().map(|part| site.end_in(*part)).collect();
    site.with_first(|server| server.kill()).await;

    let told = site.renew(tokens, 2 * PARTS - 1, 3 * LEASE).await;

    assert!(told.is_err_and(|error| error.is_transient()));
    for (part, end) in others.into_iter().zip(ends) {
        let moved = site.end_in(part) - end;
        assert!(moved > 100_000, "part {part}: {moved} ms later");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_claim_passes_a_part_that_cannot_be_reached() {
    let site = Site::start(100).await;
    site.with_first(|server| server.kill()).await;

    let claim = site.claim(PARTS).await.unwrap();

    assert!(claim.is_some(), "the other parts have jobs");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_claim_that_finds_nothing_says_that_a_part_could_not_be_reached() {
    let site = Site::start(0).await;
    site.with_first(|server| server.kill()).await;

    let told = site.claim(PARTS).await;

    assert!(told.is_err_and(|error| error.is_transient()));
}

/// A server that stands may still carry out the claim that was not waited for.
#[tokio::test(flavor = "multi_thread")]
async fn what_a_passed_part_hands_out_late_goes_back_with_the_next_renewal() {
    let site = Site::start(100).await;
    site.with_first(|server| server.stop()).await;
    let claim = site.claim(PARTS).await.unwrap().unwrap();
    site.with_first(|server| server.resume()).await;

    eventually("only what the worker was told is running", async || {
        let told = site.renew(vec![claim.token], PARTS, LEASE).await;
        let lost = told.map_err(|error| error.to_string())?.lost;
        assert_eq!(lost, []);
        let stats = site.store.stats(&site.queue).await.unwrap().unwrap();
        (stats.running == 1 && stats.ready == 99)
            .then_some(())
            .ok_or_else(|| format!("{stats:?}"))
    })
    .await;
}

/// The server of the first part stands: what it was asked it may do later, when nobody listens.
async fn claim_while_the_first_part_stands(request: impl FnOnce(&BootId) -> ClaimRequest) -> Error {
    let site = Site::start(100).await;
    site.with_first(|server| server.stop()).await;
    let told = site.store.claim(&site.queue, request(&site.boot)).await;
    site.with_first(|server| server.resume()).await;
    told.unwrap_err()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_claim_without_a_number_is_told_that_its_outcome_is_unknown() {
    let error = claim_while_the_first_part_stands(|_| ClaimRequest::single(1)).await;

    assert!(error.is_unknown(), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_claim_at_most_once_is_told_that_its_outcome_is_unknown() {
    let request = |boot: &BootId| {
        let mut request = ClaimRequest::worker(boot.clone(), PARTS, 1);
        request.mode = Mode::AtMostOnce;
        request
    };

    let error = claim_while_the_first_part_stands(request).await;

    assert!(error.is_unknown(), "{error}");
}

/// A worker that holds a job in each part, which the first part's server then leaves.
async fn site_with_claims() -> (Site, Vec<Claim>) {
    let site = Site::start(100).await;
    let mut claims = Vec::new();
    for seq in PARTS..2 * PARTS {
        claims.push(site.claim(seq).await.unwrap().unwrap());
    }
    assert!(
        !site.others().is_empty(),
        "the parts lie on several servers"
    );
    site.with_first(|server| server.kill()).await;
    (site, claims)
}

#[tokio::test(flavor = "multi_thread")]
async fn jobs_end_in_every_part_that_can_be_reached() {
    let (site, claims) = site_with_claims().await;
    let done = claims.iter().map(|claim| lease_of(claim, 0).completion());

    let told = site.store.complete(&site.queue, done.collect(), None).await;

    let error = told.expect_err("a part is away");
    assert!(error.is_unknown(), "{error}");
    for part in site.others() {
        assert_eq!(
            site.count(part, "HLEN", "open"),
            1,
            "part {part}: the anchor"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_leaves_every_part_that_can_be_reached() {
    let (site, _) = site_with_claims().await;

    let told = site.store.leave(&site.boot, Some(&site.queue)).await;

    assert!(told.is_err_and(|error| error.is_transient()));
    for part in site.others() {
        assert_eq!(site.count(part, "ZCARD", "leases"), 0, "part {part}");
    }
}

/// A worker that stops has no time for a server that does not answer.
#[tokio::test(flavor = "multi_thread")]
async fn a_worker_in_a_hurry_leaves_every_part_that_answers() {
    let mut site = Site::start(100).await;
    // One that knows of the parts by its claims alone, and has yet to ask the first how many there are.
    site.store = open(&with_options(&site.cluster.url(), "timeout=5s")).await;
    site.claim(1).await.unwrap().unwrap();
    for seq in PARTS..2 * PARTS {
        site.claim(seq).await.unwrap().unwrap();
    }
    site.with_first(|server| server.stop()).await;

    let leaving = site.store.leave(&site.boot, Some(&site.queue));
    let told = tokio::time::timeout(Duration::from_millis(800), leaving).await;

    assert!(told.is_err(), "the first part does not answer");
    for part in site.others() {
        assert_eq!(site.count(part, "ZCARD", "leases"), 0, "part {part}");
    }
    site.with_first(|server| server.resume()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_expired_is_reaped_in_every_part_that_can_be_reached() {
    let (site, claims) = site_with_claims().await;
    for part in site.others() {
        let lease = Owner::boot(&site.boot);
        site.command(part, "ZADD", "leases", &["1", lease.as_str()]);
    }
    assert_eq!(claims.len() as u64, PARTS);

    let told = site.store.maintain(&site.queue, 100).await;

    assert!(told.is_err_and(|error| error.is_transient()));
    for part in site.others() {
        assert_eq!(site.count(part, "ZCARD", "leases"), 0, "part {part}");
    }
}
