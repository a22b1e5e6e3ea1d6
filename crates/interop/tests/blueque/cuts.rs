//! Killed at every single command of every operation, theirs and ours: after our clean no task is
//! lost, and none is in two places.

use std::time::Duration;

use serde_json::{Value, json};
use windlass_interop::blueque::{Blueque, Layout, ListenerOptions};
use windlass_testkit::redis::{Cut, Steps};

use super::listening::cut;
use super::peer::Peer;
use super::place::{Place, QUEUE, at, joined, knowing};
use super::soundness::{assert_sound, places};

/// Not for a long time, in seconds.
const FUTURE: f64 = 99_999_999_999.5;

/// What there is before an operation, and the ids of it that must not get lost.
async fn begin(place: &Place, what: &str, peer: &mut Peer) -> Vec<String> {
    place.redis("FLUSHALL").ok();
    let queue = place.queue().await;
    let mut ids = Vec::new();
    match what {
        "nothing" => {}
        "scheduled" => {
            for _ in 0..2 {
                let (id, _) = queue.schedule("x", FUTURE).await.unwrap();
                place.redis(&format!("ZADD blueque_scheduled_tasks_video 1 {id}"));
                ids.push(id);
            }
        }
        _ => {
            for _ in 0..3 {
                ids.push(queue.enqueue("x").await.unwrap());
            }
        }
    }
    let theirs = match what {
        "orphans" => json!([["join", QUEUE], ["listen"], ["listen"]]),
        "half run" => json!([["join", QUEUE], ["listen"], ["listen"], ["start"]]),
        "finished" => json!([["join", QUEUE], ["listen"], ["start"], ["complete", "r"]]),
        _ => return ids,
    };
    peer.does(&place.server, &theirs);
    if what == "finished" {
        // The cut operation deletes it.
        ids.remove(0);
    }
    ids
}

/// What must hold after the clean, whatever was cut off.
async fn judge(place: &Place, ids: &[String], context: &str) {
    let queue = place.queue().await;
    let known = place.list("blueque_beats_video");
    let known: Vec<_> = known.iter().map(String::as_str).collect();
    queue.clean(&knowing(&known)).await.unwrap();
    assert_sound(place, context);
    let places = places(place);
    for id in ids {
        assert!(places.contains_key(id), "{context}: {id} is lost");
    }
    assert!(
        place.list("blueque_listeners_video").is_empty(),
        "{context}"
    );
}

