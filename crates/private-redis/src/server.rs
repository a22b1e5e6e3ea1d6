//! One private server, in a folder of its own.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use tempfile::TempDir;

use crate::options::ServerOptions;
use crate::port::Port;
use crate::process::{CONFIG, LOG, Process};
use crate::resp::{Address, Connection, Reply};
use crate::wait::try_until;

/// For every server and Sentinel.
const ALWAYS: &str = "bind 127.0.0.1\nprotected-mode no\n";

/// For servers. A replica gets its first copy at once, not after waiting for others to ask too.
const DATA: &str = "save \"\"\nappendonly no\nrepl-diskless-sync-delay 0\n\
                    enable-debug-command local\n";

/// A `redis-server` that ends with this value, or with the test process.
#[derive(Debug)]
pub struct Server {
    // Before the folder, which is removed when nobody writes into it any more.
    process: Mutex<Option<Process>>,
    address: Address,
    is_sentinel: bool,
    folder: TempDir,
    ports: Vec<Port>,
}

impl Server {
    /// Starts a server on a unix socket, with nothing on disk; it answers when this returns.
    ///
    /// # Panics
    ///
    /// When there is no `redis-server`, or it does not come up; its log is in the text.
    pub fn start() -> Self {
        ServerOptions::new().start()
    }

    /// Starts a server; the `Err` says why it did not come up.
    pub(crate) fn launch(options: &ServerOptions, port: Option<Port>) -> Result<Self, String> {
        let folder = tempfile::Builder::new()
            .prefix("windlass-redis-")
            .tempdir()
            .map_err(|error| format!("no temporary folder can be made: {error}"))?;
        let address = match &port {
            Some(port) => Address::Port(port.number()),
            None => Address::Socket(socket_in(folder.path())?),
        };
        let mut config = String::from(ALWAYS);
        if !options.is_sentinel {
            config.push_str(DATA);
        }
        config.push_str(&listen(folder.path(), &address));
        config.extend(options.lines.iter().flat_map(|line| [line, "\n"]));
        let files = options.files.iter().map(|(name, text)| (*name, text));
        for (name, text) in files.chain([(CONFIG, &config)]) {
            fs::write(folder.path().join(name), text)
                .map_err(|error| format!("{name} cannot be written: {error}"))?;
        }
        let server = Self {
            process: Mutex::new(None),
            address,
            is_sentinel: options.is_sentinel,
            folder,
            ports: port.into_iter().collect(),
        };
        server.try_restart()?;
        Ok(server)
    }

    /// Keeps a further port for as long as this server is there.
    pub(crate) fn holding(mut self, port: Port) -> Self {
        self.ports.push(port);
        self
    }

    /// The URL that opens a store on it.
    pub fn url(&self) -> String {
        match &self.address {
            Address::Socket(path) => format!("redis+unix://{}", path.display()),
            Address::Port(port) => format!("redis://127.0.0.1:{port}/0"),
        }
    }

    /// Where it listens.
    pub fn address(&self) -> &Address {
        &self.address
    }

    /// The port it listens on.
    ///
    /// # Panics
    ///
    /// When it has a socket instead: see [`ServerOptions::tcp`].
    pub fn port(&self) -> u16 {
        match &self.address {
            Address::Port(port) => *port,
            Address::Socket(_) => panic!("this server has no port; start it with `tcp()`"),
        }
    }

    /// The folder with its files.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// The number of its process.
    ///
    /// # Panics
    ///
    /// When it is not running.
    pub fn pid(&self) -> u32 {
        self.with_process(|process| process.pid())
    }

    /// Whether it can answer: it was neither killed nor stopped.
    pub fn is_running(&self) -> bool {
        self.lock().as_mut().is_some_and(Process::is_running)
    }

    /// Sends SIGKILL; it is gone when this returns.
    pub fn kill(&self) {
        self.lock().take();
    }

    /// Sends SIGSTOP; it stands when this returns. Connections to it hang.
    ///
    /// # Panics
    ///
    /// When it is not running.
    pub fn stop(&self) {
        self.with_process(|process| process.stop());
    }

