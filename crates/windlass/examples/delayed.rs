//! A delayed job never starts early, and an expired job never runs.

#![expect(clippy::print_stdout, reason = "examples print what happens")]

use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use windlass::store::Reason;
use windlass::{Client, Due, JobError, JobState, TypedJob, WaitError, Worker};

const DELAY: Duration = Duration::from_millis(200);

#[derive(Serialize, Deserialize, TypedJob)]
#[job(kind = "remind")]
struct Remind;

async fn remind(_: Remind) -> Result<(), JobError> {
    Ok(())
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let client = Client::connect("memory:").await?;
    let start = Instant::now();
    let later = client.enqueue(Remind).delay(DELAY).keep_outcome().await?;
    assert_eq!(later.state(), JobState::Scheduled);
    // It expires after a millisecond, before it is due, so it never runs.
    let short = Due::After(Duration::from_millis(1));
    let expired = client.enqueue(Remind).delay(DELAY).expires(short);
    let expired = expired.keep_outcome().await?;

    Worker::new(client.clone())
        .handle(remind)
        .burst()
        .run()
        .await?;

    client.wait(&later).await?;
    println!("ran after {:?}", start.elapsed());
    assert!(start.elapsed() >= DELAY);
    let error = client.wait(&expired).await;
    assert!(matches!(
        error,
        Err(WaitError::Dead {
            reason: Some(Reason::Expired),
            ..
        })
    ));
    Ok(())
}
