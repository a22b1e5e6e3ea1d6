//! Moves due jobs and returns jobs of dead workers in the background.

use std::time::Duration;

use crate::delayed_queue::DelayedQueue;
use tokio::task::JoinHandle;
use tokio::time::sleep;
use windlass_exec::LogSink;

/// Interval between checks, as in the original.
const EVERY: Duration = Duration::from_secs(1);

/// Runs until it is dropped. Any number may run.
pub(super) struct Leader(JoinHandle<()>);

impl Leader {
    pub(super) fn start(queue: &DelayedQueue, talk: &LogSink) -> Self {
        let (queue, talk) = (queue.clone(), talk.clone());
        Self(tokio::spawn(async move {
            loop {
                let done = async {
                    queue.move_due().await?;
                    queue.rescue().await
                };
                if let Err(error) = done.await {
                    talk(&error.to_string());
                }
                sleep(EVERY).await;
            }
        }))
    }
}

impl Drop for Leader {
    fn drop(&mut self) {
        self.0.abort();
    }
}
