//! Hints: somebody should look. Everything works with every hint lost, at the speed of polling.

use std::fmt;

use async_trait::async_trait;
use tokio::sync::broadcast;

use crate::job::JobState;
use crate::name::{JobId, QueueName};

/// Something that may be worth a look.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Hint {
    /// A queue has jobs to claim.
    Work(QueueName),
    /// A running job was asked to stop.
    Cancel(QueueName, JobId),
    /// A job came into a state.
    Event(QueueName, JobId, JobState),
    /// Hints were lost: look at everything.
    Resync,
}

impl Hint {
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
    async fn next(&mut self) -> Option<Hint>;
}

/// How many hints a slow listener may fall behind before it is told to resync.
const BACKLOG_MAX: usize = 1024;

/// Passes hints around within a process.
#[derive(Debug, Clone)]
pub struct Hints(broadcast::Sender<Hint>);

impl Default for Hints {
    fn default() -> Self {
        Self(broadcast::channel(BACKLOG_MAX).0)
    }
}

impl Hints {
    /// Passes a hint to whoever listens.
    pub fn send(&self, hint: Hint) {
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
    hints: broadcast::Receiver<Hint>,
}

#[async_trait]
impl Watch for Listener {
    async fn next(&mut self) -> Option<Hint> {
        loop {
            match self.hints.recv().await {
                Ok(hint) => match hint.queue() {
                    Some(queue) if !self.queues.contains(queue) => {}
                    _ => return Some(hint),
                },
                Err(broadcast::error::RecvError::Lagged(_)) => return Some(Hint::Resync),
                Err(broadcast::error::RecvError::Closed) => return None,
            }
        }
    }
}
