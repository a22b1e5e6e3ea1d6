//! The channel of a queue in the document layout. A listener subscribes when a pop found nothing and
//! stays subscribed until it gets a task.
//!
//! A message only means that there may be a task. A listener that misses one finds the task by polling.

use std::time::Duration;

use tokio::time::timeout;
use windlass_core::Result;
use windlass_redis_link::raw_client;

use super::BluequeQueue;

/// How often to poll without a message.
const POLL_EVERY: Duration = Duration::from_secs(1);

/// The subscription of a listener, if any.
#[derive(Debug, Default)]
pub(super) struct ChannelSubscription(Option<raw_client::Subscriber>);

impl ChannelSubscription {
    /// Subscribes. Returns false if already subscribed.
    pub(super) async fn subscribe(&mut self, queue: &BluequeQueue) -> Result<bool> {
        if self.0.is_some() {
            return Ok(false);
        }
        let client = &queue.blueque.server.client;
        self.0 = Some(client.subscribe(vec![queue.keys.channel()]).await?);
        Ok(true)
    }

    /// Waits for a message, at most until the next poll is due.
    pub(super) async fn wait(&mut self, wait: Duration) {
        if let Some(subscription) = &mut self.0 {
            // The caller polls in either case.
            let _ = timeout(wait.min(POLL_EVERY), subscription.next()).await;
        }
    }

    /// Unsubscribes.
    pub(super) fn unsubscribe(&mut self) {
        self.0 = None;
    }
}
