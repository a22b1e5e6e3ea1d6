//! A Cluster whose slots migrate and whose nodes die.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::time::sleep;
use windlass_core::Store;
use windlass_core::store::DurabilityLevel;
use windlass_testkit::redis::{Cluster, Reply, Server, slot_of, until};

use crate::support::{blocking, open, queue, rounds, with, with_options};
use crate::workload::{Plan, Workload};

/// Jobs in the slot that migrates, and the most that a slot should hold.
const JOBS: u32 = 5_000;
const JOBS_MAX: u32 = 50_000;

/// Long enough that a migration, or a failure of another node, causes no error on a busy machine.
const TIMEOUT: Duration = Duration::from_secs(30);

#[tokio::test(flavor = "multi_thread")]
async fn a_slot_that_migrates_back_and_forth_under_load_causes_no_errors() {
    let cluster = Arc::new(blocking(Cluster::start).await);
    let workload = Workload::start(Plan::new(&cluster.url(), "q", TIMEOUT)).await;
    let jobs = (JOBS * rounds()).min(JOBS_MAX);
    workload.preload(usize::try_from(jobs).unwrap()).await;
    let slot = slot_of(b"{q}");
    for _ in 0..4 {
        workload.wait_for_jobs(50).await;
        workload.calls.reset();
        let began = Instant::now();
        with(&cluster, move |cluster| {
            cluster.move_slot(slot, cluster.other_primary(slot));
        })
        .await;
        let took = began.elapsed();
        workload.wait_for_jobs(20).await;
        let longest = workload.calls.longest();
        println!("{jobs} jobs moved in {took:?}, the longest call meanwhile took {longest:?}");
    }

    let report = workload.finish().await;

    report.assert_sound();
    report.assert_no_errors();
}

/// A slow migration. The scripts declare keys that do not exist, so that neither node can run them
/// while the slot migrates: calls wait and return no error.
#[tokio::test(flavor = "multi_thread")]
async fn calls_wait_for_a_slot_that_is_between_two_nodes() {
    let cluster = Arc::new(blocking(Cluster::start).await);
    let workload = Workload::start(Plan::new(&cluster.url(), "q", TIMEOUT)).await;
    let store = open(&with_options(&cluster.url(), "timeout=30s")).await;
    let slot = slot_of(b"{q}");
    let pause = || sleep(Duration::from_millis(200));
    for _ in 0..2 * rounds() {
        workload.wait_for_jobs(30).await;
        with(&cluster, move |cluster| {
            Migration::new(cluster, slot).begin();
        })
        .await;
        pause().await;
        with(&cluster, move |cluster| {
            Migration::new(cluster, slot).keys("5");
        })
        .await;
        pause().await;
        with(&cluster, move |cluster| {
            Migration::new(cluster, slot).keys("1000");
        })
        .await;
        pause().await;
        // A command with one key follows the ASK redirect of the old node.
        let settings = store.settings(&queue("q")).await.unwrap();
        assert_eq!(settings.succeeded.count, None);
        with(&cluster, move |cluster| Migration::new(cluster, slot).end()).await;
    }
    workload.wait_for_jobs(30).await;

    let report = workload.finish().await;

    report.assert_sound();
    report.assert_no_errors();
}

/// The steps of migrating a slot to another primary.
struct Migration<'a> {
    slot: String,
    from: &'a Server,
    to: &'a Server,
    nodes: &'a [Server],
}

impl<'a> Migration<'a> {
    fn new(cluster: &'a Cluster, slot: u16) -> Self {
        Self {
            slot: slot.to_string(),
            from: cluster.node_of_slot(slot),
            to: cluster.other_primary(slot),
            nodes: cluster.nodes(),
        }
    }

    fn begin(&self) {
        self.set(self.to, &["IMPORTING", &id_of(self.from)]);
        self.set(self.from, &["MIGRATING", &id_of(self.to)]);
    }

