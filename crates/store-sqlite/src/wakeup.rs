//! Wakes idle processes: after a commit, each listening process receives a datagram with the
//! notifications.
//!
//! A listener is a socket in a folder next to the store. A lost datagram only delays a waiter until
//! its next poll. A socket whose process has died is removed by the next sender. A folder that another
//! user planted or may write to is not used.

use std::collections::BTreeSet;
use std::io;
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, SystemTime};

use windlass_core::notification::{Notification, Notifier};
use windlass_core::store::Watch;
use windlass_core::{JobId, JobState, QueueName, Result};

use crate::owner::Trusted;
use crate::socket_folder::SocketFolder;

/// Notifications per datagram. Beyond that `EVENTS_LOST` replaces the events, then `resync` everything.
const NOTIFICATIONS_MAX: usize = 64;

/// The line of a datagram from which events were left out. Cancellations are complete, so workers need not
/// ask for them whenever another process completes many jobs.
const EVENTS_LOST: &str = "events";

/// Resolution of a folder's modification time: changes closer together may look like one.
const MTIME_RESOLUTION: Duration = Duration::from_secs(1);

/// Ends a listener; only its own process sends this.
const STOP: &[u8] = b"stop";

/// Sends notifications to other processes, and receives them once something in this process watches.
#[derive(Debug)]
pub(crate) struct Wakeups {
    folder: PathBuf,
    trusted: Trusted,
    notifiers: Notifiers,
    listener: Mutex<Option<Listener>>,
    /// Without a socket, other processes find work by polling.
    sender: Option<UnixDatagram>,
    peers: Mutex<Peers>,
}

/// The sockets found in the folder.
#[derive(Debug, Default)]
struct Peers {
    seen_at: Option<SystemTime>,
    names: BTreeSet<String>,
}

impl Wakeups {
    /// Rejects a folder that another user planted.
    pub(crate) fn new(folder: PathBuf, trusted: Trusted) -> Result<Self> {
        SocketFolder::open(&folder, trusted)?;
        // A slow listener loses notifications; the writer never blocks on it.
        let is_set = |socket: &UnixDatagram| socket.set_nonblocking(true).is_ok();
        Ok(Self {
            folder,
            trusted,
            notifiers: Notifiers::default(),
            listener: Mutex::default(),
            sender: UnixDatagram::unbound().ok().filter(is_set),
            peers: Mutex::default(),
        })
    }

    /// Sends notifications to watchers in this process and to other processes.
    pub(crate) fn send(&self, notifications: Vec<Notification>) {
        if notifications.is_empty() {
            return;
        }
        self.send_to_peers(&notifications);
        self.notifiers.send(notifications);
    }

    /// Watches queues. The first call starts this process's listener.
    pub(crate) fn watch(&self, queues: &[QueueName]) -> Box<dyn Watch> {
        self.listen();
        self.notifiers.all.watch(queues)
    }

    /// Like `watch`, but only for cancellations.
    pub(crate) fn watch_cancels(&self, queues: &[QueueName]) -> Box<dyn Watch> {
        self.listen();
        self.notifiers.cancels.watch(queues)
    }

    fn listen(&self) {
        let mut listener = self.listener.lock().unwrap_or_else(PoisonError::into_inner);
        if listener.is_none() {
            // Without a listener this process falls back to polling.
            *listener = Listener::start(&self.folder, self.trusted, self.notifiers.clone());
        }
    }

    fn send_to_peers(&self, notifications: &[Notification]) {
        let Some(sender) = &self.sender else { return };
        let Ok(Some(folder)) = SocketFolder::open(&self.folder, self.trusted) else {
            return;
        };
        let mut peers = self.peers.lock().unwrap_or_else(PoisonError::into_inner);
        peers.refresh(&folder);
        let own = self.listener.lock().unwrap_or_else(PoisonError::into_inner);
        let own = own.as_ref().map(|listener| &listener.name);
        if peers.names.iter().all(|name| Some(name) == own) {
            return;
        }
        let text = encode(notifications);
        peers
            .names
            .retain(|name| Some(name) == own || send_to(sender, &folder, name, &text));
    }
}

/// The watchers in this process. Those of cancellations are separate: every worker has one, and it must not
/// wake up for every job.
#[derive(Debug, Clone, Default)]
struct Notifiers {
    all: Notifier,
    cancels: Notifier,
}

impl Notifiers {
    fn send(&self, notifications: Vec<Notification>) {
        for notification in notifications {
            if matches!(
                notification,
                Notification::Cancel(..) | Notification::Resync
            ) {
                self.cancels.send(notification.clone());
            }
            self.all.send(notification);
        }
    }

    /// Sends what another process sent.
    fn receive(&self, text: &str) {
        let (lost, lines): (Vec<_>, Vec<_>) = text.lines().partition(|line| *line == EVENTS_LOST);
        self.send(lines.into_iter().map(decode).collect());
        if !lost.is_empty() {
            self.all.send(Notification::Resync);
        }
    }
}

impl Peers {
    /// Rereads the folder if it changed, or changed so recently that a second change could share
    /// its modification time.
    fn refresh(&mut self, folder: &SocketFolder) {
        let changed_at = folder.modified();
        let is_recent =
            changed_at.is_none_or(|at| at.elapsed().is_ok_and(|age| age < MTIME_RESOLUTION));
        if is_recent || changed_at != self.seen_at {
            self.seen_at = changed_at;
            self.names = folder.names().into_iter().collect();
        }
    }
}

