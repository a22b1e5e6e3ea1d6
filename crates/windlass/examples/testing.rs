//! Testing a program that uses Windlass: a clock that moves when told, and no threads.

#![expect(clippy::print_stdout, reason = "an example shows what happens")]

use std::time::Duration;

use serde::{Deserialize, Serialize};
use windlass::testing::{self, Testing};
use windlass::{Client, Context, Outcome, Result, TypedJob, Worker};

#[derive(Serialize, Deserialize, TypedJob)]
#[job(kind = "user.welcome")]
struct Welcome {
    user: String,
}

/// The code under test: signing up writes at once, and once more after a day.
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

    // What was enqueued?
    sign_up(&client, "ann").await?;
    testing
        .assert_enqueued::<Welcome>(|job| job.user == "ann")
        .await;

    // Run what is ready; the other letter waits for its day.
    assert_eq!(testing.drain(&worker).await.succeeded, 1);
    testing.advance(DAY);
    assert_eq!(testing.drain(&worker).await.succeeded, 1);

    // Or let all time pass at once, retries included.
    sign_up(&client, "flaky").await?;
    let summary = testing.drain_all(&worker).await;
    println!("{summary:?}");
    assert_eq!((summary.succeeded, summary.failed), (2, 2));

    // Or run a handler alone.
    let user = "flaky".to_owned();
    let outcome = testing::run(welcome, Welcome { user }).await;
    assert_eq!(outcome, Outcome::failed("mailbox full"));
    Ok(())
}
