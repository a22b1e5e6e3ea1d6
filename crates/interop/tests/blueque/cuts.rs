//! Original and Windlass clients killed at every command of every operation: after a clean no task is
//! lost, and none is in two lists.

use std::time::Duration;

use serde_json::{Value, json};
use windlass_interop::blueque::{Blueque, BluequeLayout, ListenerOptions};
use windlass_testkit::redis::{CutPoint, FaultProxy};

use super::consistency::{assert_consistent, locations};
use super::fixture::{Fixture, QUEUE, clean_options, connect, join_listener};
use super::listening::cut;
use super::peer::Peer;

/// A time far in the future, in seconds.
const FUTURE: f64 = 99_999_999_999.5;

/// Sets up the state before an operation. Returns the ids that must not get lost.
async fn set_up(fixture: &Fixture, state: &str, peer: &mut Peer) -> Vec<String> {
    fixture.redis("FLUSHALL").ok();
    let queue = fixture.queue().await;
    let mut ids = Vec::new();
    match state {
        "nothing" => {}
        "scheduled" => {
            for _ in 0..2 {
                let (id, _) = queue.schedule("x", FUTURE).await.unwrap();
                fixture.redis(&format!("ZADD blueque_scheduled_tasks_video 1 {id}"));
                ids.push(id);
            }
        }
        _ => {
            for _ in 0..3 {
                ids.push(queue.enqueue("x").await.unwrap());
            }
        }
    }
    let theirs = match state {
        "orphans" => json!([["join", QUEUE], ["listen"], ["listen"]]),
        "half run" => json!([["join", QUEUE], ["listen"], ["listen"], ["start"]]),
        "finished" => json!([["join", QUEUE], ["listen"], ["start"], ["complete", "r"]]),
        _ => return ids,
    };
    peer.run(&fixture.server, &theirs);
    if state == "finished" {
        // The cut operation deletes it.
        ids.remove(0);
    }
    ids
}

/// Cleans, then checks that nothing is lost.
async fn check(fixture: &Fixture, ids: &[String], context: &str) {
    let queue = fixture.queue().await;
    let known = fixture.list("blueque_beats_video");
    let known: Vec<_> = known.iter().map(String::as_str).collect();
    queue.clean(&clean_options(&known)).await.unwrap();
    assert_consistent(fixture, context);
    let locations = locations(fixture);
    for id in ids {
        assert!(locations.contains_key(id), "{context}: {id} is lost");
    }
    assert!(
        fixture.list("blueque_listeners_video").is_empty(),
        "{context}"
    );
}

