//! Groups by op: enqueue, limits, pause and rests, on the memory store.

#![expect(clippy::unwrap_used, reason = "a failed unwrap fails the test")]

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use windlass_api::{EnqueueRequest, Error, GroupReply, Request, dispatch};
use windlass_core::{ManualClock, Store, Timestamp};
use windlass_store_memory::MemoryStore;

struct Fixture {
    store: MemoryStore,
    clock: Arc<ManualClock>,
}

impl Fixture {
    fn new() -> Self {
        let clock = Arc::new(ManualClock::new(Timestamp::from_ms(1_774_612_800_000)));
        let store = MemoryStore::new(Arc::clone(&clock) as _);
        Self { store, clock }
    }

    async fn call(&self, line: Value) -> Result<Value, Error> {
        let line = line.to_string();
        let (queue, request) = Request::parse_line(&line)?;
        let reply = dispatch(&self.store, queue.as_ref(), request).await?;
        Ok(serde_json::to_value(&reply).unwrap())
    }

    /// Calls an op on the queue `q`.
    async fn ok(&self, op: &str, mut fields: Value) -> Value {
        fields["op"] = json!(op);
        fields["queue"] = json!("q");
        self.call(fields).await.unwrap()
    }

    async fn enqueue(&self, id: &str, group: &str) {
        let job = json!({"id":id,"payload":id,"group":group});
        self.ok("enqueue", job).await;
    }

    async fn claimed(&self) -> Vec<String> {
        let claimed = self.ok("claim", json!({"max":10})).await;
        let ids = claimed.as_array().unwrap().iter();
        ids.map(|job| job["id"].as_str().unwrap().to_owned())
            .collect()
    }
}

#[tokio::test]
async fn a_job_shows_its_group_wherever_it_is_read() {
    let fixture = Fixture::new();
    fixture.enqueue("a", "acme").await;

    let listed = fixture.ok("list", json!({})).await;
    let claimed = fixture.ok("claim", json!({})).await;
    let read = fixture.ok("get", json!({"id":"a"})).await;

    for job in [&listed["jobs"][0], &claimed[0], &read] {
        assert_eq!(job["group"], "acme");
    }
    let imported = EnqueueRequest::from_json(&read.to_string()).unwrap();
    assert_eq!(imported.group.as_deref(), Some("acme"));
}

#[tokio::test]
async fn a_job_without_a_group_has_no_such_field() {
    let fixture = Fixture::new();
    fixture.ok("enqueue", json!({"id":"a"})).await;
    let read = fixture.ok("get", json!({"id":"a"})).await;
    assert!(read.get("group").is_none());
}

#[tokio::test]
async fn limits_of_a_group_replace_those_of_the_queue_until_they_are_default_again() {
    let fixture = Fixture::new();
    let settings = json!({"settings":{"group_max_running":"2","group_rate":"10/1s"}});
    fixture.ok("set", settings).await;

    let set = json!({"group":"acme","max_running":1,"rate":"none","burst":3});
    let set = fixture.ok("set_group", set).await;
    assert_eq!(
        (&set["max_running"], &set["rate"], &set["own"]),
        (
            &json!(1),
            &Value::Null,
            &json!({"max_running":"1","rate":"none","burst":"3"})
        )
    );
    for id in ["a", "b"] {
        fixture.enqueue(id, "acme").await;
    }
    assert_eq!(fixture.claimed().await, ["a"]);

    let reset = json!({"group":"acme","max_running":"default","rate":"default","burst":"default"});
    let reset = fixture.ok("set_group", reset).await;
    assert_eq!(
        (&reset["max_running"], &reset["rate"], &reset["running"]),
        (&json!(2), &json!("10/1s"), &json!(1))
    );
    assert_eq!(fixture.claimed().await, ["b"]);
}

#[tokio::test]
async fn a_paused_group_starts_no_job_until_it_is_resumed() {
    let fixture = Fixture::new();
    fixture.enqueue("a", "acme").await;
    fixture.enqueue("b", "globex").await;
    let group = json!({"group":"acme"});

    assert_eq!(
        fixture.ok("pause_group", group.clone()).await["paused"],
        true
    );
    assert_eq!(fixture.claimed().await, ["b"]);
    assert_eq!(fixture.ok("group", group.clone()).await["paused"], true);
    assert_eq!(fixture.ok("resume_group", group).await["paused"], false);
    assert_eq!(fixture.claimed().await, ["a"]);
}

