//! Listens to the notifications of the store once, and buffers the last ones for all streams.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use serde_json::json;
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, timeout_at};
use tokio_util::sync::CancellationToken;
use windlass_core::store::Notification;
use windlass_core::{QueueName, Store};

/// How many events are buffered.
const EVENTS_MAX: usize = 4096;

/// How often to check for new queues.
const QUEUE_POLL_INTERVAL: Duration = Duration::from_secs(1);

/// A notification and its number.
#[derive(Debug, Clone)]
pub(super) struct Event {
    number: u64,
    notification: Notification,
}

impl Event {
    /// Returns the queue of the event, or `None` if it concerns all queues.
    pub(super) fn queue(&self) -> Option<&QueueName> {
        self.notification.queue()
    }

    /// Formats the event for the stream.
    pub(super) fn text(&self, boot: &str) -> Bytes {
        let (name, data) = match &self.notification {
            Notification::Work(queue) => ("work", json!({ "queue": queue.as_str() })),
            Notification::Cancel(queue, id) => (
                "cancel",
                json!({ "queue": queue.as_str(), "id": id.as_str() }),
            ),
            Notification::Event(queue, id, state) => (
                "job",
                json!({ "queue": queue.as_str(), "id": id.as_str(), "state": state.as_str() }),
            ),
            _ => ("resync", json!({})),
        };
        let number = self.number;
        Bytes::from(format!(
            "id: {boot}-{number}\nevent: {name}\ndata: {data}\n\n"
        ))
    }
}

/// The position of a stream: the number of its next event.
#[derive(Debug)]
pub(crate) struct EventCursor {
    next: u64,
    /// Events may have been missed, and no `resync` was sent yet.
    needs_resync: bool,
}

/// Distributes events to all streams.
#[derive(Debug)]
pub(crate) struct Hub {
    shared: Arc<Shared>,
    store: Arc<dyn Store>,
    streams: Arc<Semaphore>,
    listener: Arc<Mutex<Listener>>,
}

/// The listener, which runs only while there are streams: a store works more for a watched queue.
#[derive(Debug, Default)]
struct Listener {
    streams: usize,
    /// Cancelled when the last stream ends.
    stop: CancellationToken,
}

/// An open stream. The last one that is dropped stops the listener.
#[derive(Debug)]
pub(super) struct StreamPermit {
    listener: Arc<Mutex<Listener>>,
    _permit: OwnedSemaphorePermit,
}

impl Drop for StreamPermit {
    fn drop(&mut self) {
        let mut listener = self.listener.lock().unwrap_or_else(PoisonError::into_inner);
        listener.streams -= 1;
        if listener.streams == 0 {
            listener.stop.cancel();
        }
    }
}

#[derive(Debug)]
struct Shared {
    /// Random per server start: event ids of an earlier run are not valid.
    boot: String,
    buffer: Mutex<EventBuffer>,
    added: Notify,
}

#[derive(Debug, Default)]
struct EventBuffer {
    next: u64,
    events: VecDeque<Event>,
}

impl Shared {
    fn add(&self, notification: Notification) {
        let mut buffer = self.buffer.lock().unwrap_or_else(PoisonError::into_inner);
        let number = buffer.next;
        buffer.next += 1;
        if buffer.events.len() == EVENTS_MAX {
            buffer.events.pop_front();
        }
        buffer.events.push_back(Event {
            number,
            notification,
        });
        drop(buffer);
        self.added.notify_waiters();
    }

    /// Returns the next event of a stream, if there is one.
    fn next_event(&self, cursor: &mut EventCursor) -> Option<Event> {
        let buffer = self.buffer.lock().unwrap_or_else(PoisonError::into_inner);
        let first = buffer.next - buffer.events.len() as u64;
        if cursor.next < first {
            // The stream was too slow, or disconnected for too long.
            cursor.next = first;
            cursor.needs_resync = true;
        }
        if cursor.needs_resync {
            cursor.needs_resync = false;
            let number = cursor.next.saturating_sub(1);
            let notification = Notification::Resync;
            return Some(Event {
                number,
                notification,
            });
        }
        let at = usize::try_from(cursor.next - first).ok()?;
        let event = buffer.events.get(at)?.clone();
        cursor.next += 1;
        Some(event)
    }
}

impl Hub {
    pub(crate) fn new(store: Arc<dyn Store>, streams_max: usize) -> Self {
        let shared = Shared {
            boot: format!("{:012x}", fastrand::u64(..1 << 48)),
            buffer: Mutex::default(),
            added: Notify::new(),
        };
        // Numbers start at 1, so that there is a number before the first event.
        shared
            .buffer
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .next = 1;
        Self {
            shared: Arc::new(shared),
            store,
            streams: Arc::new(Semaphore::new(streams_max.min(Semaphore::MAX_PERMITS))),
            listener: Arc::default(),
        }
    }

    pub(super) fn boot(&self) -> &str {
        &self.shared.boot
    }

