//! A Cluster whose slots move and whose nodes die.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::time::sleep;
use windlass_core::{DurabilityLevel, Store};
use windlass_testkit::redis::{Cluster, Reply, Server, slot_of, until};

use crate::support::{beside, open, queue, rounds, with, with_options};
use crate::workload::{Crew, Plan};

/// Jobs in the slot that is moved; at most as many as a slot should hold.
const JOBS: u32 = 5_000;
const JOBS_MAX: u32 = 50_000;

/// Nobody is to be told of a move, or of what happens elsewhere, however long a busy machine takes.
const TIMEOUT: Duration = Duration::from_secs(30);

#[tokio::test(flavor = "multi_thread")]
async fn a_slot_is_moved_back_and_forth_under_load_and_nobody_is_told() {
    let cluster = Arc::new(beside(Cluster::start).await);
    let crew = Crew::start(Plan::new(&cluster.url(), "q", TIMEOUT)).await;
    let jobs = (JOBS * rounds()).min(JOBS_MAX);
    crew.preload(usize::try_from(jobs).unwrap()).await;
    let slot = slot_of(b"{q}");
    for _ in 0..4 {
        crew.go_on(50).await;
        crew.calls.forget();
        let began = Instant::now();
        with(&cluster, move |cluster| {
            cluster.move_slot(slot, cluster.other_primary(slot));
        })
        .await;
        let took = began.elapsed();
        crew.go_on(20).await;
        let longest = crew.calls.longest();
        println!("{jobs} jobs moved in {took:?}, the longest call meanwhile took {longest:?}");
    }

    let ended = crew.finish().await;

    ended.assert_sound();
    ended.assert_untroubled();
}

/// A move that takes its time. A script declares keys that do not exist at the moment, so that neither
/// node carries it out from the first step to the last: it waits, and nobody is told.
#[tokio::test(flavor = "multi_thread")]
async fn calls_wait_for_a_slot_that_is_between_two_nodes() {
    let cluster = Arc::new(beside(Cluster::start).await);
    let crew = Crew::start(Plan::new(&cluster.url(), "q", TIMEOUT)).await;
    let store = open(&with_options(&cluster.url(), "timeout=30s")).await;
    let slot = slot_of(b"{q}");
    let pause = || sleep(Duration::from_millis(200));
    for _ in 0..2 * rounds() {
        crew.go_on(30).await;
        with(&cluster, move |cluster| Move::new(cluster, slot).begin()).await;
        pause().await;
        with(&cluster, move |cluster| Move::new(cluster, slot).keys("5")).await;
        pause().await;
        with(&cluster, move |cluster| {
            Move::new(cluster, slot).keys("1000");
        })
        .await;
        pause().await;
        // A command of one key gets there by following where the old home points.
        let settings = store.settings(&queue("q")).await.unwrap();
        assert_eq!(settings.succeeded.count, None);
        with(&cluster, move |cluster| Move::new(cluster, slot).end()).await;
    }
    crew.go_on(30).await;

    let ended = crew.finish().await;

    ended.assert_sound();
    ended.assert_untroubled();
}

/// The steps of moving a slot from its home to another primary.
struct Move<'a> {
    slot: String,
    from: &'a Server,
    to: &'a Server,
    nodes: &'a [Server],
}

impl<'a> Move<'a> {
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

    /// Moves up to so many keys.
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

    fn set(&self, node: &Server, words: &[&str]) {
        let command = [&["CLUSTER", "SETSLOT", self.slot.as_str()], words].concat();
        node.command(&command).ok();
    }
}

fn id_of(node: &Server) -> String {
    node.command(&["CLUSTER", "MYID"]).text()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_primary_that_dies_stops_only_its_own_queues_until_its_replica_takes_over() {
    // Otherwise the Cluster refuses everything as soon as one slot has nobody.
    let lines = ["cluster-require-full-coverage no"];
    let cluster = Arc::new(beside(move || Cluster::start_with(&lines)).await);
    let url = cluster.url();
    // The harder case: the node that dies also has the list of queues and workers.
    let victim = slot_of(b"{*}");
    let (struck, other) = with(&cluster, move |cluster| {
        let node = |name: &str| {
            cluster
                .node_of_slot(slot_of(format!("{{{name}}}").as_bytes()))
                .port()
        };
        let home = cluster.node_of_slot(victim).port();
        let names: Vec<String> = (0..100).map(|n| format!("q{n}")).collect();
        let struck = names.iter().find(|name| node(name) == home).unwrap();
        let other = names.iter().find(|name| node(name) != home).unwrap();
        (struck.clone(), other.clone())
    })
    .await;
    let plan = |name: &str| {
        let plan = Plan::new(&url, name, TIMEOUT);
        plan.durable("replicated:1", DurabilityLevel::Replicated(1))
            .may_roll_back()
    };
    let struck = Crew::start(plan(&struck)).await;
    let other = Crew::start(plan(&other)).await;
    struck.go_on(50).await;
    other.go_on(50).await;
    other.calls.forget();

    let slot = victim;
    let old = with(&cluster, move |cluster| {
        let old = cluster.node_of_slot(slot);
        old.kill();
        old.port()
    })
    .await;
    // The nodes are still patient: nobody has taken over while the others go on.
    other.go_on(100).await;
    let failed_over = with(&cluster, move |cluster| {
        let began = Instant::now();
        cluster.lose_patience();
        let old = cluster.nodes().iter().find(|node| node.port() == old);
        let old = old.expect("one of them");
        cluster.wait_for_new_primary(slot, old);
        let took = began.elapsed();
        // What one replica has is asked for, and the new primary has none without the old one.
        old.restart();
        took
    })
    .await;
    other.go_on(100).await;
    let longest = other.calls.longest();
    println!("a replica took over in {failed_over:?}; the longest call elsewhere took {longest:?}");
    struck.go_on(50).await;

    let ended = other.finish().await;
    ended.assert_sound_after_failovers();
    ended.assert_untroubled();
    // Who waited with the struck queue would wait for as long as one try takes.
    assert!(longest < TIMEOUT / 2, "{longest:?}");
    let ended = struck.finish().await;
    ended.assert_sound_after_failovers();
    ended.assert_only_away();
}
