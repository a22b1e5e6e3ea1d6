//! Wakes idle processes: after a commit, each listening process receives a datagram with the
//! notifications.
//!
//! A listener is a socket in a folder next to the store. A lost datagram only delays a waiter until
//! its next poll. A socket whose process has died is removed by the next sender.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use windlass_core::notification::{Notification, Notifier};
use windlass_core::{JobId, JobState, QueueName, Watch};

/// Notifications per datagram; beyond that a single `resync` is sent.
const NOTIFICATIONS_MAX: usize = 64;

/// Resolution of a folder's modification time: changes closer together may look like one.
const MTIME_RESOLUTION: Duration = Duration::from_secs(1);

/// Sends notifications to other processes, and receives them once something in this process watches.
#[derive(Debug)]
pub(crate) struct Wakeups {
    folder: PathBuf,
    notifier: Notifier,
    listener: Mutex<Option<imp::Listener>>,
    sender: Option<imp::Sender>,
    peers: Mutex<Peers>,
}

/// The sockets found in the folder.
#[derive(Debug, Default)]
struct Peers {
    seen_at: Option<SystemTime>,
    sockets: BTreeSet<PathBuf>,
}

impl Wakeups {
    pub(crate) fn new(folder: PathBuf) -> Self {
        Self {
            folder,
            notifier: Notifier::default(),
            listener: Mutex::default(),
            sender: imp::Sender::new(),
            peers: Mutex::default(),
        }
    }

    /// Sends notifications to watchers in this process and to other processes.
    pub(crate) fn send(&self, notifications: Vec<Notification>) {
        if notifications.is_empty() {
            return;
        }
        self.send_to_peers(&notifications);
        for notification in notifications {
            self.notifier.send(notification);
        }
    }

    /// Watches queues. The first call starts this process's listener.
    pub(crate) fn watch(&self, queues: &[QueueName]) -> Box<dyn Watch> {
        let mut listener = self.listener.lock().unwrap_or_else(PoisonError::into_inner);
        if listener.is_none() {
            // Without a listener this process falls back to polling.
            *listener = imp::Listener::start(&self.folder, self.notifier.clone()).ok();
        }
        self.notifier.watch(queues)
    }

    fn send_to_peers(&self, notifications: &[Notification]) {
        let Some(sender) = &self.sender else { return };
        let mut peers = self.peers.lock().unwrap_or_else(PoisonError::into_inner);
        peers.refresh(&self.folder);
        if peers.sockets.is_empty() {
            return;
        }
        let own = self.listener.lock().unwrap_or_else(PoisonError::into_inner);
        let own = own.as_ref().map(imp::Listener::path);
        let text = encode(notifications);
        peers
            .sockets
            .retain(|socket| Some(socket.as_path()) == own || sender.send(socket, &text));
    }
}

impl Peers {
    /// Rereads the folder if it changed, or changed so recently that a second change could share
    /// its modification time.
    fn refresh(&mut self, folder: &Path) {
        let changed_at = std::fs::metadata(folder)
            .and_then(|folder| folder.modified())
            .ok();
        let is_recent =
            changed_at.is_none_or(|at| at.elapsed().is_ok_and(|age| age < MTIME_RESOLUTION));
        if is_recent || changed_at != self.seen_at {
            self.seen_at = changed_at;
            let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
            self.sockets = entries.map(|entry| entry.path()).collect();
        }
    }
}

fn encode(notifications: &[Notification]) -> String {
    if notifications.len() > NOTIFICATIONS_MAX {
        return "resync\n".to_owned();
    }
    let line = |notification: &Notification| match notification {
        Notification::Work(queue) => format!("work\t{queue}\n"),
        Notification::Cancel(queue, id) => format!("cancel\t{queue}\t{id}\n"),
        Notification::Event(queue, id, state) => format!("event\t{queue}\t{id}\t{state}\n"),
        _ => "resync\n".to_owned(),
    };
    notifications.iter().map(line).collect()
}

/// Decodes a datagram. An unknown line becomes `Resync`, since it may have meant anything.
fn decode(text: &str) -> Vec<Notification> {
    let line = |line: &str| -> Option<Notification> {
        let mut fields = line.split('\t');
        let name = fields.next()?;
        let queue = QueueName::new(fields.next()?).ok()?;
        match name {
            "work" => Some(Notification::Work(queue)),
            "cancel" => Some(Notification::Cancel(
                queue,
                JobId::new(fields.next()?).ok()?,
            )),
            "event" => {
                let id = JobId::new(fields.next()?).ok()?;
                Some(Notification::Event(
                    queue,
                    id,
                    JobState::from_text(fields.next()?)?,
                ))
            }
            _ => None,
        }
    };
    text.lines()
        .map(|text| line(text).unwrap_or(Notification::Resync))
        .collect()
}

#[cfg(unix)]
mod imp {
    //! Unix datagram sockets.

