//! watch: what scripts publish, as hints. Scripts publish only while somebody has said to listen.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use tokio::task::JoinHandle;
use tokio::time::{MissedTickBehavior, interval};
use windlass_core::{JobId, JobState, Notification, QueueName, Result, Watch};

use crate::link::{Channels, Heard, Listener};
use crate::partition::{Part, number};

/// For how long scripts publish after somebody said to listen, and how often it is said again.
const LISTENING: Duration = Duration::from_secs(30);
const SAID_EVERY: Duration = Duration::from_secs(10);

impl Part {
    async fn listen_for(&self, how_long: Duration) -> Result<()> {
        let args = vec![number(how_long.as_millis())];
        self.run(&self.scripts().watch, args).await?;
        Ok(())
    }
}

/// A stream of hints about some queues.
pub(crate) struct Notifier {
    listener: Listener,
    queues: HashMap<Bytes, QueueName>,
    waiting: std::collections::VecDeque<Notification>,
    keeper: Option<JoinHandle<()>>,
}

impl Notifier {
    /// Listens to parts; the listening has begun when this answers.
    pub(crate) async fn new(parts: Vec<Arc<Part>>) -> Result<Self> {
        let mut hints = Self::of_cancels(parts.clone()).await?;
        for part in &parts {
            part.listen_for(LISTENING).await?;
        }
        hints.keeper = Some(tokio::spawn(keep_listening(parts)));
        Ok(hints)
    }

    /// Listens to what is published whether somebody said to listen or not: cancellations.
    pub(crate) async fn of_cancels(parts: Vec<Arc<Part>>) -> Result<Self> {
        let channels: HashMap<Bytes, QueueName> = parts
            .iter()
            .map(|part| (part.keys.one("hints"), part.queue.clone()))
            .collect();
        let Some(first) = parts.first() else {
            return Err(windlass_core::Error::invalid(
                "watch",
                "it names no queue",
                "name one",
            ));
        };
        let listener = first
            .link()
            .listen(Channels::Sharded, channels.keys().cloned().collect())
            .await?;
        Ok(Self {
            listener,
            queues: channels,
            waiting: std::collections::VecDeque::new(),
            keeper: None,
        })
    }
}

/// Says again and again that somebody listens; a failure costs hints, never jobs.
async fn keep_listening(parts: Vec<Arc<Part>>) {
    let mut ticks = interval(SAID_EVERY);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        for part in &parts {
            let _ = part.listen_for(LISTENING).await;
        }
    }
}

impl Drop for Notifier {
    fn drop(&mut self) {
        if let Some(keeper) = &self.keeper {
            keeper.abort();
        }
    }
}

#[async_trait]
impl Watch for Notifier {
    async fn next(&mut self) -> Option<Notification> {
        loop {
            if let Some(hint) = self.waiting.pop_front() {
                return Some(hint);
            }
            match self.listener.next().await {
                Heard::Gap => return Some(Notification::Resync),
                Heard::Message { channel, bytes } => {
                    if let Some(queue) = self.queues.get(&channel) {
                        let text = String::from_utf8_lossy(&bytes);
                        self.waiting
                            .extend(text.lines().filter_map(|line| read(queue, line)));
                    }
                }
            }
        }
    }
}

/// One line of a message: `w`, `c ID` or `STATE ID`.
fn read(queue: &QueueName, line: &str) -> Option<Notification> {
    let Some((word, id)) = line.split_once(' ') else {
        return (line == "w").then(|| Notification::Work(queue.clone()));
    };
    let id = JobId::new(id).ok()?;
    match word {
        "c" => Some(Notification::Cancel(queue.clone(), id)),
        state => Some(Notification::Event(
            queue.clone(),
            id,
            JobState::from_text(state)?,
        )),
    }
}

impl fmt::Debug for Notifier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Notifier")
            .field("queues", &self.queues)
            .finish_non_exhaustive()
    }
}
