//! The attempts of a job and the groups of errors by op, on the memory store.

#![expect(clippy::unwrap_used, reason = "a failed unwrap fails the test")]

use std::sync::Arc;

use serde_json::{Value, json};
use windlass_api::{ErrorGroupReply, JobReply, Request, dispatch};
use windlass_core::{JobId, ManualClock, QueueName, Store, Timestamp};
use windlass_store_memory::MemoryStore;

fn store() -> MemoryStore {
    let clock = ManualClock::new(Timestamp::from_ms(1_774_612_800_000));
    MemoryStore::new(Arc::new(clock))
}

/// Calls an op on the queue `q`.
async fn call(store: &dyn Store, op: &str, mut fields: Value) -> Result<Value, String> {
    fields["op"] = json!(op);
    fields["queue"] = json!("q");
    let (queue, request) = Request::parse_line(&fields.to_string()).unwrap();
    let reply = dispatch(store, queue.as_ref(), request).await;
    let reply = reply.map_err(|error| error.code.as_str().to_owned())?;
    Ok(serde_json::to_value(&reply).unwrap())
}

/// Enqueues a job and fails it.
async fn fail(store: &dyn Store, id: &str, error: &str) {
    let job = json!({"id":id,"kind":"mail"});
    call(store, "enqueue", job).await.unwrap();
    let claimed = call(store, "claim", json!({"worker":"w"})).await.unwrap();
    let token = &claimed[0]["token"];
    let failure = json!({"id":id,"token":token,"error":error,"permanent":true});
    call(store, "fail", failure).await.unwrap();
}

#[tokio::test]
async fn a_job_shows_its_attempts_and_is_read_back() {
    let (store, q) = (store(), QueueName::new("q").unwrap());
    fail(&store, "a", "no stamp").await;

    let job = call(&store, "get", json!({"id":"a","full":true})).await;

    let job = job.unwrap();
    let at = &job["finished_at"];
    let attempt = json!({"attempt":1,"started_at":at,"ended_at":at,"worker":"w","how":"failed","error":"no stamp"});
    assert_eq!(job["attempts"], json!([attempt]));
    let reply: JobReply = serde_json::from_value(job).unwrap();
    let stored = store.get(&q, &JobId::new("a").unwrap()).await;
    assert_eq!(reply.into_job().unwrap(), stored.unwrap().unwrap());
    let listed = call(&store, "list", json!({})).await.unwrap();
    assert_eq!(listed["jobs"][0].get("attempts"), None);
}

#[tokio::test]
async fn groups_of_errors_are_listed_and_cleared() {
    let (store, q) = (store(), QueueName::new("q").unwrap());
    fail(&store, "a", "user 1 is gone").await;
    fail(&store, "b", "user 2 is gone").await;

    let listed = call(&store, "errors", json!({})).await.unwrap();

    let group = &listed["errors"][0];
    assert_eq!(
        (&group["count"], &group["hours"][23]),
        (&json!(2), &json!(2))
    );
    assert_eq!(group["message"], "user # is gone");
    let reply: Vec<ErrorGroupReply> = serde_json::from_value(listed["errors"].clone()).unwrap();
    let groups = reply.into_iter().map(|group| group.into_group().unwrap());
    assert_eq!(
        groups.collect::<Vec<_>>(),
        store.error_groups(&q).await.unwrap()
    );
    let clear = json!({"fingerprint":group["fingerprint"]});
    call(&store, "clear_error", clear.clone()).await.unwrap();
    let again = call(&store, "clear_error", clear).await;
    assert_eq!(again, Err("not_found".to_owned()));
    let malformed = call(&store, "clear_error", json!({"fingerprint":"x"})).await;
    assert_eq!(malformed, Err("invalid".to_owned()));
}