async fn kill_original(state: &str, operations: impl Fn(&[String]) -> Value) {
    let fixture = Fixture::new();
    let proxy = FaultProxy::before(&fixture.server);
    let mut peer = Peer::start();
    for cut in CutPoint::each() {
        let ids = set_up(&fixture, state, &mut peer).await;
        let first = fixture.list("blueque_complete_tasks_video");
        proxy.arm(cut);
        let operations = operations(&first);
        let (_, is_complete) = peer.try_run(&proxy.url(), &operations);
        assert_eq!(is_complete, !proxy.was_cut(), "{operations} {cut:?}");
        check(&fixture, &ids, &format!("{operations} {cut:?}")).await;
        if is_complete {
            assert!(proxy.commands().len() > 1, "no command was intercepted");
            return;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_original_killed_while_it_enqueues_leaves_a_complete_task_or_none() {
    kill_original("nothing", |_| json!([["enqueue", QUEUE, "x"]])).await;
    kill_original("nothing", |_| json!([["schedule", QUEUE, "x", FUTURE]])).await;
    kill_original("scheduled", |_| json!([["due", QUEUE]])).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_original_killed_while_it_works_loses_no_task() {
    let operations = json!([
        ["join", QUEUE],
        ["listen"],
        ["start"],
        ["complete", "r"],
        ["listen"],
        ["start"],
        ["fail", "e"]
    ]);
    kill_original("pending", |_| operations.clone()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_original_killed_while_it_claims_an_orphan_loses_no_task() {
    let operations = json!([
        ["join", QUEUE],
        ["orphan"],
        ["start"],
        ["complete", "r"],
        ["orphan"]
    ]);
    kill_original("orphans", |_| operations.clone()).await;
    let operations = json!([["join", QUEUE], ["orphan"], ["orphan"]]);
    kill_original("half run", |_| operations.clone()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_original_killed_while_it_deletes_leaves_a_complete_task_or_none() {
    kill_original("finished", |finished| {
        json!([["delete", QUEUE, finished[0]]])
    })
    .await;
}

/// Runs a Windlass operation.
async fn run(blueque: &Blueque, operation: &str, finished: &[String]) -> windlass_core::Result<()> {
    let queue = blueque.queue(QUEUE)?;
    match operation {
        "enqueue" => drop(queue.enqueue("x").await?),
        "schedule" => drop(queue.schedule("x", FUTURE).await?),
        "due" => drop(queue.enqueue_due_tasks().await?),
        "delete" => queue.delete_task(&finished[0]).await?,
        "clean" => drop(queue.clean(&clean_options(&[])).await?),
        "retry" => {
            let mut options = clean_options(&[]);
            options.retry_lost = true;
            queue.clean(&options).await?;
        }
        "orphan" => {
            let mut listener = queue.join(ListenerOptions::default()).await?;
            let mut options = clean_options(&[]);
            options.retry_lost = true;
            while let Some(task) = listener.claim_orphan(&options).await? {
                let mut processor = blueque.processor(&task)?;
                processor.start(1).await?;
                processor.complete("r").await?;
            }
            listener.leave().await?;
        }
        _ => {
            let mut listener = queue.join(ListenerOptions::default()).await?;
            for is_good in [true, false] {
                let task = listener.listen(Duration::ZERO).await?.unwrap();
                listener.send_heartbeat().await?;
                let mut processor = blueque.processor(&task)?;
                processor.start(1).await?;
                if is_good {
                    processor.complete("r").await?;
                } else {
                    processor.fail("e").await?;
                }
            }
            listener.leave().await?;
        }
    }
    Ok(())
}

async fn kill_windlass(state: &str, operation: &str) {
    let fixture = Fixture::new();
    let proxy = FaultProxy::before(&fixture.server);
    let mut peer = Peer::start();
    for at_command in CutPoint::each() {
        let ids = set_up(&fixture, state, &mut peer).await;
        let finished = fixture.list("blueque_complete_tasks_video");
        proxy.arm(at_command);
        let is_complete = tokio::select! {
            biased;
            // The process counts as killed from here on.
            () = cut(&proxy) => false,
            done = async {
                let blueque = connect(&proxy.url(), BluequeLayout::Released).await;
                run(&blueque, operation, &finished).await
            } => match done {
                Ok(()) => true,
                Err(error) => {
                    assert!(error.is_transient(), "{operation} {at_command:?}: {error}");
                    cut(&proxy).await;
                    false
                }
            }
        };
        check(&fixture, &ids, &format!("{operation} {at_command:?}")).await;
        if is_complete {
            assert!(!proxy.commands().is_empty(), "no command was intercepted");
            return;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn windlass_killed_while_it_enqueues_or_deletes_leaves_a_complete_task_or_none() {
    kill_windlass("nothing", "enqueue").await;
    kill_windlass("nothing", "schedule").await;
    kill_windlass("scheduled", "due").await;
    kill_windlass("finished", "delete").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn windlass_killed_while_it_works_loses_no_task() {
    kill_windlass("pending", "work").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn windlass_killed_while_it_claims_orphans_loses_no_task() {
    kill_windlass("orphans", "orphan").await;
    kill_windlass("half run", "orphan").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cleaner_killed_at_any_moment_loses_no_task() {
    kill_windlass("orphans", "clean").await;
    kill_windlass("half run", "clean").await;
    kill_windlass("half run", "retry").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_listener_that_continues_after_a_lost_reply_gets_its_task() {
    let fixture = Fixture::new();
    let proxy = FaultProxy::before(&fixture.server);
    let queue = connect(&proxy.url(), BluequeLayout::Released)
        .await
        .queue(QUEUE)
        .unwrap();
    let id = fixture.queue().await.enqueue("x").await.unwrap();
    let mut listener = join_listener(&queue).await;
    // The next call gets the task wherever the connection was cut.
    for at_command in [CutPoint::After(0), CutPoint::Before(0), CutPoint::After(1)] {
        proxy.arm(at_command);
        tokio::select! {
            biased;
            () = cut(&proxy) => {}
            _ = listener.listen(Duration::ZERO) => {}
        }
    }
    proxy.arm(CutPoint::Never);
    assert_eq!(
        listener.listen(Duration::ZERO).await.unwrap().unwrap().id,
        id
    );
    assert!(listener.listen(Duration::ZERO).await.unwrap().is_none());
}
