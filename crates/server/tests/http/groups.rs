//! Groups over HTTP: their routes, and which tokens may change them.

use serde_json::{Value, json};

use crate::fixture::{Fixture, TestClient, problem};

const GROUP: &str = "/v1/queues/q/groups/acme%2F1";

#[tokio::test]
async fn a_group_is_limited_paused_and_resumed_by_its_path() {
    let fixture = Fixture::new().await;
    let mut client = fixture.client().await;
    let job = json!({"id":"a","group":"acme/1"});
    TestClient::json(&client.post("/v1/queues/q/jobs", job).await, 201);

    let limits = json!({"max_running":2,"rate":"100/1m"});
    let set = TestClient::json(&client.send("PUT", GROUP, limits).await, 200);
    assert_eq!(
        (&set["group"], &set["ready"], &set["max_running"]),
        (&json!("acme/1"), &json!(1), &json!(2))
    );
    let paused = client.post(&format!("{GROUP}/pause"), Value::Null).await;
    assert_eq!(TestClient::json(&paused, 200)["paused"], true);
    let claim = client.post("/v1/queues/q/claim", json!({})).await;
    assert_eq!(TestClient::json(&claim, 200), json!([]));
    let resumed = client.post(&format!("{GROUP}/resume"), Value::Null).await;
    assert_eq!(TestClient::json(&resumed, 200)["paused"], false);
    let claim = client.post("/v1/queues/q/claim", json!({})).await;
    assert_eq!(TestClient::json(&claim, 200)[0]["group"], "acme/1");

    let listed = TestClient::json(&client.get("/v1/queues/q/groups?limit=1").await, 200);
    let read = TestClient::json(&client.get(GROUP).await, 200);
    assert_eq!(listed["groups"], json!([read]));
    assert_eq!(read["running"], 1);
    let unknown = client.get("/v1/queues/q/groups/other").await;
    assert_eq!(problem(&unknown), (404, "not_found".to_owned()));
}

#[tokio::test]
async fn a_change_of_a_group_counts_as_a_queue_that_a_token_creates() {
    let fixture = Fixture::with_tokens(&[("few", "operate", "* names=1")]).await;
    for path in ["", "/pause", "/resume"] {
        let mut client = fixture.client().await;
        let method = if path.is_empty() { "PUT" } else { "POST" };
        let first = format!("/v1/queues/one/groups/acme{path}");
        let second = format!("/v1/queues/two/groups/acme{path}");
        TestClient::json(&client.send_as("few", method, &first).await, 200);
        let refused = client.send_as("few", method, &second).await;
        assert_eq!(problem(&refused), (403, "forbidden".to_owned()), "{second}");
    }
}