    /// Moves up to `count` keys.
    fn keys(&self, count: &str) {
        let page = self
            .from
            .command(&["CLUSTER", "GETKEYSINSLOT", &self.slot, count])
            .ok();
        let port = self.to.port().to_string();
        let keys: Vec<String> = page.array().iter().map(Reply::text).collect();
        let mut command = vec!["MIGRATE", "127.0.0.1", &port, "", "0", "30000", "KEYS"];
        command.extend(keys.iter().map(String::as_str));
        if !keys.is_empty() {
            self.from.command(&command).ok();
        }
    }

    fn end(&self) {
        let to = id_of(self.to);
        self.set(self.to, &["NODE", &to]);
        self.set(self.from, &["NODE", &to]);
        for node in self.nodes {
            until("the nodes agree", || {
                let slots = node.ask(&["CLUSTER", "NODES"])?.text();
                let line = slots
                    .lines()
                    .find(|line| line.starts_with(&to))
                    .unwrap_or_default();
                let number: u16 = self.slot.parse().unwrap();
                let is_known = line.split(' ').skip(8).any(|range| {
                    let (first, last) = range.split_once('-').unwrap_or((range, range));
                    first.parse::<u16>().is_ok_and(|first| first <= number)
                        && last.parse::<u16>().is_ok_and(|last| number <= last)
                });
                is_known.then_some(()).ok_or(slots)
            });
        }
    }

    fn set(&self, node: &Server, arguments: &[&str]) {
        let command = [&["CLUSTER", "SETSLOT", self.slot.as_str()], arguments].concat();
        node.command(&command).ok();
    }
}

fn id_of(node: &Server) -> String {
    node.command(&["CLUSTER", "MYID"]).text()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_primary_that_dies_stops_only_its_own_queues_until_its_replica_takes_over() {
    // Otherwise the Cluster rejects all calls while one slot has no owner.
    let lines = ["cluster-require-full-coverage no"];
    let cluster = Arc::new(blocking(move || Cluster::start_with(&lines)).await);
    let url = cluster.url();
    // The harder case: the node that dies also has the registry of queues and workers.
    let victim = slot_of(b"{*}");
    let (affected, other) = with(&cluster, move |cluster| {
        let node = |name: &str| {
            cluster
                .node_of_slot(slot_of(format!("{{{name}}}").as_bytes()))
                .port()
        };
        let home = cluster.node_of_slot(victim).port();
        let names: Vec<String> = (0..100).map(|n| format!("q{n}")).collect();
        let affected = names.iter().find(|name| node(name) == home).unwrap();
        let other = names.iter().find(|name| node(name) != home).unwrap();
        (affected.clone(), other.clone())
    })
    .await;
    let plan = |name: &str| {
        let plan = Plan::new(&url, name, TIMEOUT);
        plan.durable("replicated:1", DurabilityLevel::Replicated(1))
            .may_roll_back()
    };
    let affected = Workload::start(plan(&affected)).await;
    let other = Workload::start(plan(&other)).await;
    affected.wait_for_jobs(50).await;
    other.wait_for_jobs(50).await;
    other.calls.reset();

    let slot = victim;
    let old = with(&cluster, move |cluster| {
        let old = cluster.node_of_slot(slot);
        old.kill();
        old.port()
    })
    .await;
    // No replica has taken over yet, and the other nodes keep working.
    other.wait_for_jobs(100).await;
    let failed_over = with(&cluster, move |cluster| {
        let began = Instant::now();
        cluster.shorten_timeout();
        let old = cluster.nodes().iter().find(|node| node.port() == old);
        let old = old.expect("a node of the cluster");
        cluster.wait_for_new_primary(slot, old);
        let took = began.elapsed();
        // Enqueues request one replica, and the new primary has none until the old one is back.
        old.restart();
        took
    })
    .await;
    other.wait_for_jobs(100).await;
    let longest = other.calls.longest();
    println!("a replica took over in {failed_over:?}; the longest call elsewhere took {longest:?}");
    affected.wait_for_jobs(50).await;

    let report = other.finish().await;
    report.assert_sound_after_failovers();
    report.assert_no_errors();
    // Calls that waited with the affected queue would take as long as one attempt.
    assert!(longest < TIMEOUT / 2, "{longest:?}");
    let report = affected.finish().await;
    report.assert_sound_after_failovers();
    report.assert_only_unavailable();
}
