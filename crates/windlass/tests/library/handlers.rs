//! Handlers: their arguments, and the effect of what they return.

use std::sync::Mutex;
use std::time::Duration;

use windlass::runtime::RetryWhen;
use windlass::store::{Reason, Token};
use windlass::testing::{self, Testing};
use windlass::{
    Bytes, Client, Context, Data, Due, JobError, JobState, Json, Outcome, RawJob, Worker,
};

use crate::jobs::{Add, Note};

#[tokio::test]
async fn a_handler_takes_its_job_and_up_to_eight_extractors() {
    #[expect(clippy::too_many_arguments, reason = "this is the promise")]
    async fn all(
        Add(a, b): Add,
        context: Context,
        data: Data<u64>,
        raw: RawJob,
        token: Token,
        client: Client,
        bytes: Bytes,
        Json(pair): Json<(u64, u64)>,
        again: Context,
    ) -> Result<u64, JobError> {
        assert_eq!(token, context.token());
        assert_eq!(raw.payload, bytes);
        assert_eq!(raw.id, again.job().id);
        assert_eq!(pair, (a, b));
        client.enqueue(Note::new("seen")).await?;
        Ok(a + b + *data)
    }
    let outcome = testing::run(all, Add(1, 2)).data(4_u64).await;
    assert_eq!(outcome, Outcome::Done(Some("7".into())));
}

#[tokio::test]
async fn many_kinds_of_many_queues_find_their_handlers() {
    async fn add(Add(a, b): Add, seen: Data<Mutex<Vec<String>>>) -> Result<u64, JobError> {
        seen.lock().unwrap().push(format!("add {a} {b}"));
        Ok(a + b)
    }
    async fn write(note: Note, seen: Data<Mutex<Vec<String>>>) -> Result<(), JobError> {
        seen.lock().unwrap().push(format!("note {}", note.text));
        Ok(())
    }
    async fn shout(text: Bytes, seen: Data<Mutex<Vec<String>>>) -> Result<String, JobError> {
        let text = String::from_utf8(text.to_vec())?.to_uppercase();
        seen.lock().unwrap().push(format!("raw {text}"));
        Ok(text)
    }
    async fn rest(job: RawJob, seen: Data<Mutex<Vec<String>>>) -> Result<(), JobError> {
        seen.lock().unwrap().push(format!("rest {:?}", job.kind));
        Ok(())
    }
    let testing = Testing::new();
    let client = testing.client();
    client.enqueue(Add(1, 2)).await.unwrap();
    client.enqueue(Note::new("hi")).await.unwrap();
    let shouted = client
        .enqueue_raw("default", "hey")
        .kind("shout")
        .await
        .unwrap();
    client
        .enqueue_raw("default", "x")
        .kind("other")
        .await
        .unwrap();
    client.enqueue_raw("default", "x").await.unwrap();
    let seen = std::sync::Arc::new(Mutex::new(Vec::<String>::new()));
    let worker = Worker::new(client.clone())
        .handle(add)
        .handle(write)
        .handle_raw("shout", shout)
        .fallback(rest)
        .data(Mutex::new(Vec::<String>::new()))
        .middleware({
            let seen = std::sync::Arc::clone(&seen);
            move |context, next| {
                seen.lock().unwrap().push(context.queue().to_string());
                next.run(context)
            }
        });

    let summary = testing.drain(&worker).await;

    assert_eq!(summary.succeeded, 5);
    let queues = seen.lock().unwrap().clone();
    assert_eq!(queues, ["default", "default", "default", "default", "sums"]);
    let bytes = client
        .wait_raw("default", shouted.id().as_str(), None)
        .await;
    assert_eq!(bytes.unwrap().unwrap(), "HEY");
}

#[tokio::test]
async fn a_payload_that_does_not_parse_is_dead_at_once_and_its_error_shows_the_position() {
    async fn add(Add(a, b): Add) -> Result<u64, JobError> {
        Ok(a + b)
    }
    let testing = Testing::new();
    let client = testing.client();
    let raw = client
        .enqueue_raw("sums", "[1,\"secret\"]")
        .kind("sum.add")
        .id("bad");
    raw.await.unwrap();

    let summary = testing
        .drain(&Worker::new(client.clone()).handle(add))
        .await;

    assert_eq!(summary.dead, 1);
    let job = client.get("sums", "bad").await.unwrap().unwrap();
    assert_eq!(
        (job.state, job.reason),
        (JobState::Dead, Some(Reason::Permanent))
    );
    let error = job.error.unwrap();
    assert!(
        error.contains("\"sum.add\"") && error.contains("line 1 column 11"),
        "{error}"
    );
}

