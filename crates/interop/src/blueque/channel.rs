//! The design note's channel: subscribed to when a pop found nothing, until a task was got.
//!
//! A message is a hint and says no more than that there may be a task; whoever misses one finds the
//! task by looking.

use std::time::Duration;

use tokio::time::timeout;
use windlass_core::Result;
use windlass_store_redis::guest;

use super::Queue;

/// How long nothing may be heard before it is looked again.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// Whether we are subscribed.
#[derive(Debug, Default)]
pub(super) struct Wake(Option<guest::Listener>);

impl Wake {
    /// Subscribes; false when we were already.
    pub(super) async fn begin(&mut self, queue: &Queue) -> Result<bool> {
        if self.0.is_some() {
            return Ok(false);
        }
        let guest = &queue.blueque.server.guest;
        self.0 = Some(guest.listen(vec![queue.keys.channel()]).await?);
        Ok(true)
    }

    /// Waits until something is heard, or it is time to look anyway.
    pub(super) async fn wait(&mut self, wait: Duration) {
        if let Some(subscription) = &mut self.0 {
            // Both mean the same: look.
            let _ = timeout(wait.min(LOOK_EVERY), subscription.next()).await;
        }
    }

    /// Unsubscribes.
    pub(super) fn end(&mut self) {
        self.0 = None;
    }
}