    /// Sends SIGCONT.
    ///
    /// # Panics
    ///
    /// When it is not running.
    pub fn resume(&self) {
        self.with_process(|process| process.resume());
    }

    /// Kills it if it runs and starts it anew, with the same folder and address. When this returns
    /// it answers, and has loaded what it kept.
    ///
    /// # Panics
    ///
    /// When it does not come up; its log is in the text.
    pub fn restart(&self) {
        self.try_restart()
            .unwrap_or_else(|failure| panic!("{failure}"));
    }

    fn try_restart(&self) -> Result<(), String> {
        let mut process = self.lock();
        process.take();
        let mut new = Process::start(self.folder(), self.is_sentinel)?;
        try_until("the server starts", || {
            if let Some(status) = new.ended() {
                return Ok(Err(format!(
                    "the server ended with {status}; {}",
                    self.log()
                )));
            }
            match self.try_command(&["PING"]) {
                Ok(Reply::Error(text)) if text.starts_with("LOADING") => Err(text),
                // A server with a password is up as well.
                Ok(_) => Ok(Ok(())),
                Err(error) => Err(error.to_string()),
            }
        })??;
        *process = Some(new);
        Ok(())
    }

    /// A connection of its own.
    pub fn connect(&self) -> io::Result<Connection> {
        Connection::open(&self.address)
    }

    /// Sends one command on a new connection; the answer may be a [`Reply::Error`].
    pub fn try_command<A: AsRef<[u8]>>(&self, words: &[A]) -> io::Result<Reply> {
        self.connect()?.command(words)
    }

    /// Sends one command on a new connection; the answer may be a [`Reply::Error`].
    ///
    /// # Panics
    ///
    /// When no answer comes.
    #[track_caller]
    pub fn command<A: AsRef<[u8]>>(&self, words: &[A]) -> Reply {
        match self.try_command(words) {
            Ok(reply) => reply,
            Err(error) => panic!("{} does not answer: {error}; {}", self.url(), self.log()),
        }
    }

    /// As [`Server::command`], for [`until`](crate::until): no answer and an error are an `Err` with
    /// the reason. Sentinels cut all connections to a server when they give it another role.
    pub fn ask<A: AsRef<[u8]>>(&self, words: &[A]) -> Result<Reply, String> {
        match self.try_command(words) {
            Ok(Reply::Error(text)) => Err(text),
            Ok(reply) => Ok(reply),
            Err(error) => Err(format!("{} does not answer: {error}", self.url())),
        }
    }

    /// The end of what it printed.
    pub fn log(&self) -> String {
        const LINES: usize = 20;
        let text = fs::read_to_string(self.folder().join(LOG)).unwrap_or_default();
        let lines: Vec<&str> = text.lines().collect();
        let end = &lines[lines.len().saturating_sub(LINES)..];
        format!("its log ends with\n{}", end.join("\n"))
    }

    fn lock(&self) -> MutexGuard<'_, Option<Process>> {
        // A test that failed elsewhere may still want to look at the server.
        self.process.lock().unwrap_or_else(PoisonError::into_inner)
    }

    #[track_caller]
    fn with_process<T>(&self, act: impl FnOnce(&Process) -> T) -> T {
        match self.lock().as_ref() {
            Some(process) => act(process),
            None => panic!("{} was killed: `restart` comes first", self.url()),
        }
    }
}

fn socket_in(folder: &Path) -> Result<PathBuf, String> {
    /// What all systems allow.
    const PATH_MAX: usize = 103;
    let path = folder.join("redis.sock");
    let length = path.as_os_str().len();
    if length > PATH_MAX {
        return Err(format!(
            "a unix socket cannot have the path {}: {length} bytes, the limit is {PATH_MAX}; \
             set TMPDIR to a shorter folder",
            path.display()
        ));
    }
    Ok(path)
}

fn listen(folder: &Path, address: &Address) -> String {
    let folder = folder.display();
    match address {
        Address::Socket(path) => {
            let path = path.display();
            format!("dir \"{folder}\"\nport 0\nunixsocket \"{path}\"\nunixsocketperm 700\n")
        }
        Address::Port(port) => format!("dir \"{folder}\"\nport {port}\n"),
    }
}
