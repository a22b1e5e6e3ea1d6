//! A job from enqueue to complete over HTTP, on SQLite and on Redis.

use serde_json::json;

use crate::sandbox::Sandbox;
use crate::server::TestServer;
use crate::test_store::TestStore;

fn runs_a_job(sandbox: &Sandbox) {
    let server = TestServer::new(sandbox);
    let job = server.request(
        "POST",
        "/v1/queues/mail/jobs",
        r#"{"id":"a","payload":{"to" : "ann"}}"#,
    );
    assert_eq!(job.json(201)["state"], "ready");
    let worker = server.request("POST", "/v1/workers", r#"{"queues":["mail"]}"#);
    let worker = worker.json(200)["worker"].as_str().unwrap().to_owned();
    let claim = json!({"max":2,"lease":"1m","wait":"1s","worker":worker}).to_string();
    let claimed = server
        .request("POST", "/v1/queues/mail/claim", &claim)
        .json(200);
    let job = &claimed[0];
    assert_eq!(job["payload"], r#"{"to" : "ann"}"#);
    let token = &job["token"];
    let heartbeat = json!({"running":[{"queue":"mail","id":"a","token":token}]}).to_string();
    let cancel = server.request("POST", "/v1/queues/mail/jobs/a/cancel", "");
    assert_eq!(cancel.json(200)["outcome"], "will_stop");
    let heartbeat = server
        .request(
            "POST",
            &format!("/v1/workers/{worker}/heartbeat"),
            &heartbeat,
        )
        .json(200);
    assert_eq!(
        (&heartbeat["command"], &heartbeat["cancel"][0]["id"]),
        (&json!("continue"), &json!("a"))
    );
    let done = json!({"token":token,"result":"sent"}).to_string();
    let done = server.request("POST", "/v1/queues/mail/jobs/a/complete", &done);
    assert_eq!(done.json(200)["outcome"], "completed");
    let again = server.request(
        "POST",
        "/v1/queues/mail/jobs/a/complete",
        &json!({"token":"1-00000001"}).to_string(),
    );
    assert!([409, 410].contains(&again.status), "{again:?}");
    let stats = server.request("GET", "/v1/queues/mail", "").json(200);
    assert_eq!(stats["total"]["succeeded"], 1);
    // The CLI sees the same.
    let seen = sandbox.run("queue stats mail --json").ok().json();
    assert_eq!(seen["total"]["succeeded"], 1);
}

#[test]
fn a_job_goes_from_enqueue_to_complete_over_http() {
    runs_a_job(&Sandbox::new());
}

#[test]
fn a_job_goes_from_enqueue_to_complete_over_http_on_redis() {
    runs_a_job(&Sandbox::on(TestStore::redis()));
}

#[test]
fn bytes_come_back_byte_for_byte() {
    for sandbox in [Sandbox::new(), Sandbox::on(TestStore::redis())] {
        let server = TestServer::new(&sandbox);
        let bytes: Vec<u8> = (0..=255).cycle().take(100_000).collect();
        let octets = "content-type: application/octet-stream";
        let put = server.request_with("POST", "/v1/queues/q/jobs?id=a&kind=raw", octets, &bytes);
        assert_eq!(put.status, 201, "{put:?}");

        let payload = server.request("GET", "/v1/queues/q/jobs/a/payload", "");

        assert_eq!(payload.body, bytes);
    }
}

#[test]
fn a_stream_of_jobs_is_imported_and_exported() {
    for sandbox in [Sandbox::new(), Sandbox::on(TestStore::redis())] {
        let server = TestServer::new(&sandbox);
        let lines: String = (0..1000)
            .map(|n| format!("{{\"id\":\"j{n}\",\"payload\":{n}}}\n"))
            .collect();
        let ndjson = "content-type: application/x-ndjson";
        let path = "/v1/queues/q/jobs/import";
        let replies =
            server.request_with("POST", path, ndjson, format!("{lines}oops\n").as_bytes());
        let replies = String::from_utf8(replies.body).unwrap();
        assert_eq!(replies.lines().count(), 1001);
        assert!(
            replies
                .lines()
                .last()
                .unwrap()
                .contains(r#""code":"invalid""#)
        );

        let out = server.request("GET", "/v1/queues/q/jobs/export", "");

        let out = String::from_utf8(out.body).unwrap();
        assert_eq!(out.lines().count(), 1000);
    }
}
