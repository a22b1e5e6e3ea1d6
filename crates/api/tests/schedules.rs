//! Schedules by op: put, read, run, next, backfill and apply, on the memory store.

#![expect(clippy::unwrap_used, reason = "a failed unwrap fails the test")]

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use windlass_api::{Error, Request, dispatch};
use windlass_core::{ManualClock, Timestamp};
use windlass_store_memory::MemoryStore;

/// 2026-03-27T12:00:00Z, two days before the clocks change in Europe.
const START: Timestamp = Timestamp::from_ms(1_774_612_800_000);

struct Fixture {
    store: MemoryStore,
    clock: Arc<ManualClock>,
}

impl Fixture {
    fn new() -> Self {
        let clock = Arc::new(ManualClock::new(START));
        let store = MemoryStore::new(Arc::clone(&clock) as _);
        Self { store, clock }
    }

    async fn call(&self, line: Value) -> Result<Value, Error> {
        let line = line.to_string();
        let (queue, request) = Request::parse_line(&line)?;
        let reply = dispatch(&self.store, queue.as_ref(), request).await?;
        Ok(serde_json::to_value(&reply).unwrap())
    }

    async fn ok(&self, line: Value) -> Value {
        self.call(line).await.unwrap()
    }

    async fn code(&self, line: Value) -> &'static str {
        self.call(line).await.unwrap_err().code.as_str()
    }

    async fn put(&self, name: &str, every: &str) -> Value {
        let put = json!({"op":"put_schedule","queue":"q","name":name,"every":every});
        self.ok(put).await
    }

    async fn show(&self, name: &str) -> Value {
        self.ok(json!({"op":"schedule","queue":"q","name":name}))
            .await
    }
}