#[tokio::test]
async fn an_unknown_kind_fails_the_attempt_and_lists_the_known_kinds() {
    async fn add(Add(a, b): Add) -> Result<u64, JobError> {
        Ok(a + b)
    }
    async fn write(_: Note) -> Result<(), JobError> {
        Ok(())
    }
    let testing = Testing::new();
    let client = testing.client();
    client
        .enqueue_raw("sums", "x")
        .kind("sum.sub")
        .id("k")
        .await
        .unwrap();
    client.enqueue_raw("sums", "x").id("none").await.unwrap();

    let worker = Worker::new(client.clone()).handle(add).handle(write);
    let summary = testing.drain(&worker).await;

    assert_eq!(summary.failed, 2);
    for (id, text) in [
        ("k", "no handler for kind \"sum.sub\""),
        ("none", "has no kind"),
    ] {
        let job = client.get("sums", id).await.unwrap().unwrap();
        assert!(!job.state.is_final(), "another worker may know it");
        let error = job.error.unwrap();
        assert!(
            error.contains(text) && error.ends_with("known kinds: note.write, sum.add"),
            "{error}"
        );
    }
}

#[tokio::test]
async fn the_return_value_of_a_handler_decides_the_outcome() {
    async fn decide(note: Note) -> Result<(), JobError> {
        Err(match note.text.as_str() {
            "error" => "x".parse::<u8>().unwrap_err().into(),
            "permanent" => JobError::permanent("never"),
            "after" => JobError::retry_after(Duration::from_secs(5), "later"),
            "snooze" => JobError::snooze(Duration::from_secs(6)),
            "release" => JobError::release(),
            _ => return Ok(()),
        })
    }
    let outcome = |text: &str| testing::run(decide, Note::new(text)).into_future();
    assert_eq!(outcome("done").await, Outcome::Done(None));
    assert_eq!(
        outcome("error").await,
        Outcome::failed("invalid digit found in string")
    );
    assert_eq!(outcome("permanent").await, Outcome::permanent("never"));
    let later = Outcome::Failed {
        error: "later".to_owned(),
        retry: RetryWhen::At(Due::After(Duration::from_secs(5))),
    };
    assert_eq!(outcome("after").await, later);
    assert_eq!(
        outcome("snooze").await,
        Outcome::snooze(Duration::from_secs(6))
    );
    assert_eq!(outcome("release").await, Outcome::Release);
}

#[tokio::test]
async fn a_custom_error_type_decides_the_outcome() {
    enum Refused {
        ForNow,
        ForGood,
    }
    impl From<Refused> for JobError {
        fn from(refused: Refused) -> Self {
            match refused {
                Refused::ForNow => Self::new("for now"),
                Refused::ForGood => Self::permanent("for good"),
            }
        }
    }
    async fn ask(note: Note) -> Result<(), Refused> {
        Err(if note.text == "now" {
            Refused::ForNow
        } else {
            Refused::ForGood
        })
    }
    assert_eq!(
        testing::run(ask, Note::new("now")).await,
        Outcome::failed("for now")
    );
    assert_eq!(
        testing::run(ask, Note::new("")).await,
        Outcome::permanent("for good")
    );
}

#[tokio::test]
async fn a_closure_may_be_a_handler() {
    let closure = |Add(a, b): Add| async move { Ok::<_, JobError>(a * b) };
    assert_eq!(
        testing::run(closure, Add(6, 7)).await,
        Outcome::Done(Some("42".into()))
    );
}

#[tokio::test]
async fn a_follow_up_carries_the_trace_of_its_job() {
    async fn write(note: Note, context: Context) -> Result<(), JobError> {
        if note.text == "first" {
            context.enqueue(Note::new("second")).id("typed").await?;
            context.enqueue_raw("default", "third").id("raw").await?;
        }
        Ok(())
    }
    let testing = Testing::new();
    let client = testing.client();
    let first = client
        .enqueue(Note::new("first"))
        .header("traceparent", "00-a-b-01");
    first.header("tenant", "blue").await.unwrap();

    let worker = Worker::new(client.clone())
        .handle(write)
        .fallback(async |job: RawJob| {
            assert_eq!(job.headers.get("traceparent"), Some("00-a-b-01"));
            assert_eq!(job.headers.get("tenant"), None);
            Ok::<_, JobError>(())
        });
    let worker = worker.middleware(async |context: Context, next: windlass::Next| {
        assert_eq!(context.job().headers.get("traceparent"), Some("00-a-b-01"));
        next.run(context).await
    });

    assert_eq!(testing.drain(&worker).await.succeeded, 3);
}
