//! Claiming orphans by Windlass and by the original.

use std::time::Duration;

use serde_json::json;
use windlass_interop::blueque::CleanOptions;
use windlass_testkit::redis::until;

use super::consistency::assert_consistent;
use super::fixture::{Fixture, QUEUE, clean_options, join_listener};
use super::peer::{Peer, Worker};

#[tokio::test(flavor = "multi_thread")]
async fn a_claimed_orphan_is_found_again_when_its_claimer_dies_too() {
    let fixture = Fixture::new();
    let queue = fixture.queue().await;
    let id = queue.enqueue("x").await.unwrap();
    let mut first = join_listener(&queue).await;
    first.listen(Duration::ZERO).await.unwrap().unwrap();
    let mut second = join_listener(&queue).await;
    let options = CleanOptions::default();
    assert!(second.claim_orphan(&options).await.unwrap().is_none());

    let task = second
        .claim_orphan(&clean_options(&[first.name()]))
        .await
        .unwrap()
        .unwrap();

    assert_eq!(
        (task.id.as_str(), task.status.as_str()),
        (id.as_str(), "reserved")
    );
    assert_eq!(task.node.as_deref(), Some(second.name()));
    let mut third = join_listener(&queue).await;
    let task = third
        .claim_orphan(&clean_options(&[second.name()]))
        .await
        .unwrap()
        .unwrap();
    assert_eq!(task.id, id);
    queue
        .clean(&clean_options(&[first.name(), second.name(), third.name()]))
        .await
        .unwrap();
    assert_consistent(&fixture, "at the end");
}

#[tokio::test(flavor = "multi_thread")]
async fn windlass_claims_all_tasks_of_a_dead_original_and_the_original_only_one() {
    let fixture = Fixture::new();
    let queue = fixture.queue().await;
    let mut peer = Peer::start();
    let mut ids = Vec::new();
    for _ in 0..3 {
        ids.push(queue.enqueue("x").await.unwrap());
    }
    peer.run(
        &fixture.server,
        &json!([["join", QUEUE], ["listen"], ["listen"], ["listen"]]),
    );

    // The original claims one task and removes the listener, which loses the others.
    let claimed = peer.run(
        &fixture.server,
        &json!([["join", QUEUE], ["orphan"], ["orphan"]]),
    );
    assert_eq!(claimed[1]["id"], ids[2].as_str());
    assert!(claimed[2].is_null());

    let mut listener = join_listener(&queue).await;
    let mut found = Vec::new();
    let options = clean_options(&[]);
    while let Some(task) = listener.claim_orphan(&options).await.unwrap() {
        found.push(task.id);
    }
    found.sort();
    ids.sort();
    assert_eq!(found, ids);
    queue
        .clean(&clean_options(&[listener.name()]))
        .await
        .unwrap();
    assert_consistent(&fixture, "at the end");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_task_claimed_by_a_living_original_is_left_to_it() {
    let fixture = Fixture::new();
    let queue = fixture.queue().await;
    let id = queue.enqueue("x").await.unwrap();
    let mut peer = Peer::start();
    peer.run(&fixture.server, &json!([["join", QUEUE], ["listen"]]));
    // A forking runner claims first, and sleeps in the task.
    let _runner = Worker::start("sleep", &fixture.server, QUEUE);
    until("it is claimed and started", || {
        match fixture.field(&id, "status") {
            Some(status) if status == "started" => Ok(()),
            status => Err(format!("{status:?}")),
        }
    });
    assert!(fixture.field(&id, "reclaimed_node").is_some());

    let mut options = clean_options(&[]);
    options.retry_lost = true;
    let cleaned = queue.clean(&options).await.unwrap();
    assert_eq!((cleaned.requeued, cleaned.failed), (0, 0));
    let mut listener = join_listener(&queue).await;
    assert!(listener.claim_orphan(&options).await.unwrap().is_none());

    let pid = fixture.field(&id, "pid").unwrap();
    kill(&pid);
    until("its process is gone and the clean finds it", || {
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
    assert_eq!(fixture.field(&id, "error").unwrap(), "worker_lost");
}

#[tokio::test(flavor = "multi_thread")]
async fn originals_leave_windlass_listeners_alone() {
    let fixture = Fixture::new();
    let queue = fixture.queue().await;
    queue.enqueue("x").await.unwrap();
    let mut listener = join_listener(&queue).await;
    let task = listener.listen(Duration::ZERO).await.unwrap().unwrap();
    let mut peer = Peer::start();
    let claimed = peer.run(&fixture.server, &json!([["join", QUEUE], ["orphan"]]));
    assert!(claimed[1].is_null());
    assert_eq!(fixture.field(&task.id, "node").unwrap(), listener.name());
    assert!(
        fixture
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
