//! A proxy in front of a server that disconnects its client at a chosen command, as if the client
//! had been killed there.
//!
//! Commands of all connections are counted together, because a client is one process. A cut closes
//! them all, and new connections are rejected until [`FaultProxy::arm`].
//!
//! ```
//! use windlass_testkit::redis::{CutPoint, FaultProxy, Server};
//!
//! let server = Server::start();
//! let proxy = FaultProxy::before(&server);
//! for cut in CutPoint::each() {
//!     server.command(&["FLUSHALL"]).ok();
//!     proxy.arm(cut);
//!     // A client of `proxy.url()` runs here and sees only a lost connection.
//!     if !proxy.was_cut() {
//!         break; // the client sends fewer commands
//!     }
//! }
//! ```

use std::io::{self, BufReader, Write};
use std::net::{Shutdown, TcpListener};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

use super::framing::{Front, Stream, read_command, read_reply};
use super::server::Server;

/// Commands about the connection itself: their number varies between runs, and they change no data.
const UNCOUNTED: [&str; 12] = [
    "AUTH", "CLIENT", "COMMAND", "CONFIG", "ECHO", "HELLO", "INFO", "PING", "QUIT", "READONLY",
    "ROLE", "SELECT",
];

/// Where a client is disconnected; commands are counted from 0.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum CutPoint {
    /// Not at all.
    #[default]
    Never,
    /// The server does not receive this command.
    Before(usize),
    /// The server runs this command, but the client does not get the reply.
    After(usize),
}

impl CutPoint {
    /// Every cut point in order, without end: stop when [`FaultProxy::was_cut`] returns false.
    pub fn each() -> impl Iterator<Item = Self> {
        (0..).flat_map(|index| [Self::Before(index), Self::After(index)])
    }
}

/// A fault-injecting proxy. Dropping it ends it.
#[derive(Debug)]
pub struct FaultProxy {
    front: Front,
    state: Arc<Mutex<ProxyState>>,
}

#[derive(Debug, Default)]
struct ProxyState {
    cut: CutPoint,
    /// Incremented by `arm`, so that threads of earlier connections have no effect.
    generation: u64,
    /// Nothing more is forwarded: the cut has happened, or waits for its reply.
    is_closed: bool,
    was_cut: bool,
    commands: Vec<String>,
    /// Both ends of every open connection.
    streams: Vec<Stream>,
}

/// What to do with a command.
enum Action {
    Forward,
    /// Forward it, then close everything when its reply arrives.
    ForwardLast,
    Drop,
}

impl FaultProxy {
    /// Listens on a port of 127.0.0.1 and forwards to `server`, without a cut.
    pub fn before(server: &Server) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("listen on 127.0.0.1");
        let state: Arc<Mutex<ProxyState>> = Arc::default();
        let shared = Arc::clone(&state);
        let front = Front::of(server, listener, move |client, server| {
            proxy_connection(&shared, client, server)
        });
        Self { front, state }
    }

    /// The URL of this proxy.
    pub fn url(&self) -> String {
        self.front.url()
    }

    /// The port of this proxy on 127.0.0.1.
    pub fn port(&self) -> u16 {
        self.front.port
    }

    /// Closes all connections, accepts new ones, and counts commands from 0 up to this cut.
    pub fn arm(&self, cut: CutPoint) {
        let mut state = lock(&self.state);
        state.end();
        state.generation += 1;
        state.count(cut);
    }

    /// Like [`FaultProxy::arm`], but keeps open connections.
    pub fn count_from_here(&self, cut: CutPoint) {
        lock(&self.state).count(cut);
    }

    /// Whether the cut has happened: the server is done and the client is disconnected.
    pub fn was_cut(&self) -> bool {
        lock(&self.state).was_cut
    }

    /// The counted commands with their arguments; the last one is where the cut was.
    pub fn commands(&self) -> Vec<String> {
        lock(&self.state).commands.clone()
    }
}

impl Drop for FaultProxy {
    fn drop(&mut self) {
        lock(&self.state).end();
    }
}

impl ProxyState {
    fn end(&mut self) {
        for stream in self.streams.drain(..) {
            // It may be closed already.
            let _ = stream.shutdown(Shutdown::Both);
        }
    }