    use std::fs::{DirBuilder, File};
    use std::io;
    use std::os::fd::AsRawFd;
    use std::os::unix::fs::DirBuilderExt;
    use std::os::unix::net::UnixDatagram;
    use std::path::{Path, PathBuf};
    use std::thread::{self, JoinHandle};

    use windlass_core::notification::Notifier;

    /// Maximum path length of a socket address, with a margin.
    const PATH_BYTES_MAX: usize = 100;

    #[derive(Debug)]
    pub(super) struct Sender(UnixDatagram);

    impl Sender {
        pub(super) fn new() -> Option<Self> {
            let socket = UnixDatagram::unbound().ok()?;
            // A slow listener loses notifications; the writer never blocks on it.
            socket.set_nonblocking(true).ok()?;
            Some(Self(socket))
        }

        /// Sends to one socket. Returns false if no process reads it any more.
        pub(super) fn send(&self, socket: &Path, text: &str) -> bool {
            let sent = with_short_path(socket, |path| self.0.send_to(text.as_bytes(), path));
            match sent {
                Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
                    // Its process died without cleaning up. Removing it twice is harmless.
                    let _ = std::fs::remove_file(socket);
                    false
                }
                Err(error) => error.kind() != io::ErrorKind::NotFound,
                Ok(_) => true,
            }
        }
    }

    #[derive(Debug)]
    pub(super) struct Listener {
        path: PathBuf,
        thread: Option<JoinHandle<()>>,
    }

    impl Listener {
        pub(super) fn start(folder: &Path, notifier: Notifier) -> io::Result<Self> {
            match DirBuilder::new().mode(0o700).create(folder) {
                Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
                _ => {}
            }
            let path = folder.join(format!("{:016x}", fastrand::u64(..)));
            let socket = with_short_path(&path, UnixDatagram::bind)?;
            let thread = thread::Builder::new()
                .name("windlass-wakeup".to_owned())
                .spawn(move || listen(&socket, &notifier))?;
            Ok(Self {
                path,
                thread: Some(thread),
            })
        }

        pub(super) fn path(&self) -> &Path {
            &self.path
        }
    }

    /// Ends a listener; only its own process sends this.
    const STOP: &[u8] = b"stop";

    fn listen(socket: &UnixDatagram, notifier: &Notifier) {
        let mut buffer = vec![0; 64 * 1024];
        while let Ok(length) = socket.recv(&mut buffer) {
            let bytes = &buffer[..length];
            if bytes == STOP {
                return;
            }
            for notification in super::decode(&String::from_utf8_lossy(bytes)) {
                notifier.send(notification);
            }
        }
    }

    impl Drop for Listener {
        fn drop(&mut self) {
            let stopped = UnixDatagram::unbound()
                .and_then(|socket| with_short_path(&self.path, |path| socket.send_to(STOP, path)));
            // A socket left behind is removed by the next sender.
            let _ = std::fs::remove_file(&self.path);
            if stopped.is_ok()
                && let Some(thread) = self.thread.take()
            {
                // A panic of the thread has already been printed.
                let _ = thread.join();
            }
        }
    }

    /// Calls with a path short enough for a socket address, via `/proc/self/fd` if necessary.
    fn with_short_path<T>(
        path: &Path,
        call: impl FnOnce(PathBuf) -> io::Result<T>,
    ) -> io::Result<T> {
        match (path.parent(), path.file_name()) {
            (Some(folder), Some(name)) if path.as_os_str().len() > PATH_BYTES_MAX => {
                let folder = File::open(folder)?;
                call(PathBuf::from(format!("/proc/self/fd/{}", folder.as_raw_fd())).join(name))
            }
            _ => call(path.to_owned()),
        }
    }
}

#[cfg(not(unix))]
mod imp {
    //! Not supported here: other processes find work by polling.

    use std::io;
    use std::path::Path;

    use windlass_core::notification::Notifier;

    #[derive(Debug)]
    pub(super) struct Sender;

    impl Sender {
        pub(super) fn new() -> Option<Self> {
            None
        }

        pub(super) fn send(&self, _: &Path, _: &str) -> bool {
            false
        }
    }

    #[derive(Debug)]
    pub(super) struct Listener;

    impl Listener {
        pub(super) fn start(_: &Path, _: Notifier) -> io::Result<Self> {
            Err(io::ErrorKind::Unsupported.into())
        }

        pub(super) fn path(&self) -> &Path {
            Path::new("")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notifications_are_decoded_as_encoded() {
        let queue = QueueName::new("mail").unwrap();
        let id = JobId::new("a b").unwrap();
        let notifications = vec![
            Notification::Work(queue.clone()),
            Notification::Cancel(queue.clone(), id.clone()),
            Notification::Event(queue, id, JobState::Dead),
        ];
        assert_eq!(decode(&encode(&notifications)), notifications);
        assert_eq!(decode("nonsense\twith\ttabs"), [Notification::Resync]);
    }
}
