//! A service answers `429 Too Many Requests` with `Retry-After`: the group of that service rests in all workers, no
//! attempt is used, and the jobs of other groups continue.

#![expect(clippy::print_stdout, reason = "examples print what happens")]

use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use windlass::{Client, Context, Data, JobError, TypedJob, Worker};

/// How long the service asks for a rest; real services send whole seconds.
const RETRY_AFTER: Duration = Duration::from_millis(300);

#[derive(Serialize, Deserialize, TypedJob)]
#[job(kind = "call")]
struct Call {
    service: String,
}

/// A service that is busy at first.
#[derive(Default)]
struct Busy(OnceLock<Instant>);

impl Busy {
    /// Sends a request. A refusal comes with `Retry-After`.
    fn request(&self) -> Result<(), Duration> {
        let first = self.0.get_or_init(Instant::now);
        if first.elapsed() < RETRY_AFTER / 2 {
            return Err(RETRY_AFTER);
        }
        Ok(())
    }
}

async fn call(job: Call, context: Context, busy: Data<Arc<Busy>>) -> Result<(), JobError> {
    if job.service == "busy"
        && let Err(retry_after) = busy.request()
    {
        println!("{}: 429, retry after {retry_after:?}", job.service);
        return Err(JobError::snooze_group(retry_after));
    }
    println!("{}: 200", job.service);
    assert_eq!(context.attempt(), 1, "a snooze uses no attempt");
    assert_eq!(
        context.group().map(|group| group.as_str()),
        Some(job.service.as_str())
    );
    Ok(())
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let client = Client::connect("memory:").await?;
    for service in ["busy", "busy", "busy", "idle", "idle"] {
        let job = Call {
            service: service.to_owned(),
        };
        client.enqueue(job).group(service).await?;
    }

    let busy = Arc::new(Busy::default());
    let worker = || {
        let worker = Worker::new(client.clone()).data(Arc::clone(&busy));
        worker.handle(call).concurrency(1).burst()
    };
    let (one, other) = tokio::try_join!(worker().run(), worker().run())?;

    let snoozed = one.snoozed + other.snoozed;
    assert_eq!(one.succeeded + other.succeeded, 5);
    assert_eq!(one.failed + other.failed, 0);
    // Only a call that was in flight at the first refusal can be refused too.
    assert!((1..=2).contains(&snoozed), "{snoozed}");
    Ok(())
}