    fn count(&mut self, cut: CutPoint) {
        self.cut = cut;
        self.is_closed = false;
        self.was_cut = false;
        self.commands.clear();
    }

    /// Disconnects the client of a generation.
    fn kill(&mut self, generation: u64) {
        if generation == self.generation {
            self.is_closed = true;
            self.was_cut = true;
            self.end();
        }
    }

    /// Counts a command and decides what to do with it.
    fn decide(&mut self, generation: u64, args: &[Vec<u8>]) -> Action {
        if self.is_closed || generation != self.generation {
            return Action::Drop;
        }
        let shown: Vec<_> = args
            .iter()
            .map(|arg| String::from_utf8_lossy(arg))
            .collect();
        let name = shown.first().map(|name| name.to_uppercase());
        if name.is_none_or(|name| UNCOUNTED.contains(&name.as_str())) {
            return Action::Forward;
        }
        let index = self.commands.len();
        self.commands.push(shown.join(" "));
        if self.cut == CutPoint::Before(index) {
            self.kill(generation);
            return Action::Drop;
        }
        if self.cut == CutPoint::After(index) {
            // Nothing more is forwarded on any connection; the pending reply closes them.
            self.is_closed = true;
            return Action::ForwardLast;
        }
        Action::Forward
    }
}

fn lock(state: &Mutex<ProxyState>) -> MutexGuard<'_, ProxyState> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Forwards one connection in both directions.
fn proxy_connection(
    state: &Arc<Mutex<ProxyState>>,
    client: Stream,
    server: Stream,
) -> io::Result<()> {
    let generation = {
        let mut state = lock(state);
        if state.is_closed {
            return client.shutdown(Shutdown::Both);
        }
        state.streams.push(client.try_clone()?);
        state.streams.push(server.try_clone()?);
        state.generation
    };
    let (to_server, to_client) = (server.try_clone()?, client.try_clone()?);
    let connection = Arc::new(ProxiedConnection {
        state: Arc::clone(state),
        generation,
        last: Mutex::new(None),
    });
    let replies = Arc::clone(&connection);
    thread::spawn(move || {
        // If either end closes, close both.
        let _ = connection.forward_commands(&client, &to_server);
        let _ = to_server.shutdown(Shutdown::Both);
    });
    thread::spawn(move || {
        let _ = replies.forward_replies(&server, &to_client);
        let _ = to_client.shutdown(Shutdown::Both);
    });
    Ok(())
}

/// One connection through the proxy.
struct ProxiedConnection {
    state: Arc<Mutex<ProxyState>>,
    generation: u64,
    /// The index of the last reply to wait for, once known.
    last: Mutex<Option<usize>>,
}

impl ProxiedConnection {
    fn forward_commands(&self, client: &Stream, mut server: &Stream) -> io::Result<()> {
        let mut client = BufReader::new(client);
        let mut expected = 0;
        loop {
            let command = read_command(&mut client)?;
            let action = lock(&self.state).decide(self.generation, &command.args);
            expected += command.replies();
            match action {
                Action::Forward => server.write_all(&command.bytes)?,
                Action::ForwardLast => {
                    *self.last() = Some(expected);
                    server.write_all(&command.bytes)?;
                    // The reply closes this connection, unless the client leaves before it.
                    let _ = io::copy(&mut client, &mut io::sink());
                    self.kill();
                    return Ok(());
                }
                Action::Drop => return Ok(()),
            }
        }
    }

    fn forward_replies(&self, server: &Stream, mut client: &Stream) -> io::Result<()> {
        let mut server = BufReader::new(server);
        let mut seen = 0;
        loop {
            let reply = read_reply(&mut server)?;
            seen += usize::from(reply.is_reply);
            if reply.is_reply && *self.last() == Some(seen) {
                self.kill();
                return Ok(());
            }
            client.write_all(&reply.bytes)?;
        }
    }

    fn kill(&self) {
        lock(&self.state).kill(self.generation);
    }

    fn last(&self) -> MutexGuard<'_, Option<usize>> {
        self.last.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
