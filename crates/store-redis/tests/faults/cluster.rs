//! A Cluster whose slots move and whose nodes die.

use std::sync::Arc;
use std::time::{Duration, Instant};

use windlass_core::Level;
use windlass_testkit::redis::{Cluster, slot_of};

use crate::crew::{Crew, Plan};
use crate::support::{beside, rounds, with};

/// Jobs in the slot that is moved; at most as many as a slot should hold.
const JOBS: u32 = 5_000;
const JOBS_MAX: u32 = 50_000;

#[tokio::test(flavor = "multi_thread")]
async fn a_slot_is_moved_back_and_forth_under_load_and_nobody_is_told() {
    let cluster = Arc::new(beside(Cluster::start).await);
    let crew = Crew::start(Plan::new(&cluster.url(), "q", Duration::from_secs(10))).await;
    let jobs = (JOBS * rounds()).min(JOBS_MAX);
    crew.preload(usize::try_from(jobs).unwrap()).await;
    let slot = slot_of(b"{q}");
    for _ in 0..4 {
        crew.go_on(50).await;
        crew.calls.forget();
        let began = Instant::now();
        with(&cluster, move |cluster| {
            cluster.move_slot(slot, cluster.other_primary(slot))
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
        let plan = Plan::new(&url, name, Duration::from_secs(8));
        plan.durable("replicated:1", Level::Replicated(1))
            .may_roll_back()
    };
    let struck = Crew::start(plan(&struck)).await;
    let other = Crew::start(plan(&other)).await;
    struck.go_on(50).await;
    other.go_on(50).await;
    other.calls.forget();

    let slot = victim;
    let failing = with(&cluster, move |cluster| {
        let began = Instant::now();
        let old = cluster.kill_primary(slot);
        cluster.wait_for_new_primary(slot, old);
        let took = began.elapsed();
        // What one replica has is asked for, and the new primary has none without the old one.
        old.restart();
        took
    });
    let (failed_over, ()) = tokio::join!(failing, other.go_on(100));
    let longest = other.calls.longest();
    println!("a replica took over in {failed_over:?}; the longest call elsewhere took {longest:?}");
    struck.go_on(50).await;

    let ended = other.finish().await;
    ended.assert_sound_after_failovers();
    ended.assert_untroubled();
    assert!(longest < Duration::from_secs(4), "{longest:?}");
    let ended = struck.finish().await;
    ended.assert_sound_after_failovers();
    ended.assert_only_away();
}