#[tokio::test]
async fn a_snoozed_group_rests_for_everyone_and_the_job_keeps_its_attempt() {
    let fixture = Fixture::new();
    for (id, group) in [("a", "acme"), ("b", "acme"), ("c", "globex")] {
        fixture.enqueue(id, group).await;
    }
    let claimed = fixture.ok("claim", json!({})).await;
    let snooze = json!({"id":"a","token":claimed[0]["token"],"delay":"10s","scope":"group"});

    assert_eq!(fixture.ok("snooze", snooze).await["outcome"], "snoozed");
    assert_eq!(fixture.claimed().await, ["c"]);
    let group = fixture.ok("group", json!({"group":"acme"})).await;
    assert_eq!(group["resting_until"], "2026-03-27T12:00:10.000Z");
    fixture.clock.advance(Duration::from_secs(10));
    let claimed = fixture.ok("claim", json!({"max":10})).await;
    assert_eq!(
        (&claimed[0]["id"], &claimed[0]["attempt"]),
        (&json!("a"), &json!(1))
    );
    assert_eq!(claimed[1]["id"], "b");
}

#[tokio::test]
async fn a_snoozed_queue_says_how_long_it_rests() {
    let fixture = Fixture::new();
    fixture.enqueue("a", "acme").await;
    let claimed = fixture.ok("claim", json!({})).await;
    let snooze = json!({"id":"a","token":claimed[0]["token"],"delay":"30s","scope":"queue"});
    fixture.ok("snooze", snooze).await;

    assert_eq!(fixture.ok("stats", json!({})).await["resting_ms"], 30_000);
    let resumed = fixture.ok("resume", json!({})).await;
    assert!(resumed.get("resting_ms").is_none());
    assert_eq!(fixture.claimed().await, ["a"]);
}

#[tokio::test]
async fn groups_are_listed_by_name_in_pages() {
    let fixture = Fixture::new();
    for group in ["c", "a", "b"] {
        fixture.enqueue(group, group).await;
    }
    let first = fixture.ok("groups", json!({"limit":2})).await;
    let cursor = first["next"].clone();
    let second = fixture
        .ok("groups", json!({"limit":2,"cursor":cursor}))
        .await;

    let names = |page: &Value| -> Vec<String> {
        let groups = page["groups"].as_array().unwrap().iter();
        groups
            .map(|group| group["group"].as_str().unwrap().to_owned())
            .collect()
    };
    assert_eq!(
        (names(&first), names(&second)),
        (vec!["a".to_owned(), "b".to_owned()], vec!["c".to_owned()])
    );
    assert_eq!(second["next"], Value::Null);
}

#[tokio::test]
async fn a_served_group_is_read_back_unchanged() {
    let fixture = Fixture::new();
    let settings = json!({"settings":{"group_rate":"1/1m"}});
    fixture.ok("set", settings).await;
    fixture
        .ok(
            "set_group",
            json!({"group":"acme","max_running":7,"burst":2}),
        )
        .await;
    for id in ["a", "b", "c"] {
        fixture.enqueue(id, "acme").await;
    }
    let claimed = fixture.ok("claim", json!({"max":10})).await;
    let snooze = json!({"id":"a","token":claimed[0]["token"],"delay":"30s","scope":"group"});
    fixture.ok("snooze", snooze).await;

    let reply = fixture.ok("group", json!({"group":"acme"})).await;
    let reply: GroupReply = serde_json::from_value(reply).unwrap();
    let (queue, group) = ("q".parse().unwrap(), "acme".parse().unwrap());
    let record = fixture.store.group(&queue, &group).await.unwrap().unwrap();

    assert!(record.opens_at.is_some() && record.resting_until.is_some());
    assert_eq!(reply.into_record().unwrap(), record);
}

#[tokio::test]
async fn a_wrong_value_is_refused_with_its_code() {
    let fixture = Fixture::new();
    for (line, code) in [
        (
            json!({"op":"enqueue","queue":"q","group":"a\tb"}),
            "invalid",
        ),
        (
            json!({"op":"group","queue":"q","group":"acme"}),
            "not_found",
        ),
        (json!({"op":"group","queue":"q","group":""}), "invalid"),
        (json!({"op":"groups","queue":"q","limit":0}), "invalid"),
        (
            json!({"op":"set_group","queue":"q","group":"a","max_running":0}),
            "invalid",
        ),
        (
            json!({"op":"set_group","queue":"q","group":"a","max_running":-1}),
            "invalid",
        ),
        (
            json!({"op":"set_group","queue":"q","group":"a","rate":"fast"}),
            "invalid",
        ),
        (
            json!({"op":"set_group","queue":"q","group":"a","burst":"none"}),
            "invalid",
        ),
        (
            json!({"op":"snooze","queue":"q","id":"a","token":"1-00000001","delay":"1s","scope":"all"}),
            "invalid",
        ),
    ] {
        let error = fixture.call(line.clone()).await.unwrap_err();
        assert_eq!(error.code.as_str(), code, "{line}");
        assert!(!error.help.is_empty(), "{line}");
    }
}