    /// Reserves a stream. The first one starts the listener.
    pub(super) fn open_stream(&self) -> Option<StreamPermit> {
        let permit = Arc::clone(&self.streams).try_acquire_owned().ok()?;
        let mut listener = self.listener.lock().unwrap_or_else(PoisonError::into_inner);
        listener.streams += 1;
        if listener.streams == 1 {
            listener.stop = CancellationToken::new();
            let (store, shared) = (Arc::clone(&self.store), Arc::clone(&self.shared));
            tokio::spawn(listen(store, shared, listener.stop.clone()));
        }
        Some(StreamPermit {
            listener: Arc::clone(&self.listener),
            _permit: permit,
        })
    }

    /// Returns the start position of a stream: after the last event it received, or now.
    pub(super) fn cursor(&self, last: Option<&str>) -> EventCursor {
        let buffer = self
            .shared
            .buffer
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let Some(last) = last else {
            let next = buffer.next;
            return EventCursor {
                next,
                needs_resync: false,
            };
        };
        let number = last
            .rsplit_once('-')
            .filter(|(boot, _)| *boot == self.shared.boot)
            .and_then(|(_, number)| number.parse::<u64>().ok())
            .filter(|number| *number < buffer.next);
        match number {
            Some(number) => EventCursor {
                next: number + 1,
                needs_resync: false,
            },
            None => EventCursor {
                next: buffer.next,
                needs_resync: true,
            },
        }
    }

    /// Waits for the next event of a stream.
    pub(super) async fn next(&self, cursor: &mut EventCursor) -> Event {
        loop {
            let added = self.shared.added.notified();
            tokio::pin!(added);
            // Registered before the check, so that no event is missed.
            added.as_mut().enable();
            if let Some(event) = self.shared.next_event(cursor) {
                return event;
            }
            added.await;
        }
    }
}

/// Listens to all queues until `stop` is cancelled.
async fn listen(store: Arc<dyn Store>, shared: Arc<Shared>, stop: CancellationToken) {
    let mut queues = Vec::new();
    let mut watch = None;
    while !stop.is_cancelled() {
        let until = Instant::now() + QUEUE_POLL_INTERVAL;
        match store.queues().await {
            Ok(current) if watch.is_none() || current != queues => {
                watch = store.watch(&current).await.ok();
                queues = current;
                // Changes before the watch started produced no notification.
                shared.add(Notification::Resync);
            }
            Ok(_) => {}
            // Events are missed until the store is back; a `resync` follows.
            Err(_) => watch = None,
        }
        let listening = async {
            if let Some(watch) = &mut watch {
                while let Ok(Some(notification)) = timeout_at(until, watch.next()).await {
                    shared.add(notification);
                }
            }
            tokio::time::sleep_until(until).await;
        };
        tokio::select! {
            () = listening => {}
            () = stop.cancelled() => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use windlass_core::SystemClock;
    use windlass_store_memory::MemoryStore;

    use super::*;

    fn hub() -> Hub {
        Hub::new(Arc::new(MemoryStore::new(Arc::new(SystemClock))), 1)
    }

    fn work(name: &str) -> Notification {
        Notification::Work(QueueName::new(name).unwrap())
    }

    #[tokio::test]
    async fn a_client_that_reconnects_gets_the_events_it_missed() {
        let hub = hub();
        for name in ["a", "b", "c"] {
            hub.shared.add(work(name));
        }
        let mut cursor = hub.cursor(Some(&format!("{}-1", hub.boot())));

        assert_eq!(hub.next(&mut cursor).await.notification, work("b"));
        assert_eq!(hub.next(&mut cursor).await.notification, work("c"));
    }

    #[tokio::test(start_paused = true)]
    async fn the_watch_ends_with_its_last_reader_and_starts_again_with_the_next() {
        let store: Arc<dyn Store> = Arc::new(MemoryStore::new(Arc::new(SystemClock)));
        let hub = Hub::new(Arc::clone(&store), 2);
        // The listener holds the store for as long as it watches.
        let idle = Arc::strong_count(&store);
        for _ in 0..2 {
            let mut cursor = hub.cursor(None);
            let (one, two) = (hub.open_stream().unwrap(), hub.open_stream().unwrap());
            assert_eq!(
                hub.next(&mut cursor).await.notification,
                Notification::Resync
            );
            drop(one);
            tokio::time::sleep(QUEUE_POLL_INTERVAL * 3).await;
            assert_eq!(Arc::strong_count(&store), idle + 1, "one reader is left");
            drop(two);
            tokio::time::sleep(QUEUE_POLL_INTERVAL * 3).await;
            assert_eq!(Arc::strong_count(&store), idle, "no reader is left");
        }
    }

    #[tokio::test]
    async fn a_gap_is_reported_as_resync() {
        let hub = hub();
        hub.shared.add(work("a"));
        for unknown in ["ffff-1", "nonsense", "", &format!("{}-99", hub.boot())] {
            let mut cursor = hub.cursor(Some(unknown));
            assert_eq!(
                hub.next(&mut cursor).await.notification,
                Notification::Resync,
                "{unknown}"
            );
        }

        let mut slow = hub.cursor(None);
        for _ in 0..=EVENTS_MAX {
            hub.shared.add(work("b"));
        }
        assert_eq!(hub.next(&mut slow).await.notification, Notification::Resync);
        assert_eq!(hub.next(&mut slow).await.notification, work("b"));
    }
}
