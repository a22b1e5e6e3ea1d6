//! What somebody has to do while tasks run: due ones are moved, dead listeners cleaned up after.

use std::time::Duration;

use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep};
use windlass_exec::LogSink;
use windlass_interop::blueque::{CleanOptions, Queue};

/// Between two looks at the schedule.
const DUE_EVERY: Duration = Duration::from_secs(1);

/// Between two cleans.
const CLEAN_EVERY: Duration = Duration::from_secs(15);

/// Goes on until it is dropped.
pub(super) struct Upkeep(JoinHandle<()>);

impl Upkeep {
    pub(super) fn start(queue: &Queue, judging: &CleanOptions, talk: &LogSink) -> Self {
        let (queue, judging, talk) = (queue.clone(), judging.clone(), talk.clone());
        Self(tokio::spawn(async move {
            let mut cleaned_at: Option<Instant> = None;
            loop {
                let moved = queue.enqueue_due_tasks().await.map(|_| ());
                let is_due = cleaned_at.is_none_or(|at| at.elapsed() >= CLEAN_EVERY);
                let done = match moved {
                    Ok(()) if is_due => {
                        cleaned_at = Some(Instant::now());
                        queue.clean(&judging).await.map(|_| ())
                    }
                    moved => moved,
                };
                if let Err(error) = done {
                    talk(&error.to_string());
                }
                sleep(DUE_EVERY).await;
            }
        }))
    }
}

impl Drop for Upkeep {
    fn drop(&mut self) {
        self.0.abort();
    }
}
