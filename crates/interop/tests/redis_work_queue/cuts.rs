//! Clients killed at any command of any operation: after a clean no item is lost and none is in
//! two lists.

use std::collections::BTreeSet;

use windlass_interop::redis_work_queue::{WorkQueue, WorkQueueLayout};
use windlass_testkit::redis::{CutPoint, FaultProxy};

use crate::fixture::{Fixture, LAYOUTS, LONG, NO_WAIT, item, lease_all};
use crate::peer::{Kind, Peer};

/// Operations during which a client is killed, and the item that each may have added or removed.
const OPERATIONS: [(&[&str], Option<&str>); 7] = [
    (&["add", "new", "data of new"], Some("new")),
    (&["add-unique", "new", "data of new"], Some("new")),
    (&["lease", "600"], None),
    (&["lease-wait", "600", "60"], None),
    (&["complete", "held"], Some("held")),
    (&["light-clean"], None),
    (&["counts"], None),
];

/// Sets up one waiting, one held and one abandoned item.
async fn arrange(fixture: &Fixture) {
    fixture.command(&["FLUSHALL"]);
    let queue = fixture.queue_of(&["held", "abandoned", "waiting"]).await;
    queue.lease(LONG, NO_WAIT).await.unwrap().unwrap();
    queue.lease(LONG, NO_WAIT).await.unwrap().unwrap();
    fixture.end_lease("abandoned");
}

/// Checks that every item exists once, with its data. `maybe` may exist or not.
async fn check(fixture: &Fixture, maybe: Option<&str>, why: &str) {
    // Expire the leases of killed clients.
    fixture.end_leases();
    let queue = fixture.queue().await;
    queue.deep_clean().await.unwrap();
    fixture.assert_consistent(why);
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
        assert!(is_known, "{why}: unexpected item {id}");
        assert!(queue.complete(id).await.unwrap(), "{why}: {id}");
    }
    assert!(fixture.locations().is_empty(), "{why}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_real_client_killed_at_any_command_loses_and_duplicates_nothing() {
    for layout in LAYOUTS {
        let fixture = Fixture::start(layout);
        let steps = FaultProxy::before(&fixture.server);
        for kind in Kind::of(layout) {
            let mut peer = Peer::start(*kind);
            for (operation, maybe) in OPERATIONS {
                if operation[0] == "light-clean" && *kind == Kind::Rust {
                    // Not supported by this client.
                    continue;
                }
                for cut in CutPoint::each() {
                    arrange(&fixture).await;
                    steps.arm(cut);
                    // The reply does not matter: the client may have been killed.
                    let _ = peer.try_run(steps.port(), operation);
                    let was_cut = steps.was_cut();
                    let why = format!("{kind:?} {operation:?} {cut:?} {:?}", steps.commands());
                    steps.arm(CutPoint::Never);
                    check(&fixture, maybe, &why).await;
                    if !was_cut {
                        break;
                    }
                }
                assert!(!steps.was_cut());
            }
        }
    }
}

/// The same for Windlass.
const WINDLASS_OPERATIONS: [(&str, Option<&str>); 11] = [
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
        "lease" => queue.lease(LONG, NO_WAIT).await.map(drop),
        "lease-wait" => {
            queue.lease(LONG, NO_WAIT).await?;
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

/// Waits until the connection was cut: the client counts as killed from then on.
async fn until_cut(steps: &FaultProxy) {
    while !steps.was_cut() {
        tokio::time::sleep(std::time::Duration::from_millis(1)).await;
    }
}

async fn kill_windlass_at_any_command(layout: WorkQueueLayout) {
    let fixture = Fixture::start(layout);
    let steps = FaultProxy::before(&fixture.server);
    for (operation, maybe) in WINDLASS_OPERATIONS {
        let mut count = 0;
        for cut in CutPoint::each() {
            arrange(&fixture).await;
            // Makes the client load each script again, which is one more command.
            fixture.command(&["SCRIPT", "FLUSH"]);
            let held = fixture.command(&["GET", &fixture.lease_key("held")]).text();
            steps.arm(CutPoint::Never);
            let queue = fixture.queue_at(&steps.url()).await.with_session(held);
            steps.count_from_here(cut);
            tokio::select! {
                // The reply does not matter: the client may have been killed.
                _ = perform(&queue, operation) => {}
                () = until_cut(&steps) => {}
            }
            let was_cut = steps.was_cut();
            let why = format!("windlass {operation} {cut:?} {:?}", steps.commands());
            steps.arm(CutPoint::Never);
            drop(queue);
            check(&fixture, maybe, &why).await;
            if !was_cut {
                break;
            }
            count += 1;
        }
        assert!(count >= 2, "{operation} was cut {count} times");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn windlass_on_layout_0_1_killed_at_any_command_loses_and_duplicates_nothing() {
    kill_windlass_at_any_command(WorkQueueLayout::V01).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn windlass_on_layout_0_3_killed_at_any_command_loses_and_duplicates_nothing() {
    kill_windlass_at_any_command(WorkQueueLayout::V03).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lease_without_a_reply_says_to_lease_again() {
    let fixture = Fixture::start(WorkQueueLayout::V03);
    let steps = FaultProxy::before(&fixture.server);
    let mut unknown = 0;
    for cut in CutPoint::each() {
        arrange(&fixture).await;
        steps.arm(CutPoint::Never);
        let queue = fixture.queue_at(&steps.url()).await;
        steps.count_from_here(cut);
        let leased = queue.lease(LONG, NO_WAIT).await;
        if let Err(error) = leased
            && error.is_unknown()
        {
            assert!(
                error.help().starts_with("lease again; "),
                "{}",
                error.help()
            );
            unknown += 1;
        }
        let was_cut = steps.was_cut();
        steps.arm(CutPoint::Never);
        if !was_cut {
            break;
        }
    }
    assert!(unknown > 0, "no reply was lost");
}
