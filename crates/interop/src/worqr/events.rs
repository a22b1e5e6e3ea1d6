//! Hears the channels of queues.

use std::collections::HashMap;
use std::collections::VecDeque;

use bytes::Bytes;
use serde::Deserialize;
use serde_json::value::RawValue;
use windlass_core::Result;
use windlass_store_redis::guest::{Heard, Listener as Ear};

use super::Worqr;
use super::keys::Channel;

/// What happened at a queue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// There is work: somebody may start a task.
    Work {
        /// Where.
        queue: String,
        /// How many tasks, as far as the message says.
        count: u64,
    },
    /// A process was finished.
    Done {
        /// Where.
        queue: String,
        /// What is told of it; [`Done::parse`] reads it.
        message: Bytes,
    },
    /// A task was cancelled: whoever is at it should finish.
    Cancel {
        /// Where.
        queue: String,
        /// The task.
        task: Bytes,
    },
    /// The queue was deleted with the tasks that waited.
    Delete {
        /// Which.
        queue: String,
    },
    /// The connection was lost for a while, and messages with it: look for work without being told.
    Missed,
}

/// What is told of a finished process.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Done {
    /// Who finished it.
    pub worker_id: String,
    /// The task; the original leaves it out where the process was taken back before.
    #[serde(default)]
    pub task: Option<String>,
    /// The result, as JSON.
    #[serde(default)]
    pub result: Option<Box<RawValue>>,
}

impl Done {
    /// Reads the message of [`Event::Done`]; nothing where it is none.
    pub fn parse(message: &[u8]) -> Option<Self> {
        serde_json::from_slice(message).ok()
    }
}

/// Hears what happens at queues.
#[derive(Debug)]
pub struct Listener {
    ear: Ear,
    // Channels are known by where they were subscribed for: names may have any characters. In the
    // document's layout one channel can belong to two queues.
    meanings: HashMap<Bytes, Vec<(String, Channel)>>,
    pending: VecDeque<Event>,
}

impl Worqr {
    /// Listens to the channels of queues; what is published after this has answered is heard.
    pub async fn listen<Q: AsRef<str>>(&self, queues: &[Q]) -> Result<Listener> {
        let mut meanings: HashMap<Bytes, Vec<(String, Channel)>> = HashMap::new();
        for queue in queues.iter().map(AsRef::as_ref) {
            self.check_queue(queue)?;
            for (name, channel) in self.keys.channels(queue) {
                let meaning = (queue.to_owned(), channel);
                let known = meanings.entry(name).or_default();
                if !known.contains(&meaning) {
                    known.push(meaning);
                }
            }
        }
        let channels = meanings.keys().cloned().collect();
        Ok(Listener {
            ear: self.guest.listen(channels).await?,
            meanings,
            pending: VecDeque::new(),
        })
    }
}

impl Listener {
    /// What happens next. It may be given up and asked again: nothing is lost.
    pub async fn next(&mut self) -> Event {
        loop {
            if let Some(event) = self.pending.pop_front() {
                return event;
            }
            match self.ear.next().await {
                Heard::Gap => return Event::Missed,
                Heard::Message { channel, bytes } => {
                    let meanings = self.meanings.get(&channel).into_iter().flatten();
                    let events = meanings.map(|(queue, kind)| event(queue, *kind, &bytes));
                    self.pending.extend(events);
                }
            }
        }
    }
}

fn event(queue: &str, channel: Channel, message: &Bytes) -> Event {
    let queue = queue.to_owned();
    match channel {
        Channel::Work | Channel::News => {
            let count = std::str::from_utf8(message).ok();
            let count = count.and_then(|count| count.parse().ok());
            Event::Work {
                queue,
                // A message is a reason to look, whatever it says.
                count: count.unwrap_or(1),
            }
        }
        Channel::Done => Event::Done {
            queue,
            message: message.clone(),
        },
        Channel::Cancel => Event::Cancel {
            queue,
            task: message.clone(),
        },
        Channel::Delete => Event::Delete { queue },
    }
}
