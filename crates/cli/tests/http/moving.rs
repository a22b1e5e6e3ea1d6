//! A queue moves between stores: its export, with its schedules, is imported by another server or by the CLI.

use serde_json::Value;

use crate::sandbox::Sandbox;
use crate::server::TestServer;
use crate::test_store::TestStore;

/// Returns the definitions of the schedules of the queue, and whether each is paused.
fn schedules(sandbox: &Sandbox) -> Vec<(Value, Value)> {
    let list = sandbox.run("schedules list q --json").ok().json();
    let list = list.as_array().unwrap().iter();
    list.map(|one| (one["definition"].clone(), one["paused"].clone()))
        .collect()
}

fn export(sandbox: &Sandbox) -> Vec<u8> {
    let server = TestServer::new(sandbox);
    let path = "/v1/queues/q/jobs/export";
    let exported = server.request("GET", path, "");
    assert_eq!(exported.status, 200);
    exported.body
}

fn import(sandbox: &Sandbox, lines: &[u8]) -> Vec<Value> {
    let server = TestServer::new(sandbox);
    let path = "/v1/queues/q/jobs/import";
    let ndjson = "content-type: application/x-ndjson";
    let replies = server.request_with("POST", path, ndjson, lines).body;
    let replies = String::from_utf8(replies).unwrap();
    let replies = replies.lines();
    replies
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

/// A SQLite store with a job, two schedules, and a job that waits for the other one.
fn source() -> Sandbox {
    let sandbox = Sandbox::new();
    let nightly = [
        "schedules",
        "put",
        "q",
        "nightly",
        "--cron",
        "30 2 1 1 *",
        "--zone",
        "Europe/Berlin",
        "--overlap",
        "buffer",
        "--set",
        "billing",
        "--header",
        "a=b",
        "--priority",
        "2",
        "report",
    ];
    sandbox.run_words(&nightly).ok();
    sandbox
        .run("schedules put q off --every 1000d --jitter 5s --missed all:3 --paused true x")
        .ok();
    for _ in 0..2 {
        sandbox.run("schedules run q nightly").ok();
    }
    sandbox
}

#[test]
fn schedules_move_from_sqlite_to_redis_and_back() {
    let (sqlite, redis) = (source(), Sandbox::on(TestStore::redis()));
    let exported = export(&sqlite);
    let imports = || {
        let ran = redis.feed("enqueue q --ndjson - --json", &exported);
        // The job that waits is rejected.
        ran.exits(1).json_lines()
    };

    let first = imports();
    let before = redis.run("schedules list q --json").ok().json();
    let again = imports();

    let results = |replies: &[Value]| -> Vec<Value> {
        let results = replies.iter().map(|reply| reply["result"].clone());
        results.filter(|result| !result.is_null()).collect()
    };
    assert_eq!(results(&first), ["created", "created"]);
    assert_eq!(results(&again), ["unchanged", "unchanged"]);
    assert_eq!(redis.run("schedules list q --json").ok().json(), before);
    assert_eq!(schedules(&redis), schedules(&sqlite));
    assert_eq!(schedules(&redis)[1].1, true, "it is still paused");

    let back = Sandbox::new();
    let replies = import(&back, &export(&redis));
    assert_eq!(results(&replies), ["created", "created"]);
    assert_eq!(schedules(&back), schedules(&sqlite));
}

#[test]
fn a_job_that_waits_for_another_is_imported_only_without_its_state() {
    let source = source();
    let stats = source.run("queue stats q --json").ok().json();
    assert_eq!((&stats["ready"], &stats["pending"]), (&1.into(), &1.into()));
    let exported = String::from_utf8(export(&source)).unwrap();
    let target = Sandbox::new();

    let replies = import(&target, exported.as_bytes());
    let error = replies.iter().find(|reply| reply["error"].is_object());
    let error = error.unwrap()["error"].clone();
    assert_eq!(error["code"], "invalid", "{error}");
    assert!(
        error["message"].as_str().unwrap().contains("waits"),
        "{error}"
    );
    let ready = || target.run("queue stats q --json").ok().json()["ready"].clone();
    assert_eq!(ready(), 1);

    import(
        &target,
        exported.replace(r#""state":"pending","#, "").as_bytes(),
    );
    assert_eq!(ready(), 2);
}

#[test]
fn a_filtered_export_has_schedules_only_if_it_asks_for_them() {
    let source = source();
    let server = TestServer::new(&source);
    for (query, expected) in [
        ("", 2),
        ("?state=ready", 0),
        ("?kind=mail", 0),
        ("?state=ready&schedules=true", 2),
        ("?schedules=false", 0),
    ] {
        let path = format!("/v1/queues/q/jobs/export{query}");
        let lines = String::from_utf8(server.request("GET", &path, "").body).unwrap();
        let count = lines.matches(r#"{"schedule":{"#).count();
        assert_eq!(count, expected, "{query}: {lines}");
    }
    let bad = server.request("GET", "/v1/queues/q/jobs/export?schedules=1", "");
    assert_eq!(bad.status, 400);
}
