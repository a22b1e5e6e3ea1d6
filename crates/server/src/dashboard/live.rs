//! Live pages: fragments that are rendered again while somebody watches, once for all viewers, and sent as
//! server-sent events when they changed.

use std::collections::{HashMap, VecDeque};
use std::convert::Infallible;
use std::sync::{Arc, Mutex, PoisonError};

use axum::body::Body;
use bytes::Bytes;
use futures_util::stream;
use serde_json::json;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::time::{Duration, Instant, timeout};
use windlass_api::Code;

use super::PageRequest;
use super::layout::View;
use crate::error::HttpError;
use crate::handlers::{HandlerResult, text};
use crate::state::AppState;

/// The shortest and the longest time between two renderings of a page.
const EVERY_MIN: Duration = Duration::from_secs(1);
const EVERY_MAX: Duration = Duration::from_secs(10);

/// The pause after a rendering is so many times as long as the rendering: a large store is read less often.
const PAUSE_FACTOR: u32 = 50;

/// The pages that are watched.
#[derive(Debug)]
pub(crate) struct Live {
    /// By address and permissions, which is all that the fragments depend on.
    channels: Mutex<HashMap<String, Arc<watch::Sender<Frame>>>>,
    streams: Arc<Semaphore>,
}

/// The latest events of a page, each with the number of the rendering that changed it.
type Frame = Arc<Vec<(u64, Bytes)>>;

impl Live {
    pub(crate) fn new(streams_max: usize) -> Self {
        Self {
            channels: Mutex::default(),
            streams: Arc::new(Semaphore::new(streams_max.min(Semaphore::MAX_PERMITS))),
        }
    }

    /// Watches a page. The first viewer starts its rendering.
    fn watch(&self, request: &PageRequest) -> watch::Receiver<Frame> {
        let key = format!(
            "{}?{} {:?}",
            request.path, request.query, request.caller.grant
        );
        let mut channels = self.channels.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(channel) = channels.get(&key) {
            let mut frames = channel.subscribe();
            // A page that was hidden for a while is older than the latest frame.
            frames.mark_changed();
            return frames;
        }
        let (sender, receiver) = watch::channel(Frame::default());
        let sender = Arc::new(sender);
        channels.insert(key.clone(), Arc::clone(&sender));
        tokio::spawn(render_while_watched(request.clone(), key, sender));
        receiver
    }

    /// Forgets a page if nobody watches it any more.
    fn forget_unwatched(&self, key: &str, sender: &watch::Sender<Frame>) -> bool {
        let mut channels = self.channels.lock().unwrap_or_else(PoisonError::into_inner);
        let is_unwatched = sender.receiver_count() == 0;
        if is_unwatched {
            channels.remove(key);
        }
        is_unwatched
    }
}

async fn render_while_watched(
    request: PageRequest,
    key: String,
    sender: Arc<watch::Sender<Frame>>,
) {
    let state = Arc::clone(&request.state);
    let mut fragments = Fragments::default();
    loop {
        let began = Instant::now();
        let view = request.view().await;
        if let Some(frame) = fragments.update(view) {
            sender.send_replace(frame);
        }
        let pause = began.elapsed().saturating_mul(PAUSE_FACTOR);
        state.pause(pause.clamp(EVERY_MIN, EVERY_MAX)).await;
        if state.live.forget_unwatched(&key, &sender) || state.stopping.is_cancelled() {
            return;
        }
    }
}

/// What was rendered last.
#[derive(Debug, Default)]
struct Fragments {
    renderings: u64,
    /// The id, the HTML, and the event with the number of its rendering.
    all: Vec<(&'static str, String, (u64, Bytes))>,
}

impl Fragments {
    /// Takes in a rendering. Returns all events if one changed.
    fn update(&mut self, view: Result<View, HttpError>) -> Option<Frame> {
        self.renderings += 1;
        let mut has_changed = false;
        let status = match &view {
            Ok(_) => String::new(),
            Err(error) => error.inner.message.clone(),
        };
        let fragments = view.into_iter().flat_map(|view| view.fragments);
        let live = fragments.filter(|fragment| fragment.is_live);
        let live = live.map(|fragment| (fragment.id, fragment.html.as_str().to_owned()));
        // An error of the store is shown next to the data of before.
        for (id, html) in [("status", status)].into_iter().chain(live) {
            let event = || {
                let data = json!({ "id": id, "html": html });
                Bytes::from(format!("event: fragment\ndata: {data}\n\n"))
            };
            match self.all.iter_mut().find(|(known, _, _)| *known == id) {
                Some((_, before, _)) if *before == html => continue,
                Some(known) => *known = (id, html.clone(), (self.renderings, event())),
                None => self
                    .all
                    .push((id, html.clone(), (self.renderings, event()))),
            }
            has_changed = true;
        }
        let events = || self.all.iter().map(|(_, _, event)| event.clone()).collect();
        has_changed.then(|| Arc::new(events()))
    }
}

/// Streams the changes of a page.
pub(super) fn stream(request: PageRequest) -> HandlerResult {
    let token_permit = request.caller.limiter.open_stream()?;
    let state = Arc::clone(&request.state);
    let permit = Arc::clone(&state.live.streams).try_acquire_owned();
    let permit = permit.map_err(|_| {
        let why = "too many live pages are open";
        HttpError::new(
            Code::Overloaded,
            why,
            "close some, or reload the page by hand",
        )
    })?;
    let viewer = Viewer {
        frames: state.live.watch(&request),
        state,
        request,
        seen: 0,
        events: VecDeque::from([Bytes::from_static(b"retry: 2000\n\n")]),
        has_ended: false,
        _permits: (token_permit, permit),
    };
    let chunks = stream::unfold(viewer, |mut viewer| async {
        let chunk = viewer.next().await?;
        Some((Ok::<_, Infallible>(chunk), viewer))
    });
    Ok(text("text/event-stream", Body::from_stream(chunks)))
}

/// A browser that watches a page.
struct Viewer {
    state: Arc<AppState>,
    request: PageRequest,
    frames: watch::Receiver<Frame>,
    /// The latest rendering that was sent.
    seen: u64,
    events: VecDeque<Bytes>,
    has_ended: bool,
    _permits: (OwnedSemaphorePermit, OwnedSemaphorePermit),
}

impl Viewer {
    /// Returns the next event, or `None` when the session has ended or the server stops.
    async fn next(&mut self) -> Option<Bytes> {
        loop {
            if let Some(event) = self.events.pop_front() {
                return Some(event);
            }
            if self.has_ended {
                return None;
            }
            let session = self.request.caller.session();
            if session.is_some_and(|session| !self.state.sessions.is_open(session)) {
                self.has_ended = true;
                return Some(Bytes::from_static(b"event: signed_out\ndata: {}\n\n"));
            }
            let changed = timeout(self.state.timeouts.keep_alive, self.frames.changed());
            tokio::select! {
                changed = changed => match changed {
                    Ok(Ok(())) => self.take_events(),
                    // The rendering has ended, which happens only when the server stops.
                    Ok(Err(_)) => return None,
                    // A comment keeps the connection alive and detects clients that are gone.
                    Err(_) => return Some(Bytes::from_static(b": still here\n\n")),
                },
                () = self.state.stopping.cancelled() => return None,
            }
        }
    }

    fn take_events(&mut self) {
        let frame = Arc::clone(&self.frames.borrow_and_update());
        let seen = self.seen;
        for (number, event) in frame.iter().filter(|(number, _)| *number > seen) {
            self.events.push_back(event.clone());
            self.seen = self.seen.max(*number);
        }
    }
}
