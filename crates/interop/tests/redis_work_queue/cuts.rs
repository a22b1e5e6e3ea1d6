//! Clients that die at any command of any operation: after our clean no item is lost and none is in
//! two places.

use std::collections::BTreeSet;

use windlass_interop::redis_work_queue::{Layout, WorkQueue};
use windlass_testkit::redis::{Cut, Steps};

use crate::bench::{AT_ONCE, Bench, LAYOUTS, LONG, item, lease_all};
use crate::peer::{Kind, Peer};

/// What a client does when it dies, and which item may have come or gone by that.
const OPERATIONS: [(&[&str], Option<&str>); 7] = [
    (&["add", "new", "data of new"], Some("new")),
    (&["add-unique", "new", "data of new"], Some("new")),
    (&["lease", "600"], None),
    (&["lease-wait", "600", "60"], None),
    (&["complete", "held"], Some("held")),
    (&["light-clean"], None),
    (&["counts"], None),
];

/// What is there before: one waits, one is held, one is abandoned.
async fn arrange(bench: &Bench) {
    bench.command(&["FLUSHALL"]);
    let queue = bench.queue_of(&["held", "abandoned", "waiting"]).await;
    queue.lease(LONG, AT_ONCE).await.unwrap().unwrap();
    queue.lease(LONG, AT_ONCE).await.unwrap().unwrap();
    bench.end_lease("abandoned");
}

/// What must be there after: everything once, and whole; `maybe` may be there or not.
async fn judge(bench: &Bench, maybe: Option<&str>, why: &str) {
    // The dead hold nothing for ever.
    bench.end_leases();
    let queue = bench.queue().await;
    queue.deep_clean().await.unwrap();
    bench.assert_sound(why);
    let left = lease_all(&queue).await;
    let found: BTreeSet<&str> = left.iter().map(|item| item.id.as_str()).collect();
    assert_eq!(found.len(), left.len(), "{why}: handed out once");
    for one in &left {
        assert_eq!(*one, item(&one.id), "{why}");
    }
    for id in ["held", "abandoned", "waiting"] {
        assert!(
            found.contains(id) || maybe == Some(id),
            "{why}: {id} is lost"
        );
    }
    for id in found {
        let is_known = ["held", "abandoned", "waiting"].contains(&id) || maybe == Some(id);
        assert!(is_known, "{why}: {id} came from nowhere");
        assert!(queue.complete(id).await.unwrap(), "{why}: {id}");
    }
    assert!(bench.places().is_empty(), "{why}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_real_client_that_dies_at_any_command_loses_and_doubles_nothing() {
    for layout in LAYOUTS {
        let bench = Bench::start(layout);
        let steps = Steps::before(&bench.server);
        for kind in Kind::of(layout) {
            let mut peer = Peer::start(*kind);
            for (operation, maybe) in OPERATIONS {
                if operation[0] == "light-clean" && *kind == Kind::Rust {
                    // It has none.
                    continue;
                }
                for cut in Cut::each() {
                    arrange(&bench).await;
                    steps.arm(cut);
                    // What it answers is what it believes; the dead tell nothing.
                    let _ = peer.try_do(steps.port(), operation);
                    let was_cut = steps.was_cut();
                    let why = format!("{kind:?} {operation:?} {cut:?} {:?}", steps.commands());
                    steps.arm(Cut::Never);
                    judge(&bench, maybe, &why).await;
                    if !was_cut {
                        break;
                    }
                }
                assert!(!steps.was_cut());
            }
        }
    }
}

/// What ours does when it dies, and which item may have come or gone by that.
const OURS: [(&str, Option<&str>); 11] = [
    ("add", Some("new")),
    ("add-unique", Some("new")),
    ("lease", None),
    ("lease-wait", None),
    ("complete", Some("held")),
    ("complete-taken-back", Some("abandoned")),
    ("renew", None),
    ("release", None),
    ("light-clean", None),
    ("deep-clean", None),
    ("counts", None),
];

async fn perform(queue: &WorkQueue, operation: &str) -> windlass_core::Result<()> {
    match operation {
        "add" => queue.add_item(&item("new")).await.map(drop),
        "add-unique" => queue.add_unique_item(&item("new")).await,
        "lease" => queue.lease(LONG, AT_ONCE).await.map(drop),
        "lease-wait" => {
            queue.lease(LONG, AT_ONCE).await?;
            let wait = Some(std::time::Duration::from_millis(100));
            queue.lease(LONG, wait).await.map(drop)
        }
        "complete" => queue.complete("held").await.map(drop),
        "complete-taken-back" => {
            queue.light_clean().await?;
            queue.complete("abandoned").await.map(drop)
        }
        "renew" => queue.renew("held", LONG).await.map(drop),
        "release" => queue.release("held").await.map(drop),
        "light-clean" => queue.light_clean().await.map(drop),
        "deep-clean" => queue.deep_clean().await.map(drop),
        "counts" => queue.counts().await.map(drop),
        other => panic!("no such operation: {other}"),
    }
}

/// Comes back when the client was cut off: it is dead then.
async fn until_cut(steps: &Steps) {
    while !steps.was_cut() {
        tokio::time::sleep(std::time::Duration::from_millis(1)).await;
    }
}

async fn ours_dies_at_any_command(layout: Layout) {
    let bench = Bench::start(layout);
    let steps = Steps::before(&bench.server);
    for (operation, maybe) in OURS {
        let mut count = 0;
        for cut in Cut::each() {
            arrange(&bench).await;
            // The text of a script is sent once more where the server does not know it.
            bench.command(&["SCRIPT", "FLUSH"]);
            let held = bench.command(&["GET", &bench.lease_key("held")]).text();
            steps.arm(Cut::Never);
            let queue = bench.queue_at(&steps.url()).await.with_session(held);
            steps.count_from_here(cut);
            tokio::select! {
                // What it answers is what it believes; the dead tell nothing.
                _ = perform(&queue, operation) => {}
                () = until_cut(&steps) => {}
            }
            let was_cut = steps.was_cut();
            let why = format!("ours {operation} {cut:?} {:?}", steps.commands());
            steps.arm(Cut::Never);
            drop(queue);
            judge(&bench, maybe, &why).await;
            if !was_cut {
                break;
            }
            count += 1;
        }
        assert!(count >= 2, "{operation} was cut {count} times");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn ours_on_layout_0_1_that_dies_at_any_command_loses_and_doubles_nothing() {
    ours_dies_at_any_command(Layout::V01).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn ours_on_layout_0_3_that_dies_at_any_command_loses_and_doubles_nothing() {
    ours_dies_at_any_command(Layout::V03).await;
}
