//! Server-sent events: hints of the store with ids of this server, and a short memory to resume from.
//!
//! Hints may be lost on their way from the store, and this server forgets when it ends; so whoever
//! reads is told `resync` whenever something may have been missed, and should look again.

mod hub;

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use bytes::Bytes;
use futures_util::stream;
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::timeout;
use windlass_core::QueueName;

use crate::answer::{Answered, text};
use crate::call::{Call, check_reach};
use crate::door::Door;
use crate::refusal::Refusal;
use crate::scope::Grant;

pub(crate) use hub::Hub;
use hub::{Event, Place};

/// After so long without an event a remark is sent, so that both ends know the other lives.
const HEARTBEAT: Duration = Duration::from_secs(15);

/// Opens a stream of events.
pub(crate) fn answer(door: &Arc<Door>, call: &Call) -> Answered {
    let mut fields = call.query_fields()?;
    let queue = fields.remove("queue");
    let queue = queue.as_ref().and_then(|queue| queue.as_str());
    let queue = queue.map(QueueName::new).transpose()?;
    if !fields.is_empty() {
        let why = "the query has an unknown field";
        return Err(Refusal::new("invalid", why, "use queue, or nothing"));
    }
    if let Some(queue) = &queue {
        check_reach(&call.grant, queue)?;
    }
    let permit = door.hub.seat().ok_or_else(|| {
        let why = "too many streams of events are open";
        Refusal::new("overloaded", why, "close some, or try again later")
    })?;
    let last = call.headers.get("last-event-id");
    let last = last.and_then(|id| id.to_str().ok());
    let reader = Reader {
        door: Arc::clone(door),
        place: door.hub.place(last),
        queue,
        grant: call.grant.clone(),
        has_begun: false,
        _permit: permit,
    };
    let parts = stream::unfold(reader, |mut reader| async {
        let part = reader.next().await?;
        Some((Ok::<_, Infallible>(part), reader))
    });
    Ok(text("text/event-stream", Body::from_stream(parts)))
}

/// One open stream.
struct Reader {
    door: Arc<Door>,
    place: Place,
    queue: Option<QueueName>,
    grant: Grant,
    has_begun: bool,
    _permit: OwnedSemaphorePermit,
}

impl Reader {
    /// The next part; nothing when the server stops.
    async fn next(&mut self) -> Option<Bytes> {
        if !self.has_begun {
            self.has_begun = true;
            // The answer begins at once, and says how soon to come back.
            return Some(Bytes::from_static(b"retry: 1000\n\n"));
        }
        loop {
            let next = timeout(HEARTBEAT, self.door.hub.next(&mut self.place));
            let event = tokio::select! {
                event = next => event,
                () = self.door.stopping.cancelled() => return None,
            };
            match event {
                Err(_) => return Some(Bytes::from_static(b": still here\n\n")),
                Ok(event) if self.is_for(&event) => return Some(event.text(self.door.hub.boot())),
                Ok(_) => {}
            }
        }
    }

    fn is_for(&self, event: &Event) -> bool {
        let Some(queue) = event.queue() else {
            return true;
        };
        let is_wanted = self.queue.as_ref().is_none_or(|wanted| wanted == queue);
        is_wanted && self.grant.reaches(queue)
    }
}
