//! The one listener to the store's hints, and the last of them for those who come back.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use bytes::Bytes;
use serde_json::json;
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, timeout_at};
use windlass_core::{Notification, QueueName, Store};

/// How many events are remembered.
const KEPT_MAX: usize = 4096;

/// How often new queues are looked for.
const LOOK: Duration = Duration::from_secs(1);

/// A hint and its number.
#[derive(Debug, Clone)]
pub(super) struct Event {
    number: u64,
    hint: Notification,
}

impl Event {
    /// The queue it speaks of; nothing when it speaks of all.
    pub(super) fn queue(&self) -> Option<&QueueName> {
        self.hint.queue()
    }

    /// The event as it is sent.
    pub(super) fn text(&self, boot: &str) -> Bytes {
        let (name, data) = match &self.hint {
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

/// Where a reader stands: the number of the next event it wants.
#[derive(Debug)]
pub(crate) struct Place {
    next: u64,
    /// It may have missed something, and was not told yet.
    is_behind: bool,
}

/// Passes events on to all readers.
#[derive(Debug)]
pub(crate) struct Hub {
    shared: Arc<Shared>,
    store: Arc<dyn Store>,
    seats: Arc<Semaphore>,
    is_listening: AtomicBool,
}

#[derive(Debug)]
struct Shared {
    /// Drawn at the start: ids of another life mean nothing here.
    boot: String,
    kept: Mutex<Kept>,
    news: Notify,
}

#[derive(Debug, Default)]
struct Kept {
    next: u64,
    events: VecDeque<Event>,
}

impl Shared {
    fn add(&self, hint: Notification) {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let number = kept.next;
        kept.next += 1;
        if kept.events.len() == KEPT_MAX {
            kept.events.pop_front();
        }
        kept.events.push_back(Event { number, hint });
        drop(kept);
        self.news.notify_waiters();
    }

    /// The event a reader wants, if it is there by now.
    fn look(&self, place: &mut Place) -> Option<Event> {
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let first = kept.next - kept.events.len() as u64;
        if place.next < first {
            // It was too slow, or away for too long.
            place.next = first;
            place.is_behind = true;
        }
        if place.is_behind {
            place.is_behind = false;
            let number = place.next.saturating_sub(1);
            let hint = Notification::Resync;
            return Some(Event { number, hint });
        }
        let at = usize::try_from(place.next - first).ok()?;
        let event = kept.events.get(at)?.clone();
        place.next += 1;
        Some(event)
    }
}

impl Hub {
    pub(crate) fn new(store: Arc<dyn Store>, streams_max: usize) -> Self {
        let shared = Shared {
            boot: format!("{:012x}", fastrand::u64(..1 << 48)),
            kept: Mutex::default(),
            news: Notify::new(),
        };
        // Numbers begin at 1, so that there is one before the first.
        shared
            .kept
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .next = 1;
        Self {
            shared: Arc::new(shared),
            store,
            seats: Arc::new(Semaphore::new(streams_max.min(Semaphore::MAX_PERMITS))),
            is_listening: AtomicBool::new(false),
        }
    }

    pub(super) fn boot(&self) -> &str {
        &self.shared.boot
    }

    /// Room for one more stream. The first one starts the listener.
    pub(super) fn seat(&self) -> Option<OwnedSemaphorePermit> {
        let seat = Arc::clone(&self.seats).try_acquire_owned().ok()?;
        if !self.is_listening.swap(true, Ordering::AcqRel) {
            let shared = Arc::downgrade(&self.shared);
            tokio::spawn(listen(Arc::clone(&self.store), shared));
        }
        Some(seat)
    }

    /// Where a reader begins: after the event it saw last, or now.
    pub(super) fn place(&self, last: Option<&str>) -> Place {
        let kept = self
            .shared
            .kept
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let Some(last) = last else {
            let next = kept.next;
            return Place {
                next,
                is_behind: false,
            };
        };
        let number = last
            .rsplit_once('-')
            .filter(|(boot, _)| *boot == self.shared.boot)
            .and_then(|(_, number)| number.parse::<u64>().ok())
            .filter(|number| *number < kept.next);
        match number {
            Some(number) => Place {
                next: number + 1,
                is_behind: false,
            },
            None => Place {
                next: kept.next,
                is_behind: true,
            },
        }
    }

    /// The next event of a reader.
    pub(super) async fn next(&self, place: &mut Place) -> Event {
        loop {
            let news = self.shared.news.notified();
            tokio::pin!(news);
            // From here on no news is missed.
            news.as_mut().enable();
            if let Some(event) = self.shared.look(place) {
                return event;
            }
            news.await;
        }
    }
}

/// Listens to all queues for as long as the hub lives.
async fn listen(store: Arc<dyn Store>, shared: Weak<Shared>) {
    let mut queues = Vec::new();
    let mut watch = None;
    loop {
        let Ok(now) = store.queues().await else {
            // Whatever happens meanwhile is not seen.
            watch = None;
            queues.clear();
            tokio::time::sleep(LOOK).await;
            if shared.strong_count() == 0 {
                return;
            }
            continue;
        };
        if watch.is_none() || now != queues {
            watch = store.watch(&now).await.ok();
            queues = now;
            // What happened before the watch began gave no hint.
            let Some(shared) = shared.upgrade() else {
                return;
            };
            shared.add(Notification::Resync);
        }
        let until = Instant::now() + LOOK;
        let Some(watch) = &mut watch else {
            tokio::time::sleep_until(until).await;
            continue;
        };
        while let Ok(Some(hint)) = timeout_at(until, watch.next()).await {
            let Some(shared) = shared.upgrade() else {
                return;
            };
            shared.add(hint);
        }
        tokio::time::sleep_until(until).await;
        if shared.strong_count() == 0 {
            return;
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
    async fn a_reader_that_comes_back_gets_what_it_missed() {
        let hub = hub();
        for name in ["a", "b", "c"] {
            hub.shared.add(work(name));
        }
        let mut place = hub.place(Some(&format!("{}-1", hub.boot())));

        assert_eq!(hub.next(&mut place).await.hint, work("b"));
        assert_eq!(hub.next(&mut place).await.hint, work("c"));
    }

    #[tokio::test]
    async fn a_gap_is_told_as_resync() {
        let hub = hub();
        hub.shared.add(work("a"));
        for unknown in ["ffff-1", "nonsense", "", &format!("{}-99", hub.boot())] {
            let mut place = hub.place(Some(unknown));
            assert_eq!(
                hub.next(&mut place).await.hint,
                Notification::Resync,
                "{unknown}"
            );
        }

        let mut slow = hub.place(None);
        for _ in 0..=KEPT_MAX {
            hub.shared.add(work("b"));
        }
        assert_eq!(hub.next(&mut slow).await.hint, Notification::Resync);
        assert_eq!(hub.next(&mut slow).await.hint, work("b"));
    }
}
