//! Testing a program that uses Windlass: with a manual clock, and without threads.

#![expect(clippy::print_stdout, reason = "examples print what happens")]

use std::time::Duration;

use serde::{Deserialize, Serialize};
use windlass::testing::{self, Testing};
use windlass::{Client, Context, Outcome, Result, TypedJob, Worker};

#[derive(Serialize, Deserialize, TypedJob)]
#[job(kind = "user.welcome")]
struct Welcome {
    user: String,
}

/// The code under test: it sends a message immediately, and another one after a day.
async fn sign_up(client: &Client, user: &str) -> Result<()> {
    let welcome = || Welcome {
        user: user.to_owned(),
    };
    client.enqueue(welcome()).await?;
    client.enqueue(welcome()).delay(DAY).await?;
    Ok(())
}

async fn welcome(job: Welcome, context: Context) -> std::result::Result<(), std::io::Error> {
    if job.user == "flaky" && context.attempt() == 1 {
        return Err(std::io::Error::other("mailbox full"));
    }
    Ok(())
}

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<()> {
    let testing = Testing::new();
    let client = testing.client();
    let worker = Worker::new(client.clone()).handle(welcome);

    // Check what was enqueued.
    sign_up(&client, "ann").await?;
    testing
        .assert_enqueued::<Welcome>(|job| job.user == "ann")
        .await;

    // Run what is ready. The other job waits until its day has passed.
    assert_eq!(testing.drain(&worker).await.succeeded, 1);
    testing.advance(DAY);
    assert_eq!(testing.drain(&worker).await.succeeded, 1);

    // Or run everything, advancing the clock past all delays and retries.
    sign_up(&client, "flaky").await?;
    let summary = testing.drain_all(&worker).await;
    println!("{summary:?}");
    assert_eq!((summary.succeeded, summary.failed), (2, 2));

    // Or run one handler by itself.
    let user = "flaky".to_owned();
    let outcome = testing::run(welcome, Welcome { user }).await;
    assert_eq!(outcome, Outcome::failed("mailbox full"));
    Ok(())
}
