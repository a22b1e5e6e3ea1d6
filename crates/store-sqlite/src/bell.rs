//! Wakes idle processes: after a commit, each listening process gets a datagram with the hints.
//!
//! A listener is a socket in a folder beside the store. A lost datagram loses a hint and no more;
//! a socket that nobody reads any more is removed by whoever finds out.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use windlass_core::notification::{Notification, Notifier};
use windlass_core::{JobId, JobState, QueueName, Watch};

/// Notifier one datagram carries; with more, listeners are told to look at everything.
const HINTS_MAX: usize = 64;

/// How long a folder's time may stand for more than one change.
const YOUNG: Duration = Duration::from_secs(1);

/// Rings other processes' bells, and listens to its own once somebody watches.
#[derive(Debug)]
pub(crate) struct Bell {
    folder: PathBuf,
    hints: Notifier,
    listener: Mutex<Option<imp::Listener>>,
    ringer: Option<imp::Ringer>,
    others: Mutex<Others>,
}

/// The sockets in the folder, as last seen.
#[derive(Debug, Default)]
struct Others {
    seen_at: Option<SystemTime>,
    sockets: BTreeSet<PathBuf>,
}

impl Bell {
    pub(crate) fn new(folder: PathBuf) -> Self {
        Self {
            folder,
            hints: Notifier::default(),
            listener: Mutex::default(),
            ringer: imp::Ringer::new(),
            others: Mutex::default(),
        }
    }

    /// Passes hints on, within the process and to the others.
    pub(crate) fn ring(&self, hints: Vec<Notification>) {
        if hints.is_empty() {
            return;
        }
        self.ring_others(&hints);
        for hint in hints {
            self.hints.send(hint);
        }
    }

    /// Listens for hints; the first listener hangs up this process's bell.
    pub(crate) fn watch(&self, queues: &[QueueName]) -> Box<dyn Watch> {
        let mut listener = self.listener.lock().unwrap_or_else(PoisonError::into_inner);
        if listener.is_none() {
            // Without a bell this process still works, at the speed of polling.
            *listener = imp::Listener::start(&self.folder, self.hints.clone()).ok();
        }
        self.hints.watch(queues)
    }

    fn ring_others(&self, hints: &[Notification]) {
        let Some(ringer) = &self.ringer else { return };
        let mut others = self.others.lock().unwrap_or_else(PoisonError::into_inner);
        others.look(&self.folder);
        if others.sockets.is_empty() {
            return;
        }
        let own = self.listener.lock().unwrap_or_else(PoisonError::into_inner);
        let own = own.as_ref().map(imp::Listener::path);
        let text = written(hints);
        others
            .sockets
            .retain(|socket| Some(socket.as_path()) == own || ringer.ring(socket, &text));
    }
}

impl Others {
    /// Reads the folder again when something came or went in it. A change so young that another
    /// may share its time is looked at again as well.
    fn look(&mut self, folder: &Path) {
        let changed_at = std::fs::metadata(folder)
            .and_then(|folder| folder.modified())
            .ok();
        let is_young = changed_at.is_none_or(|at| at.elapsed().is_ok_and(|age| age < YOUNG));
        if is_young || changed_at != self.seen_at {
            self.seen_at = changed_at;
            let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
            self.sockets = entries.map(|entry| entry.path()).collect();
        }
    }
}

fn written(hints: &[Notification]) -> String {
    if hints.len() > HINTS_MAX {
        return "resync\n".to_owned();
    }
    let line = |hint: &Notification| match hint {
        Notification::Work(queue) => format!("work\t{queue}\n"),
        Notification::Cancel(queue, id) => format!("cancel\t{queue}\t{id}\n"),
        Notification::Event(queue, id, state) => format!("event\t{queue}\t{id}\t{state}\n"),
        _ => "resync\n".to_owned(),
    };
    hints.iter().map(line).collect()
}

