//! Waiting for jobs of a partitioned queue on a Cluster, where every partition is in another slot.

#![expect(clippy::unwrap_used, reason = "a test fails at the first error")]

use std::cell::Cell;
use std::time::Duration;

use windlass_core::{BootId, ClaimRequest, JobLease, QueueName, Store};
use windlass_store_redis::{Options, RedisStore};
use windlass_testkit::fixture::{leases_of, named};
use windlass_testkit::redis::{Cluster, Server, until};

/// Longer than the test waits for anything.
const WAIT: Duration = Duration::from_secs(600);

fn queue() -> QueueName {
    QueueName::new("mail").unwrap()
}

async fn open(url: &str) -> RedisStore {
    RedisStore::open(url, Options::default()).await.unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_waiting_worker_on_a_cluster_finds_every_job_over_the_same_connections() {
    const JOBS: u64 = 20;
    const PARTITIONS: u32 = 4;
    let cluster = Cluster::start();
    let (worker, operator) = (open(&cluster.url()).await, open(&cluster.url()).await);
    let setting = format!("partitions={PARTITIONS}").parse().unwrap();
    operator.set(&queue(), vec![setting]).await.unwrap();
    let (boot, mut seq) = (BootId::generate(), 0);
    // Asking a node opens a connection.
    let asked = Cell::new(0);
    let total = |cluster, section, field| {
        asked.set(asked.get() + 1);
        total(cluster, section, field)
    };
    let mut opened = Vec::new();

    for n in 0..JOBS {
        let (store, mut request) = (
            worker.clone(),
            ClaimRequest::worker(boot.clone(), seq + 1, 1),
        );
        let waiting = tokio::spawn(async move {
            let claim = store.claim_waiting(&queue(), &mut request, WAIT).await;
            (claim.unwrap(), request.claimer.seq())
        });
        until("it blocks on every partition", || {
            assert!(!waiting.is_finished(), "the wait ended early");
            let blocked = total(&cluster, "clients", "blocked_clients");
            (blocked >= u64::from(PARTITIONS))
                .then_some(())
                .ok_or_else(|| blocked.to_string())
        });
        let received = total(&cluster, "stats", "total_connections_received");
        opened.push(received - asked.get() * cluster.nodes().len() as u64);
        let job = named(&format!("n{n}"));
        operator.enqueue(&queue(), vec![job]).await.unwrap();

        let (claim, last) = waiting.await.unwrap();

        seq = last;
        let claim = claim.expect("the worker finds the job");
        assert_eq!(claim.jobs[0].id.as_str(), format!("n{n}"));
        let done = leases_of(&claim).into_iter().map(JobLease::completion);
        worker
            .complete(&queue(), done.collect(), None)
            .await
            .unwrap();
    }

    // The first wait opened a connection per partition; the others use these.
    let later = opened[opened.len() - 1] - opened[opened.len() / 2];
    assert!(later <= u64::from(PARTITIONS), "{opened:?}");
}

/// The sum of one number of INFO over all nodes.
fn total(cluster: &Cluster, section: &str, field: &str) -> u64 {
    let of_node = |node: &Server| {
        let info = node.command(&["INFO", section]);
        info.field(field).unwrap().parse::<u64>().unwrap()
    };
    cluster.nodes().iter().map(of_node).sum()
}
