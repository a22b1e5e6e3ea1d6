//! Server-sent events: hints of the store with ids of this server, and a short memory to resume from.
//!
//! Notifier may be lost on their way from the store, and this server forgets when it ends; so whoever
//! reads is told `resync` whenever something may have been missed, and should look again.

mod hub;
mod tickets;

use std::convert::Infallible;
use std::sync::Arc;

use axum::body::Body;
use bytes::Bytes;
use futures_util::stream;
use serde_json::Value;
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::timeout;
use windlass_core::QueueName;

use crate::error::Refusal;
use crate::handlers::{Answered, text};
use crate::request::{Call, check_reach};
use crate::scope::Grant;
use crate::state::Door;

pub(crate) use hub::Hub;
use hub::{Event, Place};
pub(crate) use tickets::{TicketReply, Tickets, answer as ticket};

/// Opens a stream of events.
pub(crate) fn answer(door: &Arc<Door>, call: &Call) -> Answered {
    let mut fields = call.query_fields()?;
    let mut word = |name: &str| match fields.remove(name) {
        Some(Value::String(text)) => Some(text),
        _ => None,
    };
    // The guard has looked at the ticket.
    let (queue, last, _ticket) = (word("queue"), word("last_event_id"), word("ticket"));
    if !fields.is_empty() {
        let why = "the query has an unknown field";
        let help = "use queue, last_event_id and ticket, or nothing";
        return Err(Refusal::new("invalid", why, help));
    }
    let queue = queue.map(QueueName::new).transpose()?;
    if let Some(queue) = &queue {
        check_reach(&call.grant, queue)?;
    }
    let token_seat = call.meter.seat()?;
    let seat = door.hub.seat().ok_or_else(|| {
        let why = "too many streams of events are open";
        Refusal::new("overloaded", why, "close some, or try again later")
    })?;
    let header = call.headers.get("last-event-id");
    let last = header.map_or(last.as_deref(), |id| Some(id.to_str().unwrap_or("")));
    let reader = Reader {
        door: Arc::clone(door),
        place: door.hub.place(last),
        queue,
        grant: call.grant.clone(),
        has_begun: false,
        _seats: [token_seat, seat],
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
    _seats: [OwnedSemaphorePermit; 2],
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
            let next = timeout(
                self.door.waits.heartbeat,
                self.door.hub.next(&mut self.place),
            );
            let event = tokio::select! {
                event = next => event,
                () = self.door.stopping.cancelled() => return None,
            };
            match event {
                // Both ends know by it that the other lives.
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

#[cfg(test)]
mod tests {
    use axum::http::HeaderMap;
    use futures_util::StreamExt;
    use tokio::time::Instant;
    use windlass_core::SystemClock;
    use windlass_store_memory::MemoryStore;

    use super::*;
    use crate::serve::Options;
    use crate::table::{EVENTS, ROUTES};

    /// A call for events, by everybody.
    fn call(door: &Door) -> Call {
        let route = ROUTES.iter().find(|route| route.path == EVENTS).unwrap();
        Call {
            route,
            path: Vec::new(),
            query: String::new(),
            headers: HeaderMap::new(),
            body: Body::empty(),
            grant: door.everybody.grant.clone(),
            meter: Arc::clone(&door.everybody.meter),
            body_wait: door.waits.body,
        }
    }

    fn door() -> Arc<Door> {
        let store = MemoryStore::new(Arc::new(SystemClock));
        let options = Options::new("127.0.0.1:0".parse().unwrap()).unwrap();
        Arc::new(Door::new(Arc::new(store), options))
    }

    #[tokio::test(start_paused = true)]
    async fn a_stream_without_events_says_now_and_then_that_it_is_there() {
        let door = door();
        let answer = answer(&door, &call(&door)).unwrap();
        let mut parts = answer.into_body().into_data_stream();
        let began = Instant::now();
        let mut beats = 0;
        let reading = async {
            while beats < 4 {
                let part = parts.next().await.unwrap().unwrap();
                beats += u32::from(part.starts_with(b": still here"));
            }
        };
        let read = timeout(door.waits.heartbeat * 10, reading).await;

        assert!(read.is_ok(), "it says nothing");
        let (least, most) = (door.waits.heartbeat * 4, door.waits.heartbeat * 5);
        let took = began.elapsed();
        assert!((least..most).contains(&took), "{took:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn a_stream_ends_when_the_server_stops() {
        let door = door();
        let answer = answer(&door, &call(&door)).unwrap();
        let mut parts = answer.into_body().into_data_stream();
        assert!(parts.next().await.is_some());

        door.stopping.cancel();

        while parts.next().await.is_some() {}
    }
}
