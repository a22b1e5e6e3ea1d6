//! Pull workers: waiting for jobs, and callers that go away.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio::time::{Instant, sleep, timeout};
use windlass_core::{JobState, QueueName};

use crate::fixture::{Caller, LONG, Scene, problem};

/// Requests being answered, the one that asks among them.
const UNDER_WAY: &str = "windlass_http_requests_under_way";

#[tokio::test]
async fn a_waiting_claim_gets_a_job_as_soon_as_there_is_one() {
    let scene = Scene::new().await;
    let (mut waits, mut puts) = (scene.client().await, scene.client().await);
    puts.post("/v1/queues/q/pause", Value::Null).await;
    puts.post("/v1/queues/q/resume", Value::Null).await;
    let began = Instant::now();
    let waiting = waits.post("/v1/queues/q/claim", json!({"wait":"60s"}));
    let putting = async {
        puts.wait_for(UNDER_WAY, |count| count == 2).await;
        puts.post("/v1/queues/q/jobs", json!({"id":"a"})).await
    };

    let (claimed, _) = tokio::join!(waiting, putting);

    assert_eq!(Caller::json(&claimed, 200)[0]["id"], "a");
    // It did not wait to the end.
    assert!(began.elapsed() < Duration::from_secs(50));
}

#[tokio::test]
async fn a_claim_without_a_wait_is_answered_at_once() {
    let scene = Scene::new().await;
    let mut caller = scene.client().await;
    let nothing = caller.post("/v1/queues/q/claim", Value::Null).await;
    assert_eq!(Caller::json(&nothing, 200), json!([]));
    let short = caller
        .post("/v1/queues/q/claim", json!({"wait":"20ms"}))
        .await;
    assert_eq!(Caller::json(&short, 200), json!([]));
}

#[tokio::test]
async fn a_job_claimed_for_a_caller_that_is_gone_goes_back() {
    let scene = Scene::new().await;
    let mut stream = TcpStream::connect(scene.address()).await.unwrap();
    let body = r#"{"wait":"30s","lease":"10m"}"#;
    let request = format!(
        "POST /v1/queues/q/claim HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n\
         content-length: {}\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut puts = scene.client().await;
    puts.wait_for(UNDER_WAY, |count| count == 2).await;
    drop(stream);
    puts.post("/v1/queues/q/jobs", json!({"id":"a"})).await;

    let queue = QueueName::new("q").unwrap();
    let settled = async {
        // It may be claimed for the one who is gone, and comes back; then nobody claims it again.
        let mut quiet = 0;
        while quiet < 25 {
            let id = windlass_core::JobId::new("a").unwrap();
            let job = scene.store.get(&queue, &id).await.unwrap().unwrap();
            quiet = if job.state == JobState::Ready {
                quiet + 1
            } else {
                0
            };
            sleep(Duration::from_millis(100)).await;
        }
    };
    timeout(LONG, settled).await.unwrap();
    let claimed = puts.post("/v1/queues/q/claim", Value::Null).await;
    assert_eq!(Caller::json(&claimed, 200)[0]["attempt"], 1);
}

#[tokio::test]
async fn a_server_that_stops_answers_those_who_wait() {
    let scene = Scene::new().await;
    let (mut caller, mut other) = (scene.client().await, scene.client().await);
    let began = Instant::now();
    let waiting = caller.post("/v1/queues/q/claim", json!({"wait":"60s"}));
    let stopping = async {
        other.wait_for(UNDER_WAY, |count| count == 2).await;
        scene.stop();
    };

    let (claimed, ()) = tokio::join!(waiting, stopping);

    assert_eq!(Caller::json(&claimed, 200), json!([]));
    assert!(began.elapsed() < Duration::from_secs(50));
}

#[tokio::test]
async fn the_next_jobs_are_claimed_with_the_end_of_the_last() {
    let scene = Scene::new().await;
    let mut caller = scene.client().await;
    for id in ["a", "b"] {
        caller.post("/v1/queues/q/jobs", json!({"id":id})).await;
    }
    let claimed = caller.post("/v1/queues/q/claim", Value::Null).await;
    let token = Caller::json(&claimed, 200)[0]["token"].clone();
    let done = json!({"id":"a","token":token,"claim":{"max":1}});

    let done = caller.post("/v1/queues/q/complete", done).await;

    let done = Caller::json(&done, 200);
    assert_eq!(
        (&done["jobs"][0]["outcome"], &done["claimed"][0]["id"]),
        (&json!("completed"), &json!("b"))
    );
}

#[tokio::test]
async fn what_a_late_complete_claims_is_told_to_its_caller() {
    let scene = Scene::new().await;
    let mut caller = scene.client().await;
    for id in ["a", "b", "c"] {
        caller.post("/v1/queues/q/jobs", json!({"id":id})).await;
    }
    let claimed = caller.post("/v1/queues/q/claim", json!({})).await;
    let token = Caller::json(&claimed, 200)[0]["token"].clone();
    let done = json!({"id":"a","token":token});
    caller.post("/v1/queues/q/release", done.clone()).await;

    for (id, outcome, next) in [("a", "lease_lost", "a"), ("z", "gone", "b")] {
        let done = json!({"id":id,"token":token,"claim":{"lease":"10m"}});
        let done = caller.post("/v1/queues/q/complete", done).await;
        let done = Caller::json(&done, 200);
        assert_eq!(
            (&done["jobs"][0]["outcome"], &done["claimed"][0]["id"]),
            (&json!(outcome), &json!(next))
        );
    }
    let late = caller.post("/v1/queues/q/complete", done).await;
    assert_eq!(problem(&late), (409, "lease_lost".to_owned()));
}

#[tokio::test]
async fn a_server_that_stops_answers_those_who_wait_for_the_end_of_a_job() {
    let scene = Scene::new().await;
    let (mut caller, mut other) = (scene.client().await, scene.client().await);
    other.post("/v1/queues/q/jobs", json!({"id":"a"})).await;
    let began = Instant::now();
    let waiting = caller.get("/v1/queues/q/jobs/a/wait?timeout=60s");
    let stopping = async {
        other.wait_for(UNDER_WAY, |count| count == 2).await;
        scene.stop();
    };

    let (waited, ()) = tokio::join!(waiting, stopping);

    assert_eq!(problem(&waited), (408, "timed_out".to_owned()));
    assert!(began.elapsed() < Duration::from_secs(5));
}