#[tokio::test]
async fn a_schedule_is_put_fires_and_is_deleted() {
    let fixture = Fixture::new();
    let put = json!({"op":"put_schedule","queue":"q","name":"nightly","cron":"30 2 * * *",
        "zone":"Europe/Berlin","job":{"payload":{"report":1},"priority":2}});
    let reply = fixture.ok(put.clone()).await;
    assert_eq!(reply["result"], "created");
    assert_eq!(reply["next"][0], "2026-03-28T01:30:00Z");
    assert_eq!(reply["definition"]["job"]["payload"], r#"{"report":1}"#);
    assert_eq!(fixture.ok(put).await["result"], "unchanged");

    fixture.clock.advance(Duration::from_hours(14));
    let maintained = fixture.ok(json!({"op":"maintain","queue":"q"})).await;
    assert_eq!(maintained["instants"], 1);
    let shown = fixture.show("nightly").await;
    assert_eq!(shown["fired"], 1);
    assert_eq!(shown["current"], "nightly@2026-03-28T01:30:00Z");
    assert_eq!(shown["history"][0]["job"], shown["current"]);
    let job = json!({"op":"get","queue":"q","id":"nightly@2026-03-28T01:30:00Z"});
    assert_eq!(fixture.ok(job).await["schedule"], "nightly");
    let stats = fixture.ok(json!({"op":"stats","queue":"q"})).await;
    assert_eq!(
        (&stats["schedules"], &stats["pending"]),
        (&json!(1), &json!(0))
    );

    let delete = json!({"op":"delete_schedule","queue":"q","name":"nightly"});
    assert_eq!(fixture.ok(delete.clone()).await["deleted"], true);
    assert_eq!(fixture.code(delete).await, "not_found");
}

#[tokio::test]
async fn a_definition_in_a_reply_can_be_put_again() {
    let fixture = Fixture::new();
    fixture.put("s", "90s").await;
    let mut definition = fixture.show("s").await["definition"].clone();
    definition["op"] = json!("put_schedule");
    definition["queue"] = json!("q");
    assert_eq!(fixture.ok(definition).await["result"], "unchanged");
}

#[tokio::test]
async fn an_invalid_schedule_is_not_stored() {
    let fixture = Fixture::new();
    for bad in [
        json!({"cron":"61 * * * *"}),
        json!({"cron":"* * * * *","zone":"Mars/Base"}),
        json!({"every":"1s","tz":"UTC"}),
        json!({"every":"0s"}),
    ] {
        let mut put = bad.clone();
        put["op"] = json!("put_schedule");
        put["queue"] = json!("q");
        put["name"] = json!("s");
        assert_eq!(fixture.code(put).await, "invalid", "{bad}");
    }
    assert_eq!(
        fixture.code(json!({"op":"stats","queue":"q"})).await,
        "not_found"
    );
}

#[tokio::test]
async fn a_run_obeys_overlap_unless_it_is_forced() {
    let fixture = Fixture::new();
    fixture.put("s", "1h").await;
    let run = json!({"op":"run_schedule","queue":"q","name":"s","nonce":"a"});
    assert_eq!(fixture.ok(run.clone()).await["id"], "s@run-a");
    assert_eq!(fixture.ok(run).await["duplicate"], true);
    let run = json!({"op":"run_schedule","queue":"q","name":"s"});
    assert_eq!(fixture.code(run.clone()).await, "conflict");
    let mut forced = run.clone();
    forced["force"] = json!(true);
    assert_eq!(fixture.ok(forced).await["state"], "ready");
    let unknown = json!({"op":"run_schedule","queue":"q","name":"t"});
    assert_eq!(fixture.code(unknown).await, "not_found");
}

#[tokio::test]
async fn a_paused_schedule_lets_instants_pass() {
    let fixture = Fixture::new();
    fixture.put("s", "1m").await;
    let pause = json!({"op":"pause_schedule","queue":"q","name":"s"});
    assert_eq!(fixture.ok(pause).await["paused"], true);
    assert_eq!(fixture.put("s", "1m").await["result"], "unchanged");
    fixture.clock.advance(Duration::from_mins(1));
    fixture.ok(json!({"op":"maintain","queue":"q"})).await;
    let resume = json!({"op":"resume_schedule","queue":"q","name":"s"});
    let resumed = fixture.ok(resume).await;
    assert_eq!(
        (&resumed["paused"], &resumed["skipped"]),
        (&json!(false), &json!(1))
    );
    assert_eq!(resumed["history"][0]["skipped"], "paused");
}

#[tokio::test]
async fn the_next_instants_have_local_times_and_are_no_more_than_the_times_left() {
    let fixture = Fixture::new();
    let put = json!({"op":"put_schedule","queue":"q","name":"s","cron":"0 0 1 1 *",
        "zone":"Asia/Kathmandu","times":2});
    fixture.ok(put).await;
    let next = json!({"op":"next_instants","queue":"q","name":"s","count":5});
    let next = fixture.ok(next).await;
    let instants = next["instants"].as_array().unwrap();
    assert_eq!(
        (instants.len(), &next["zone"]),
        (2, &json!("Asia/Kathmandu"))
    );
    let local = instants[0]["local"].as_str().unwrap();
    assert!(local.ends_with("-01-01T00:00:00+05:45"), "{local}");
    let zero = json!({"op":"next_instants","queue":"q","name":"s","count":0});
    assert_eq!(fixture.code(zero).await, "invalid");
}

#[tokio::test]
async fn a_backfill_enqueues_each_instant_once_in_pages() {
    let fixture = Fixture::new();
    fixture.put("s", "1m").await;
    let backfill =
        |from: &str, to: &str| json!({"op":"backfill","queue":"q","name":"s","from":from,"to":to});
    let day = backfill("2026-03-01T00:00:00Z", "2026-03-01T02:00:00Z");
    let first = fixture.ok(day.clone()).await;
    assert_eq!(
        (&first["enqueued"], &first["duplicates"]),
        (&json!(100), &json!(0))
    );
    assert_eq!(first["jobs"][0]["id"], "s@2026-03-01T00:00:00Z");
    let next = first["next"].as_str().unwrap();
    assert_eq!(next, "2026-03-01T01:40:00Z");
    let last = fixture.ok(backfill(next, "2026-03-01T02:00:00Z")).await;
    assert_eq!(
        (&last["enqueued"], &last["next"]),
        (&json!(21), &Value::Null)
    );
    let again = fixture.ok(day).await;
    assert_eq!(
        (&again["enqueued"], &again["duplicates"]),
        (&json!(0), &json!(100))
    );
    let swapped = backfill("2026-03-02T00:00:00Z", "2026-03-01T00:00:00Z");
    assert_eq!(fixture.code(swapped).await, "invalid");
}

fn apply(schedules: &Value, prune: bool) -> Value {
    json!({"op":"apply_schedules","set":"deploy","prune":prune,"schedules":schedules})
}

#[tokio::test]
async fn a_repeated_apply_changes_nothing_and_a_pause_survives_it() {
    let fixture = Fixture::new();
    let list = json!([
        {"queue":"q","name":"a","every":"1m"},
        {"queue":"r","name":"a","cron":"0 * * * *","job":{"payload":"x"}},
    ]);
    let first = fixture.ok(apply(&list, true)).await;
    assert_eq!(
        (&first["created"], &first["deleted"]),
        (&json!(2), &json!(0))
    );
    let pause = json!({"op":"pause_schedule","queue":"q","name":"a"});
    fixture.ok(pause).await;
    let before = fixture.show("a").await;

    let again = fixture.ok(apply(&list, true)).await;

    assert_eq!(again["unchanged"], 2);
    assert_eq!(again["schedules"][0]["result"], "unchanged");
    assert_eq!(fixture.show("a").await, before);
    let resumed = json!([{"queue":"q","name":"a","every":"1m","paused":false}]);
    assert_eq!(fixture.ok(apply(&resumed, false)).await["changed"], 1);
}

#[tokio::test]
async fn prune_deletes_only_schedules_of_the_same_set() {
    let fixture = Fixture::new();
    fixture.put("by-hand", "1h").await;
    let both = json!([{"queue":"q","name":"a","every":"1m"},{"queue":"r","name":"b","every":"1m"}]);
    fixture.ok(apply(&both, false)).await;

    let pruned = fixture.ok(apply(&json!([]), true)).await;

    assert_eq!(pruned["deleted"], 2);
    assert_eq!(fixture.show("by-hand").await["paused"], false);
    let no_set = json!({"op":"apply_schedules","prune":true,"schedules":[]});
    assert_eq!(fixture.code(no_set).await, "invalid");
}

#[tokio::test]
async fn nothing_is_applied_if_one_schedule_is_invalid() {
    let fixture = Fixture::new();
    for bad in [
        json!({"queue":"q","name":"b","cron":"never"}),
        json!({"name":"b","every":"1m"}),
        json!({"queue":"q","name":"a","every":"2m"}),
        json!({"queue":"q q","name":"b","every":"1m"}),
    ] {
        let list = json!([{"queue":"q","name":"a","every":"1m"}, bad]);
        let error = fixture.call(apply(&list, false)).await.unwrap_err();
        assert_eq!(error.code.as_str(), "invalid", "{bad}");
        assert!(error.message.contains("schedule \""), "{}", error.message);
    }
    let show = json!({"op":"schedule","queue":"q","name":"a"});
    assert_eq!(fixture.code(show).await, "not_found");
    let many: Vec<_> = (0..=10_000)
        .map(|n| json!({"queue":"q","name":format!("s{n}"),"every":"1m"}))
        .collect();
    assert_eq!(fixture.code(apply(&json!(many), false)).await, "conflict");
    let show = json!({"op":"schedule","queue":"q","name":"s0"});
    assert_eq!(fixture.code(show).await, "not_found");
}
