//! A long job reports its progress, and stops when it is cancelled.

#![expect(clippy::print_stdout, reason = "examples print what happens")]

use std::time::Duration;

use serde::{Deserialize, Serialize};
use windlass::runtime::StopReason;
use windlass::store::Changed;
use windlass::{Client, Context, JobError, TypedJob, WaitError, Worker};

#[derive(Serialize, Deserialize, TypedJob)]
#[job(kind = "film.encode")]
struct Encode {
    frames: u32,
}

async fn encode(job: Encode, context: Context) -> Result<(), JobError> {
    let stop = context.cancellation();
    for frame in 0..job.frames {
        if stop.is_cancelled() {
            context.log("cleaning up");
            assert_eq!(context.stop_reason(), Some(StopReason::Cancelled));
            return Err(JobError::new("stopped half-way"));
        }
        let fraction = f64::from(frame) / f64::from(job.frames);
        context.progress(fraction, Some("encoding")).await?;
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    Ok(())
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let client = Client::connect("memory:").await?;
    let worker = Worker::new(client.clone()).handle(encode).start()?;
    let film = client
        .enqueue(Encode { frames: 1_000_000 })
        .keep_outcome()
        .await?;
    let id = film.id().as_str();

    let progress = loop {
        let job = client
            .get("default", id)
            .await?
            .ok_or("the job is missing")?;
        match job.progress {
            Some(progress) if progress.fraction.get() > 0.0 => break progress,
            _ => tokio::time::sleep(Duration::from_millis(5)).await,
        }
    };
    println!(
        "progress {}: {:?}",
        progress.fraction.get(),
        progress.message
    );

    assert_eq!(client.cancel("default", id).await?, Changed::WillStop);
    assert!(matches!(
        client.wait(&film).await,
        Err(WaitError::Cancelled)
    ));
    worker.stop().await?;
    Ok(())
}
