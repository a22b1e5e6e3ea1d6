//! Moves due tasks and cleans up after dead listeners in the background.

use std::time::Duration;

use crate::blueque::{BluequeQueue, CleanOptions};
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep};
use windlass_exec::LogSink;

/// Interval between checks of the schedule.
const DUE_EVERY: Duration = Duration::from_secs(1);

/// Interval between cleans.
const CLEAN_EVERY: Duration = Duration::from_secs(15);

/// Runs until it is dropped.
pub(super) struct Maintenance(JoinHandle<()>);

impl Maintenance {
    pub(super) fn start(queue: &BluequeQueue, options: &CleanOptions, talk: &LogSink) -> Self {
        let (queue, options, talk) = (queue.clone(), options.clone(), talk.clone());
        Self(tokio::spawn(async move {
            let mut cleaned_at: Option<Instant> = None;
            loop {
                let moved = queue.enqueue_due_tasks().await.map(|_| ());
                let is_due = cleaned_at.is_none_or(|at| at.elapsed() >= CLEAN_EVERY);
                let done = match moved {
                    Ok(()) if is_due => {
                        cleaned_at = Some(Instant::now());
                        queue.clean(&options).await.map(|_| ())
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

impl Drop for Maintenance {
    fn drop(&mut self) {
        self.0.abort();
    }
}