/// Reads hints back; what cannot be read may have been anything, so look at everything.
fn read(text: &str) -> Vec<Notification> {
    let line = |line: &str| -> Option<Notification> {
        let mut words = line.split('\t');
        let what = words.next()?;
        let queue = QueueName::new(words.next()?).ok()?;
        match what {
            "work" => Some(Notification::Work(queue)),
            "cancel" => Some(Notification::Cancel(queue, JobId::new(words.next()?).ok()?)),
            "event" => {
                let id = JobId::new(words.next()?).ok()?;
                Some(Notification::Event(
                    queue,
                    id,
                    JobState::from_text(words.next()?)?,
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
    //! Bells as Unix datagram sockets.

    use std::fs::{DirBuilder, File};
    use std::io;
    use std::os::fd::AsRawFd;
    use std::os::unix::fs::DirBuilderExt;
    use std::os::unix::net::UnixDatagram;
    use std::path::{Path, PathBuf};
    use std::thread::{self, JoinHandle};

    use windlass_core::notification::Notifier;

    /// The longest path a socket address takes, with room to spare.
    const PATH_BYTES_MAX: usize = 100;

    #[derive(Debug)]
    pub(super) struct Ringer(UnixDatagram);

    impl Ringer {
        pub(super) fn new() -> Option<Self> {
            let socket = UnixDatagram::unbound().ok()?;
            // A listener too slow to read loses hints; the writer never waits for it.
            socket.set_nonblocking(true).ok()?;
            Some(Self(socket))
        }

        /// Rings one bell; false when nobody is behind it any more.
        pub(super) fn ring(&self, socket: &Path, text: &str) -> bool {
            let sent = with_short_path(socket, |path| self.0.send_to(text.as_bytes(), path));
            match sent {
                Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
                    // Its process died without taking the bell down. Removing it twice is no harm.
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
        pub(super) fn start(folder: &Path, hints: Notifier) -> io::Result<Self> {
            match DirBuilder::new().mode(0o700).create(folder) {
                Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
                _ => {}
            }
            let path = folder.join(format!("{:016x}", fastrand::u64(..)));
            let socket = with_short_path(&path, UnixDatagram::bind)?;
            let thread = thread::Builder::new()
                .name("windlass-bell".to_owned())
                .spawn(move || listen(&socket, &hints))?;
            Ok(Self {
                path,
                thread: Some(thread),
            })
        }

        pub(super) fn path(&self) -> &Path {
            &self.path
        }
    }

    /// The end of a listener: a word only its own process sends.
    const STOP: &[u8] = b"stop";

    fn listen(socket: &UnixDatagram, hints: &Notifier) {
        let mut buffer = vec![0; 64 * 1024];
        while let Ok(length) = socket.recv(&mut buffer) {
            let bytes = &buffer[..length];
            if bytes == STOP {
                return;
            }
            for hint in super::read(&String::from_utf8_lossy(bytes)) {
                hints.send(hint);
            }
        }
    }

    impl Drop for Listener {
        fn drop(&mut self) {
            let stopped = UnixDatagram::unbound()
                .and_then(|socket| with_short_path(&self.path, |path| socket.send_to(STOP, path)));
            // A bell left behind is removed by whoever rings it next.
            let _ = std::fs::remove_file(&self.path);
            if stopped.is_ok()
                && let Some(thread) = self.thread.take()
            {
                // A panic of the thread was printed when it happened.
                let _ = thread.join();
            }
        }
    }

    /// Names a socket by a path that fits its address: through the open folder when too long.
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
    //! No bells here: other processes find work at the speed of polling.

    use std::io;
    use std::path::Path;

    use windlass_core::notification::Notifier;

    #[derive(Debug)]
    pub(super) struct Ringer;

    impl Ringer {
        pub(super) fn new() -> Option<Self> {
            None
        }

        pub(super) fn ring(&self, _: &Path, _: &str) -> bool {
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
    fn hints_are_read_as_written() {
        let queue = QueueName::new("mail").unwrap();
        let id = JobId::new("a b").unwrap();
        let hints = vec![
            Notification::Work(queue.clone()),
            Notification::Cancel(queue.clone(), id.clone()),
            Notification::Event(queue, id, JobState::Dead),
        ];
        assert_eq!(read(&written(&hints)), hints);
        assert_eq!(read("nonsense\twith\ttabs"), [Notification::Resync]);
    }
}
