//! Subscribes to the channels of queues.

use std::collections::HashMap;
use std::collections::VecDeque;

use bytes::Bytes;
use serde::Deserialize;
use serde_json::value::RawValue;
use windlass_core::Result;
use windlass_redis_link::raw_client::{Subscriber as Subscription, SubscriberEvent};

use super::Worqr;
use super::keys::Channel;

/// An event on a queue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WorqrEvent {
    /// Work is available: a worker may start a task.
    Work {
        /// Queue name.
        queue: String,
        /// Number of tasks according to the message, or 1.
        count: u64,
    },
    /// A process was finished.
    Done {
        /// Queue name.
        queue: String,
        /// The message, for [`DoneMessage::parse`].
        message: Bytes,
    },
    /// A task was cancelled: workers that run it should finish.
    Cancel {
        /// Queue name.
        queue: String,
        /// The task.
        task: Bytes,
    },
    /// The queue was deleted with its waiting tasks.
    Delete {
        /// Queue name.
        queue: String,
    },
    /// The connection was interrupted and messages may be lost: check for work.
    Missed,
}

/// Message about a finished process.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DoneMessage {
    /// Id of the worker that finished it.
    pub worker_id: String,
    /// The task. The original omits it if the process had been taken back.
    #[serde(default)]
    pub task: Option<String>,
    /// The result, as JSON.
    #[serde(default)]
    pub result: Option<Box<RawValue>>,
}

impl DoneMessage {
    /// Parses the message of [`WorqrEvent::Done`]. Returns `None` if it is invalid.
    pub fn parse(message: &[u8]) -> Option<Self> {
        serde_json::from_slice(message).ok()
    }
}

/// Receives the events of queues.
#[derive(Debug)]
pub struct WorqrListener {
    subscription: Subscription,
    // Maps each channel to its queues, because a queue's name cannot be parsed from the channel's. In
    // the document layout one channel can belong to two queues.
    channels: HashMap<Bytes, Vec<(String, Channel)>>,
    pending: VecDeque<WorqrEvent>,
}

impl Worqr {
    /// Subscribes to the channels of queues. Messages published after this returns are received.
    pub async fn listen<Q: AsRef<str>>(&self, queues: &[Q]) -> Result<WorqrListener> {
        let mut channels: HashMap<Bytes, Vec<(String, Channel)>> = HashMap::new();
        for queue in queues.iter().map(AsRef::as_ref) {
            self.check_queue(queue)?;
            for (name, kind) in self.keys.channels(queue) {
                let entry = (queue.to_owned(), kind);
                let known = channels.entry(name).or_default();
                if !known.contains(&entry) {
                    known.push(entry);
                }
            }
        }
        let names = channels.keys().cloned().collect();
        Ok(WorqrListener {
            subscription: self.server.client.subscribe(names).await?,
            channels,
            pending: VecDeque::new(),
        })
    }
}

impl WorqrListener {
    /// Returns the next event. Cancel safe.
    pub async fn next(&mut self) -> WorqrEvent {
        loop {
            if let Some(event) = self.pending.pop_front() {
                return event;
            }
            match self.subscription.next().await {
                SubscriberEvent::Gap => return WorqrEvent::Missed,
                SubscriberEvent::Message { channel, bytes } => {
                    let queues = self.channels.get(&channel).into_iter().flatten();
                    let events = queues.map(|(queue, kind)| event(queue, *kind, &bytes));
                    self.pending.extend(events);
                }
            }
        }
    }
}

fn event(queue: &str, channel: Channel, message: &Bytes) -> WorqrEvent {
    let queue = queue.to_owned();
    match channel {
        Channel::Work | Channel::NewTasks => {
            let count = std::str::from_utf8(message).ok();
            let count = count.and_then(|count| count.parse().ok());
            WorqrEvent::Work {
                queue,
                // An invalid message is still a reason to check for work.
                count: count.unwrap_or(1),
            }
        }
        Channel::Done => WorqrEvent::Done {
            queue,
            message: message.clone(),
        },
        Channel::Cancel => WorqrEvent::Cancel {
            queue,
            task: message.clone(),
        },
        Channel::Delete => WorqrEvent::Delete { queue },
    }
}
