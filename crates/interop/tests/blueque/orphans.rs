//! Orphans: ours and the original's way of claiming, side by side.

use std::time::Duration;

use serde_json::json;
use windlass_interop::blueque::CleanOptions;
use windlass_testkit::redis::until;

use super::peer::{Peer, Worker};
use super::place::{Place, QUEUE, joined, knowing};
use super::soundness::assert_sound;

#[tokio::test(flavor = "multi_thread")]
async fn a_claimed_orphan_is_found_again_when_its_claimer_dies_too() {
    let place = Place::new();
    let queue = place.queue().await;
    let id = queue.enqueue("x").await.unwrap();
    let mut first = joined(&queue).await;
    first.listen(Duration::ZERO).await.unwrap().unwrap();
    let mut second = joined(&queue).await;
    let options = CleanOptions::default();
    assert!(second.claim_orphan(&options).await.unwrap().is_none());

    let task = second
        .claim_orphan(&knowing(&[first.name()]))
        .await
        .unwrap()
        .unwrap();

    assert_eq!(
        (task.id.as_str(), task.status.as_str()),
        (id.as_str(), "reserved")
    );
    assert_eq!(task.node.as_deref(), Some(second.name()));
    let mut third = joined(&queue).await;
    let task = third
        .claim_orphan(&knowing(&[second.name()]))
        .await
        .unwrap()
        .unwrap();
    assert_eq!(task.id, id);
    queue
        .clean(&knowing(&[first.name(), second.name(), third.name()]))
        .await
        .unwrap();
    assert_sound(&place, "at the end");
}

#[tokio::test(flavor = "multi_thread")]
async fn ours_finds_all_tasks_of_a_dead_original_and_theirs_only_one() {
    let place = Place::new();
    let queue = place.queue().await;
    let mut peer = Peer::start();
    let mut ids = Vec::new();
    for _ in 0..3 {
        ids.push(queue.enqueue("x").await.unwrap());
    }
    peer.does(
        &place.server,
        &json!([["join", QUEUE], ["listen"], ["listen"], ["listen"]]),
    );

    // The original takes one, and forgets the listener with the others.
    let claimed = peer.does(
        &place.server,
        &json!([["join", QUEUE], ["orphan"], ["orphan"]]),
    );
    assert_eq!(claimed[1]["id"], ids[2].as_str());
    assert!(claimed[2].is_null());

    let mut listener = joined(&queue).await;
    let mut found = Vec::new();
    let options = knowing(&[]);
    while let Some(task) = listener.claim_orphan(&options).await.unwrap() {
        found.push(task.id);
    }
    found.sort();
    ids.sort();
    assert_eq!(found, ids);
    queue.clean(&knowing(&[listener.name()])).await.unwrap();
    assert_sound(&place, "at the end");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_living_original_claimed_is_left_to_it() {
    let place = Place::new();
    let queue = place.queue().await;
    let id = queue.enqueue("x").await.unwrap();
    let mut peer = Peer::start();
    peer.does(&place.server, &json!([["join", QUEUE], ["listen"]]));
    // A forking runner claims first, and sleeps in the task.
    let _runner = Worker::start("sleep", &place.server, QUEUE);
    until("it is claimed and started", || {
        match place.field(&id, "status") {
            Some(status) if status == "started" => Ok(()),
            status => Err(format!("{status:?}")),
        }
    });
    assert!(place.field(&id, "reclaimed_node").is_some());

    let mut options = knowing(&[]);
    options.retry_lost = true;
    let cleaned = queue.clean(&options).await.unwrap();
    assert_eq!((cleaned.requeued, cleaned.failed), (0, 0));
    let mut listener = joined(&queue).await;
    assert!(listener.claim_orphan(&options).await.unwrap().is_none());

    let pid = place.field(&id, "pid").unwrap();
    kill(&pid);
    until("its process is gone and ours finds it", || {
        let runtime = tokio::runtime::Handle::current();
        let cleaned = tokio::task::block_in_place(|| {
            runtime
                .block_on(queue.clean(&CleanOptions::default()))
                .unwrap()
        });
        if cleaned.failed == 1 {
            Ok(())
        } else {
            Err(format!("{cleaned:?}"))
        }
    });
    assert_eq!(place.field(&id, "error").unwrap(), "worker_lost");
}

#[tokio::test(flavor = "multi_thread")]
async fn originals_leave_ours_alone() {
    let place = Place::new();
    let queue = place.queue().await;
    queue.enqueue("x").await.unwrap();
    let mut listener = joined(&queue).await;
    let task = listener.listen(Duration::ZERO).await.unwrap().unwrap();
    let mut peer = Peer::start();
    let claimed = peer.does(&place.server, &json!([["join", QUEUE], ["orphan"]]));
    assert!(claimed[1].is_null());
    assert_eq!(place.field(&task.id, "node").unwrap(), listener.name());
    assert!(
        place
            .list("blueque_listeners_video")
            .contains(&listener.name().to_owned())
    );
}

fn kill(pid: &str) {
    let status = std::process::Command::new("kill")
        .args(["-9", pid])
        .status();
    assert!(status.unwrap().success());
}
