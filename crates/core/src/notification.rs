//! Notifier: somebody should look. Everything works with every hint lost, at the speed of polling.

use std::fmt;

use async_trait::async_trait;
use tokio::sync::broadcast;

use crate::job::JobState;
use crate::name::{JobId, QueueName};

/// Something that may be worth a look.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Notification {
    /// A queue has jobs to claim.
    Work(QueueName),
    /// A running job was asked to stop.
    Cancel(QueueName, JobId),
    /// A job came into a state.
    Event(QueueName, JobId, JobState),
    /// Notifier were lost: look at everything.
    Resync,
}

impl Notification {
    /// The queue it speaks of; nothing when it speaks of all.
    pub const fn queue(&self) -> Option<&QueueName> {
        match self {
            Self::Work(queue) | Self::Cancel(queue, _) | Self::Event(queue, _, _) => Some(queue),
            Self::Resync => None,
        }
    }
}

/// A stream of hints.
#[async_trait]
pub trait Watch: Send + fmt::Debug {
    /// The next hint; waits for as long as it takes, ends only when the store is closed.
    async fn next(&mut self) -> Option<Notification>;
}

/// How many hints a slow listener may fall behind before it is told to resync.
const BACKLOG_MAX: usize = 1024;

/// Passes hints around within a process.
#[derive(Debug, Clone)]
pub struct Notifier(broadcast::Sender<Notification>);

impl Default for Notifier {
    fn default() -> Self {
        Self(broadcast::channel(BACKLOG_MAX).0)
    }
}

impl Notifier {
    /// Passes a hint to whoever listens.
    pub fn send(&self, hint: Notification) {
        // Nobody listening is the usual case and no loss: hints may vanish.
        let _ = self.0.send(hint);
    }

    /// Listens for hints about `queues`.
    pub fn watch(&self, queues: &[QueueName]) -> Box<dyn Watch> {
        Box::new(Listener {
            queues: queues.to_vec(),
            hints: self.0.subscribe(),
        })
    }
}

#[derive(Debug)]
struct Listener {
    queues: Vec<QueueName>,
    hints: broadcast::Receiver<Notification>,
}

#[async_trait]
impl Watch for Listener {
    async fn next(&mut self) -> Option<Notification> {
        loop {
            match self.hints.recv().await {
                Ok(hint) => match hint.queue() {
                    Some(queue) if !self.queues.contains(queue) => {}
                    _ => return Some(hint),
                },
                Err(broadcast::error::RecvError::Lagged(_)) => return Some(Notification::Resync),
                Err(broadcast::error::RecvError::Closed) => return None,
            }
        }
    }
}