/// Sends to one socket. Returns false if no process reads it any more.
fn send_to(sender: &UnixDatagram, folder: &SocketFolder, name: &str, text: &str) -> bool {
    match sender.send_to(text.as_bytes(), folder.address(name)) {
        Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
            // Its process died without cleaning up.
            folder.remove(name);
            false
        }
        Err(error) => error.kind() != io::ErrorKind::NotFound,
        Ok(_) => true,
    }
}

fn encode(notifications: &[Notification]) -> String {
    let is_event = |notification: &Notification| matches!(notification, Notification::Event(..));
    let loses_events = notifications.len() > NOTIFICATIONS_MAX;
    let sent = notifications
        .iter()
        .filter(|it| !(loses_events && is_event(it)));
    if sent.clone().count() > NOTIFICATIONS_MAX {
        return "resync\n".to_owned();
    }
    let lost = loses_events.then(|| format!("{EVENTS_LOST}\n"));
    let line = |notification: &Notification| match notification {
        Notification::Work(queue) => format!("work\t{queue}\n"),
        Notification::Cancel(queue, id) => format!("cancel\t{queue}\t{id}\n"),
        Notification::Event(queue, id, state) => format!("event\t{queue}\t{id}\t{state}\n"),
        _ => "resync\n".to_owned(),
    };
    sent.map(line).chain(lost).collect()
}

/// Decodes a line of a datagram. An unknown one becomes `Resync`, since it may have meant anything.
fn decode(line: &str) -> Notification {
    let known = || -> Option<Notification> {
        let mut fields = line.split('\t');
        let (name, queue) = (fields.next()?, QueueName::new(fields.next()?).ok()?);
        let mut id = || JobId::new(fields.next()?).ok();
        match name {
            "work" => Some(Notification::Work(queue)),
            "cancel" => Some(Notification::Cancel(queue, id()?)),
            "event" => {
                let id = id()?;
                let state = JobState::from_text(fields.next()?)?;
                Some(Notification::Event(queue, id, state))
            }
            _ => None,
        }
    };
    known().unwrap_or(Notification::Resync)
}

/// Receives the notifications of other processes.
#[derive(Debug)]
struct Listener {
    folder: SocketFolder,
    name: String,
    thread: Option<JoinHandle<()>>,
}

impl Listener {
    /// Starts listening; `None` if that is not possible.
    fn start(folder: &Path, trusted: Trusted, notifiers: Notifiers) -> Option<Self> {
        let folder = SocketFolder::create(folder, trusted).ok()?;
        let name = SocketFolder::new_name();
        let socket = UnixDatagram::bind(folder.address(&name)).ok()?;
        let thread = thread::Builder::new()
            .name("windlass-wakeup".to_owned())
            .spawn(move || listen(&socket, &notifiers))
            .ok()?;
        Some(Self {
            folder,
            name,
            thread: Some(thread),
        })
    }
}

fn listen(socket: &UnixDatagram, notifiers: &Notifiers) {
    let mut buffer = vec![0; 64 * 1024];
    while let Ok(length) = socket.recv(&mut buffer) {
        let bytes = &buffer[..length];
        if bytes == STOP {
            return;
        }
        notifiers.receive(&String::from_utf8_lossy(bytes));
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        let address = self.folder.address(&self.name);
        let stopped = UnixDatagram::unbound().and_then(|socket| socket.send_to(STOP, address));
        // A socket left behind is removed by the next sender.
        self.folder.remove(&self.name);
        if stopped.is_ok()
            && let Some(thread) = self.thread.take()
        {
            // A panic of the thread has already been printed.
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notifications_are_decoded_as_encoded() {
        let (queue, id) = names();
        let notifications = vec![
            Notification::Work(queue.clone()),
            Notification::Cancel(queue.clone(), id.clone()),
            Notification::Event(queue, id, JobState::Dead),
        ];
        let decoded: Vec<_> = encode(&notifications).lines().map(decode).collect();
        assert_eq!(decoded, notifications);
        assert_eq!(decode("nonsense\twith\ttabs"), Notification::Resync);
    }

    #[tokio::test]
    async fn a_watch_for_cancellations_gets_those_among_many_events_and_nothing_else() {
        let (queue, id) = names();
        let cancel = Notification::Cancel(queue.clone(), id.clone());
        let event = Notification::Event(queue.clone(), id, JobState::Running);
        let mut notifications = vec![event; NOTIFICATIONS_MAX];
        notifications.push(cancel.clone());
        let notifiers = Notifiers::default();
        let mut cancels = notifiers.cancels.watch(std::slice::from_ref(&queue));
        let mut all = notifiers.all.watch(&[queue]);

        notifiers.receive(&encode(&notifications));
        notifiers.receive("resync");

        assert_eq!(cancels.next().await, Some(cancel.clone()));
        assert_eq!(cancels.next().await, Some(Notification::Resync));
        assert_eq!(all.next().await, Some(cancel));
        assert_eq!(all.next().await, Some(Notification::Resync));
    }

    fn names() -> (QueueName, JobId) {
        (QueueName::new("mail").unwrap(), JobId::new("a b").unwrap())
    }
}
