//! Middleware: wraps every attempt in order, and sees its outcome.

use std::sync::{Arc, Mutex};

use windlass::testing::Testing;
use windlass::{Client, Context, JobError, JobState, Next, Outcome, Worker};

use crate::jobs::Note;

type Lines = Arc<Mutex<Vec<String>>>;

fn worker(client: &Client, lines: &Lines) -> Worker {
    async fn write(note: Note) -> Result<(), JobError> {
        match note.text.as_str() {
            "panic" => panic!("out of ink"),
            "error" => Err(JobError::new("no paper")),
            _ => Ok(()),
        }
    }
    let hook = |name: &'static str| {
        let lines = Arc::clone(lines);
        move |context: Context, next: Next| {
            let lines = Arc::clone(&lines);
            async move {
                lines.lock().unwrap().push(format!("{name} begins"));
                let outcome = next.run(context).await;
                lines
                    .lock()
                    .unwrap()
                    .push(format!("{name} sees {}", outcome.as_str()));
                outcome
            }
        }
    };
    Worker::new(client.clone())
        .handle(write)
        .middleware(hook("outer"))
        .middleware(hook("inner"))
}

#[tokio::test]
async fn the_first_middleware_is_the_outermost() {
    let (testing, lines) = (Testing::new(), Lines::default());
    let client = testing.client();
    client.enqueue(Note::new("x")).await.unwrap();

    testing.drain(&worker(&client, &lines)).await;

    let order = [
        "outer begins",
        "inner begins",
        "inner sees done",
        "outer sees done",
    ];
    assert_eq!(*lines.lock().unwrap(), order);
}

#[tokio::test]
async fn middleware_sees_failures_panics_and_unknown_kinds() {
    let (testing, lines) = (Testing::new(), Lines::default());
    let client = testing.client();
    client
        .enqueue(Note::new("panic"))
        .id("panic")
        .await
        .unwrap();
    client.enqueue(Note::new("error")).await.unwrap();
    client
        .enqueue_raw("default", "x")
        .kind("unknown")
        .await
        .unwrap();

    let summary = testing.drain(&worker(&client, &lines)).await;

    assert_eq!(summary.failed, 3);
    let lines = lines.lock().unwrap().clone();
    let seen = lines.iter().filter(|line| line.ends_with("sees failed"));
    assert_eq!(seen.count(), 6);
    let job = client.get("default", "panic").await.unwrap().unwrap();
    assert_eq!(job.error.unwrap(), "the handler panicked: out of ink");
}

#[tokio::test]
async fn middleware_may_change_the_outcome_or_skip_the_handler() {
    async fn write(_: Note) -> Result<(), JobError> {
        panic!("it must not run")
    }
    let testing = Testing::new();
    let client = testing.client();
    client.enqueue(Note::new("x")).id("x").await.unwrap();
    let worker = Worker::new(client.clone())
        .handle(write)
        .middleware(async |_: Context, _: Next| Outcome::permanent("not on a Sunday"));

    testing.drain(&worker).await;

    let job = client.get("default", "x").await.unwrap().unwrap();
    assert_eq!(job.state, JobState::Dead);
    assert_eq!(job.error.unwrap(), "not on a Sunday");
}