async fn kill_theirs(what: &str, steps: impl Fn(&[String]) -> Value) {
    let place = Place::new();
    let proxy = Steps::before(&place.server);
    let mut peer = Peer::start();
    for cut in Cut::each() {
        let ids = begin(&place, what, &mut peer).await;
        let first = place.list("blueque_complete_tasks_video");
        proxy.arm(cut);
        let words = steps(&first);
        let (_, is_whole) = peer.follow(&proxy.url(), &words);
        assert_eq!(is_whole, !proxy.was_cut(), "{words} {cut:?}");
        judge(&place, &ids, &format!("{words} {cut:?}")).await;
        if is_whole {
            assert!(proxy.commands().len() > 1, "nothing was stepped over");
            return;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_original_killed_while_it_enqueues_leaves_a_whole_task_or_none() {
    kill_theirs("nothing", |_| json!([["enqueue", QUEUE, "x"]])).await;
    kill_theirs("nothing", |_| json!([["schedule", QUEUE, "x", FUTURE]])).await;
    kill_theirs("scheduled", |_| json!([["due", QUEUE]])).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_original_killed_while_it_works_loses_no_task() {
    let steps = json!([
        ["join", QUEUE],
        ["listen"],
        ["start"],
        ["complete", "r"],
        ["listen"],
        ["start"],
        ["fail", "e"]
    ]);
    kill_theirs("pending", |_| steps.clone()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_original_killed_while_it_claims_an_orphan_loses_no_task() {
    let steps = json!([
        ["join", QUEUE],
        ["orphan"],
        ["start"],
        ["complete", "r"],
        ["orphan"]
    ]);
    kill_theirs("orphans", |_| steps.clone()).await;
    let steps = json!([["join", QUEUE], ["orphan"], ["orphan"]]);
    kill_theirs("half run", |_| steps.clone()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_original_killed_while_it_deletes_leaves_a_whole_task_or_none() {
    kill_theirs("finished", |finished| {
        json!([["delete", QUEUE, finished[0]]])
    })
    .await;
}

/// Does an operation of ours.
async fn act(blueque: &Blueque, word: &str, finished: &[String]) -> windlass_core::Result<()> {
    let queue = blueque.queue(QUEUE)?;
    match word {
        "enqueue" => drop(queue.enqueue("x").await?),
        "schedule" => drop(queue.schedule("x", FUTURE).await?),
        "due" => drop(queue.enqueue_due_tasks().await?),
        "delete" => queue.delete_task(&finished[0]).await?,
        "clean" => drop(queue.clean(&knowing(&[])).await?),
        "retry" => {
            let mut options = knowing(&[]);
            options.retry_lost = true;
            queue.clean(&options).await?;
        }
        "orphan" => {
            let mut listener = queue.join(ListenerOptions::default()).await?;
            let mut options = knowing(&[]);
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
                listener.beat().await?;
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

async fn kill_ours(what: &str, word: &str) {
    let place = Place::new();
    let proxy = Steps::before(&place.server);
    let mut peer = Peer::start();
    for at_command in Cut::each() {
        let ids = begin(&place, what, &mut peer).await;
        let finished = place.list("blueque_complete_tasks_video");
        proxy.arm(at_command);
        let is_whole = tokio::select! {
            biased;
            // A process that is killed goes on with nothing.
            () = cut(&proxy) => false,
            done = async {
                let blueque = at(&proxy.url(), Layout::Released).await;
                act(&blueque, word, &finished).await
            } => match done {
                Ok(()) => true,
                Err(error) => {
                    assert!(error.is_transient(), "{word} {at_command:?}: {error}");
                    cut(&proxy).await;
                    false
                }
            }
        };
        judge(&place, &ids, &format!("{word} {at_command:?}")).await;
        if is_whole {
            assert!(!proxy.commands().is_empty(), "nothing was stepped over");
            return;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn ours_killed_while_it_enqueues_or_deletes_leaves_a_whole_task_or_none() {
    kill_ours("nothing", "enqueue").await;
    kill_ours("nothing", "schedule").await;
    kill_ours("scheduled", "due").await;
    kill_ours("finished", "delete").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn ours_killed_while_it_works_loses_no_task() {
    kill_ours("pending", "work").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn ours_killed_while_it_claims_orphans_loses_no_task() {
    kill_ours("orphans", "orphan").await;
    kill_ours("half run", "orphan").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cleaner_killed_at_any_moment_loses_no_task() {
    kill_ours("orphans", "clean").await;
    kill_ours("half run", "clean").await;
    kill_ours("half run", "retry").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_listener_that_lives_on_after_a_lost_answer_still_knows_its_task() {
    let place = Place::new();
    let proxy = Steps::before(&place.server);
    let queue = at(&proxy.url(), Layout::Released)
        .await
        .queue(QUEUE)
        .unwrap();
    let id = place.queue().await.enqueue("x").await.unwrap();
    let mut listener = joined(&queue).await;
    // Whatever is cut off, the next call finds it.
    for at_command in [Cut::After(0), Cut::Before(0), Cut::After(1)] {
        proxy.arm(at_command);
        tokio::select! {
            biased;
            () = cut(&proxy) => {}
            _ = listener.listen(Duration::ZERO) => {}
        }
    }
    proxy.arm(Cut::Never);
    assert_eq!(
        listener.listen(Duration::ZERO).await.unwrap().unwrap().id,
        id
    );
    assert!(listener.listen(Duration::ZERO).await.unwrap().is_none());
}
