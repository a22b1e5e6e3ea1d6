//! Notifications of a remote store: its stream of server-sent events. They are best-effort, as with every
//! store: while there is no stream, callers find changes by polling.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use http_body_util::BodyExt;
use hyper::body::Incoming;
use serde::Deserialize;
use tokio::time::{Instant, sleep_until};
use windlass_core::store::{Notification, Watch};
use windlass_core::{JobId, JobState, QueueName, Result};

use crate::call::Client;
use crate::connection::Sender;

/// The time between two attempts to open a stream.
const RECONNECT_AFTER: Duration = Duration::from_secs(1);

/// The same, after the server refused a stream, for example to a token without the scope `read`.
const REFUSED_AFTER: Duration = Duration::from_secs(30);

/// The most bytes of an event.
const EVENT_BYTES_MAX: usize = 64 * 1024;

/// A subscription to the events of some queues.
#[derive(Debug)]
pub(crate) struct EventWatch {
    client: Arc<Client>,
    queues: Vec<QueueName>,
    /// The open stream. The sender keeps its connection open.
    stream: Option<(Sender, Incoming)>,
    /// Bytes of events that are not complete.
    buffer: Vec<u8>,
    reconnect_at: Instant,
}

impl EventWatch {
    pub(crate) async fn open(client: Arc<Client>, queues: &[QueueName]) -> Result<Self> {
        let mut watch = Self {
            client,
            queues: queues.to_vec(),
            stream: None,
            buffer: Vec::new(),
            reconnect_at: Instant::now() + RECONNECT_AFTER,
        };
        watch.stream = watch.connect().await?;
        if watch.stream.is_none() {
            watch.reconnect_at = Instant::now() + REFUSED_AFTER;
        }
        Ok(watch)
    }

    /// Opens the stream. Returns `None` if the server refuses.
    async fn connect(&mut self) -> Result<Option<(Sender, Incoming)>> {
        // The server selects one queue or all.
        let queue = match self.queues.as_slice() {
            [queue] => Some(queue),
            _ => None,
        };
        self.client.events(queue).await
    }

    /// Returns the next event that is complete in the buffer.
    fn buffered(&mut self) -> Option<Notification> {
        while let Some(end) = self.buffer.windows(2).position(|two| two == b"\n\n") {
            let event: Vec<u8> = self.buffer.drain(..end + 2).collect();
            let event = std::str::from_utf8(&event).ok().and_then(notification);
            if let Some(event) = event.filter(|event| self.is_wanted(event)) {
                return Some(event);
            }
        }
        None
    }

    fn is_wanted(&self, event: &Notification) -> bool {
        event
            .queue()
            .is_none_or(|queue| self.queues.contains(queue))
    }
}

#[async_trait]
impl Watch for EventWatch {
    /// Waits for the next event. It may be dropped at any time: everything read is in `self`.
    async fn next(&mut self) -> Option<Notification> {
        loop {
            if let Some(event) = self.buffered() {
                return Some(event);
            }
            let Some((_, body)) = &mut self.stream else {
                sleep_until(self.reconnect_at).await;
                self.reconnect_at = Instant::now() + RECONNECT_AFTER;
                match self.connect().await {
                    Ok(None) => self.reconnect_at = Instant::now() + REFUSED_AFTER,
                    Ok(stream) => {
                        self.stream = stream;
                        return Some(Notification::Resync);
                    }
                    Err(_) => {}
                }
                continue;
            };
            match body.frame().await {
                Some(Ok(frame)) if self.buffer.len() <= EVENT_BYTES_MAX => {
                    if let Some(bytes) = frame.data_ref() {
                        self.buffer.extend_from_slice(bytes);
                    }
                }
                _ => {
                    self.stream = None;
                    self.buffer = Vec::new();
                }
            }
        }
    }
}

/// Parses one event. Comments and unknown events are `None`.
fn notification(text: &str) -> Option<Notification> {
    #[derive(Deserialize)]
    struct Data {
        queue: Option<String>,
        id: Option<String>,
        state: Option<String>,
    }
    let field = |name: &str| text.lines().find_map(|line| line.strip_prefix(name));
    let (event, data) = (field("event: ")?, field("data: ")?);
    if event == "resync" {
        return Some(Notification::Resync);
    }
    let data: Data = serde_json::from_str(data).ok()?;
    let queue = QueueName::new(data.queue?).ok()?;
    let id = data.id.and_then(|id| JobId::new(id).ok());
    match event {
        "work" => Some(Notification::Work(queue)),
        "cancel" => Some(Notification::Cancel(queue, id?)),
        "job" => {
            let state = JobState::from_text(&data.state?)?;
            Some(Notification::Event(queue, id?, state))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_parsed_and_anything_else_is_ignored() {
        let mail = QueueName::new("mail").unwrap();
        let id = JobId::new("a").unwrap();
        for (text, event) in [
            (
                "id: b-1\nevent: resync\ndata: {}\n\n",
                Some(Notification::Resync),
            ),
            (
                "id: b-2\nevent: job\ndata: {\"id\":\"a\",\"queue\":\"mail\",\"state\":\"ready\"}\n\n",
                Some(Notification::Event(mail.clone(), id, JobState::Ready)),
            ),
            (
                "event: work\ndata: {\"queue\":\"mail\"}\n\n",
                Some(Notification::Work(mail)),
            ),
            (": still here\n\n", None),
            ("retry: 1000\n\n", None),
            ("event: dance\ndata: {\"queue\":\"mail\"}\n\n", None),
            ("event: job\ndata: {}\n\n", None),
            ("event: job\ndata: x\n\n", None),
        ] {
            assert_eq!(notification(text), event, "{text:?}");
        }
    }
}
