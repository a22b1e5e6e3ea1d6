//! One private server, in a temporary folder.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;

use tempfile::TempDir;

use super::options::ServerOptions;
use super::port::Port;
use super::process::{CONFIG, LOG, Process};
use super::resp::{Address, Connection, Reply};
use super::wait::try_until;

/// Configuration of every server and Sentinel.
const BASE_CONFIG: &str = "bind 127.0.0.1\nprotected-mode no\n";

/// Configuration of servers. Replicas sync at once instead of waiting for others to join.
const DATA_CONFIG: &str = "save \"\"\nappendonly no\nrepl-diskless-sync-delay 0\n\
                    enable-debug-command local\n";

/// A `redis-server` that ends when this value is dropped, or with the test process.
#[derive(Debug)]
pub struct Server {
    // Declared before the folder: the process must end before its folder is removed.
    process: Mutex<Option<Process>>,
    address: Address,
    is_sentinel: bool,
    folder: TempDir,
    ports: Vec<Port>,
}

impl Server {
    /// Starts a server on a unix socket, with nothing on disk; it accepts commands when this
    /// returns.
    pub fn start() -> Self {
        ServerOptions::new().start()
    }

    /// Starts a server on `port`, or on a unix socket.
    pub(crate) fn launch(options: &ServerOptions, port: Option<Port>) -> Result<Self, String> {
        let folder = tempfile::Builder::new()
            .prefix("windlass-redis-")
            .tempdir()
            .map_err(|error| format!("cannot create a temporary folder: {error}"))?;
        let address = match &port {
            Some(port) => Address::Port(port.number()),
            None => Address::Socket(socket_in(folder.path())?),
        };
        let mut config = String::from(BASE_CONFIG);
        if !options.is_sentinel {
            config.push_str(DATA_CONFIG);
        }
        config.push_str(&listen(folder.path(), &address));
        config.extend(options.lines.iter().flat_map(|line| [line, "\n"]));
        let files = options.files.iter().map(|(name, text)| (*name, text));
        for (name, text) in files.chain([(CONFIG, &config)]) {
            fs::write(folder.path().join(name), text)
                .map_err(|error| format!("cannot write {name}: {error}"))?;
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

    /// Starts servers concurrently.
    pub(crate) fn launch_all(
        options: &[ServerOptions],
        ports: Vec<Port>,
    ) -> Result<Vec<Self>, String> {
        thread::scope(|scope| {
            let starting: Vec<_> = options
                .iter()
                .zip(ports)
                .map(|(options, port)| scope.spawn(|| Self::launch(options, Some(port))))
                .collect();
            let join = |thread: thread::ScopedJoinHandle<'_, _>| thread.join().expect("no panic");
            starting.into_iter().map(join).collect()
        })
    }

    /// Keeps a further port reserved for the lifetime of this server.
    pub(crate) fn with_port(mut self, port: Port) -> Self {
        self.ports.push(port);
        self
    }

    /// The URL of a store on this server.
    pub fn url(&self) -> String {
        match &self.address {
            Address::Socket(path) => format!("redis+unix://{}", path.display()),
            Address::Port(port) => format!("redis://127.0.0.1:{port}/0"),
        }
    }

    /// The address it listens on.
    pub fn address(&self) -> &Address {
        &self.address
    }

    /// The port it listens on.
    pub fn port(&self) -> u16 {
        match &self.address {
            Address::Port(port) => *port,
            Address::Socket(_) => panic!("this server listens on a socket; start it with `tcp()`"),
        }
    }

    /// Its folder.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Its process id.
    pub fn pid(&self) -> u32 {
        self.with_process(|process| process.pid())
    }

    /// Whether it is running, neither killed nor stopped.
    pub fn is_running(&self) -> bool {
        self.lock().as_mut().is_some_and(Process::is_running)
    }

    /// Kills it with SIGKILL and waits for its exit.
    pub fn kill(&self) {
        self.lock().take();
    }

    /// Stops it with SIGSTOP and waits until it is stopped. Connections to it hang.
    pub fn stop(&self) {
        self.with_process(|process| process.stop());
    }

    /// Sends SIGCONT.
    pub fn resume(&self) {
        self.with_process(|process| process.resume());
    }

    /// Restarts it (after SIGKILL if it runs) with the same folder and address. It has loaded its data
    /// and accepts commands when this returns.
    pub fn restart(&self) {
        self.try_restart()
            .unwrap_or_else(|failure| panic!("{failure}"));
    }

    fn try_restart(&self) -> Result<(), String> {
        let mut process = self.lock();
        process.take();
        let mut new = Process::start(self.folder(), self.is_sentinel)?;
        try_until("the server starts", || {
            if let Some(status) = new.exit_status() {
                return Ok(Err(format!(
                    "the server exited with {status}; {}",
                    self.log()
                )));
            }
            match self.try_command(&["PING"]) {
                Ok(Reply::Error(text)) if text.starts_with("LOADING") => Err(text),
                // An authentication error also means that the server is up.
                Ok(_) => Ok(Ok(())),
                Err(error) => Err(error.to_string()),
            }
        })??;
        *process = Some(new);
        Ok(())
    }

    /// Opens a new connection.
    pub fn connect(&self) -> io::Result<Connection> {
        Connection::open(&self.address)
    }

    /// Sends one command on a new connection; the reply may be a [`Reply::Error`].
    pub fn try_command<A: AsRef<[u8]>>(&self, args: &[A]) -> io::Result<Reply> {
        self.connect()?.command(args)
    }

    /// Sends one command on a new connection; the reply may be a [`Reply::Error`].
    #[track_caller]
    pub fn command<A: AsRef<[u8]>>(&self, args: &[A]) -> Reply {
        match self.try_command(args) {
            Ok(reply) => reply,
            Err(error) => panic!("no reply from {}: {error}; {}", self.url(), self.log()),
        }
    }

    /// Like [`Server::command`], but returns errors, for use with [`until`](super::until). Sentinels
    /// close all connections to a server when they change its role.
    pub fn ask<A: AsRef<[u8]>>(&self, args: &[A]) -> Result<Reply, String> {
        match self.try_command(args) {
            Ok(Reply::Error(text)) => Err(text),
            Ok(reply) => Ok(reply),
            Err(error) => Err(format!("no reply from {}: {error}", self.url())),
        }
    }

    /// The last lines of its log.
    pub fn log(&self) -> String {
        const LINES: usize = 20;
        let text = fs::read_to_string(self.folder().join(LOG)).unwrap_or_default();
        let lines: Vec<&str> = text.lines().collect();
        let end = &lines[lines.len().saturating_sub(LINES)..];
        format!("last lines of its log:\n{}", end.join("\n"))
    }

    fn lock(&self) -> MutexGuard<'_, Option<Process>> {
        // Usable even after a panic in another test thread.
        self.process.lock().unwrap_or_else(PoisonError::into_inner)
    }

    #[track_caller]
    fn with_process<T>(&self, action: impl FnOnce(&Process) -> T) -> T {
        match self.lock().as_ref() {
            Some(process) => action(process),
            None => panic!("{} was killed; call `restart` first", self.url()),
        }
    }
}

fn socket_in(folder: &Path) -> Result<PathBuf, String> {
    /// The smallest limit of any supported system.
    const PATH_MAX: usize = 103;
    let path = folder.join("redis.sock");
    let length = path.as_os_str().len();
    if length > PATH_MAX {
        return Err(format!(
            "the socket path {} has {length} bytes, the limit is {PATH_MAX}; \
             set TMPDIR to a shorter path",
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

/// A random id of a Cluster node or a Sentinel: 40 hexadecimal digits.
pub(crate) fn node_id() -> String {
    let mut rng = fastrand::Rng::new();
    (0..40).map(|_| rng.digit(16)).collect()
}
