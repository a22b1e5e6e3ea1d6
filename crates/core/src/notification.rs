//! Notifications of changes. They may be lost: every waiter also polls.

use std::fmt;

use async_trait::async_trait;
use tokio::sync::broadcast;

use crate::job::JobState;
use crate::name::{JobId, QueueName};

/// A change in a queue.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Notification {
    /// The queue may have jobs to claim.
    Work(QueueName),
    /// The cancellation of a running job was requested.
    Cancel(QueueName, JobId),
    /// A job entered a state.
    Event(QueueName, JobId, JobState),
    /// Notifications were lost. Check everything.
    Resync,
}

impl Notification {
    /// Returns the queue, or `None` for [`Resync`](Self::Resync).
    pub const fn queue(&self) -> Option<&QueueName> {
        match self {
            Self::Work(queue) | Self::Cancel(queue, _) | Self::Event(queue, _, _) => Some(queue),
            Self::Resync => None,
        }
    }
}

/// A stream of notifications.
#[async_trait]
pub trait Watch: Send + fmt::Debug {
    /// Waits for the next notification. Returns `None` when the store is closed.
    async fn next(&mut self) -> Option<Notification>;
}

/// How many notifications a slow subscriber may fall behind before it receives `Resync`.
const BACKLOG_MAX: usize = 1024;

/// Broadcasts notifications within a process.
#[derive(Debug, Clone)]
pub struct Notifier(broadcast::Sender<Notification>);

impl Default for Notifier {
    fn default() -> Self {
        Self(broadcast::channel(BACKLOG_MAX).0)
    }
}

impl Notifier {
    /// Sends a notification to all subscribers.
    pub fn send(&self, notification: Notification) {
        // Fails only if there are no subscribers.
        let _ = self.0.send(notification);
    }

    /// Subscribes to the notifications of `queues`.
    pub fn watch(&self, queues: &[QueueName]) -> Box<dyn Watch> {
        Box::new(Subscription {
            queues: queues.to_vec(),
            receiver: self.0.subscribe(),
        })
    }
}

#[derive(Debug)]
struct Subscription {
    queues: Vec<QueueName>,
    receiver: broadcast::Receiver<Notification>,
}

#[async_trait]
impl Watch for Subscription {
    async fn next(&mut self) -> Option<Notification> {
        loop {
            match self.receiver.recv().await {
                Ok(notification) => match notification.queue() {
                    Some(queue) if !self.queues.contains(queue) => {}
                    _ => return Some(notification),
                },
                Err(broadcast::error::RecvError::Lagged(_)) => return Some(Notification::Resync),
                Err(broadcast::error::RecvError::Closed) => return None,
            }
        }
    }
}
