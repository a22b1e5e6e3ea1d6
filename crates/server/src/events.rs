//! Server-sent events: notifications of the store, numbered by this server and buffered so that
//! clients can resume.
//!
//! Notifications can be lost, and the buffer does not survive a restart. Whenever a client may have
//! missed events, it receives `resync` and should read the current state again.

mod hub;
mod tickets;

use std::convert::Infallible;
use std::sync::Arc;

use axum::body::Body;
use bytes::Bytes;
use futures_util::stream;
use schemars::JsonSchema;
use serde::Deserialize;
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::timeout;
use windlass_api::Code;
use windlass_core::QueueName;

use crate::error::HttpError;
use crate::handlers::{HandlerResult, text};
use crate::request::{ApiRequest, check_queue_access};
use crate::scope::Grant;
use crate::state::AppState;

pub(crate) use hub::Hub;
use hub::{Event, EventCursor, StreamPermit};
pub(crate) use tickets::{TicketReply, Tickets, issue as ticket};

/// The query of an event stream.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct EventsRequest {
    /// Send only events of this queue.
    queue: Option<String>,
    /// Resume after this event, for clients that cannot send the header `Last-Event-ID`.
    last_event_id: Option<String>,
    /// A one-time ticket, for clients that cannot send the header `Authorization`.
    #[serde(rename = "ticket")]
    _ticket: Option<String>,
}

/// Opens an event stream.
pub(crate) fn handle(state: &Arc<AppState>, request: &ApiRequest) -> HandlerResult {
    let query: EventsRequest = request.query_fields()?.read()?;
    let queue = query.queue.map(QueueName::new).transpose()?;
    if let Some(queue) = &queue {
        check_queue_access(&request.caller.grant, queue)?;
    }
    let token_permit = request.caller.limiter.open_stream()?;
    let permit = state.hub.open_stream().ok_or_else(|| {
        let why = "too many event streams are open";
        HttpError::new(Code::Overloaded, why, "close some, or retry later")
    })?;
    let header = request.headers.get("last-event-id");
    let last = header.map_or(query.last_event_id.as_deref(), |id| {
        Some(id.to_str().unwrap_or(""))
    });
    let reader = Reader {
        state: Arc::clone(state),
        cursor: state.hub.cursor(last),
        queue,
        grant: request.caller.grant.clone(),
        has_started: false,
        _permits: (token_permit, permit),
    };
    let chunks = stream::unfold(reader, |mut reader| async {
        let chunk = reader.next().await?;
        Some((Ok::<_, Infallible>(chunk), reader))
    });
    Ok(text("text/event-stream", Body::from_stream(chunks)))
}

/// An open event stream.
struct Reader {
    state: Arc<AppState>,
    cursor: EventCursor,
    queue: Option<QueueName>,
    grant: Grant,
    has_started: bool,
    _permits: (OwnedSemaphorePermit, StreamPermit),
}

impl Reader {
    /// Returns the next chunk, or `None` when the server stops.
    async fn next(&mut self) -> Option<Bytes> {
        if !self.has_started {
            self.has_started = true;
            // Sends the headers at once, and sets the reconnect delay of the client.
            return Some(Bytes::from_static(b"retry: 1000\n\n"));
        }
        loop {
            let next = timeout(
                self.state.timeouts.keep_alive,
                self.state.hub.next(&mut self.cursor),
            );
            let event = tokio::select! {
                event = next => event,
                () = self.state.stopping.cancelled() => return None,
            };
            match event {
                // A comment keeps the connection alive and detects clients that are gone.
                Err(_) => return Some(Bytes::from_static(b": still here\n\n")),
                Ok(event) if self.matches(&event) => {
                    return Some(event.text(self.state.hub.boot()));
                }
                Ok(_) => {}
            }
        }
    }

    fn matches(&self, event: &Event) -> bool {
        let Some(queue) = event.queue() else {
            return true;
        };
        let is_selected = self.queue.as_ref().is_none_or(|wanted| wanted == queue);
        is_selected && self.grant.allows_queue(queue)
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
    use crate::table::{EVENTS, routes};

    /// A request for events without a token.
    fn request(state: &AppState) -> ApiRequest {
        let (_, route) = routes().find(|(_, route)| route.path == EVENTS).unwrap();
        ApiRequest {
            id: "1".to_owned(),
            route,
            path: Vec::new(),
            query: String::new(),
            headers: HeaderMap::new(),
            body: Body::empty(),
            caller: state.anonymous.clone(),
            peer: None,
            reserved: Vec::new(),
            body_timeout: state.timeouts.body,
        }
    }

    fn app_state() -> Arc<AppState> {
        let store = MemoryStore::new(Arc::new(SystemClock));
        let options = Options::new("127.0.0.1:0".parse().unwrap()).unwrap();
        Arc::new(AppState::new(Arc::new(store), options))
    }

    #[tokio::test(start_paused = true)]
    async fn a_stream_without_events_sends_keep_alives() {
        let state = app_state();
        let response = handle(&state, &request(&state)).unwrap();
        let mut chunks = response.into_body().into_data_stream();
        let started = Instant::now();
        let mut keep_alives = 0;
        let reading = async {
            while keep_alives < 4 {
                let chunk = chunks.next().await.unwrap().unwrap();
                keep_alives += u32::from(chunk.starts_with(b": still here"));
            }
        };
        let read = timeout(state.timeouts.keep_alive * 10, reading).await;

        assert!(read.is_ok(), "no keep-alive was sent");
        let (min, max) = (state.timeouts.keep_alive * 4, state.timeouts.keep_alive * 5);
        let elapsed = started.elapsed();
        assert!((min..max).contains(&elapsed), "{elapsed:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn a_stream_ends_when_the_server_stops() {
        let state = app_state();
        let response = handle(&state, &request(&state)).unwrap();
        let mut chunks = response.into_body().into_data_stream();
        assert!(chunks.next().await.is_some());

        state.stopping.cancel();

        while chunks.next().await.is_some() {}
    }
}
