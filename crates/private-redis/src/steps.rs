//! A proxy before a server that cuts its client off at one chosen command: what a client leaves
//! behind that dies there, as if killed by SIGKILL.
//!
//! It counts the commands of all connections together, because a client is one process. A cut
//! ends them all, and whoever comes afterwards is turned away until [`Steps::arm`].
//!
//! ```
//! use windlass_private_redis::{Cut, Server, Steps};
//!
//! let server = Server::start();
//! let steps = Steps::before(&server);
//! for cut in Cut::each() {
//!     server.command(&["FLUSHALL"]).ok();
//!     steps.arm(cut);
//!     // Some client of `steps.url()` does its work here and is told nothing but a lost connection.
//!     if !steps.was_cut() {
//!         break; // it needs fewer commands than that
//!     }
//! }
//! ```

use std::io::{self, BufReader, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

use crate::pipe::{Stream, read_command, read_reply};
use crate::resp::Address;
use crate::server::Server;

/// Commands about the connection itself. How many a client sends is chance, and they change nothing.
const UNCOUNTED: [&str; 12] = [
    "AUTH", "CLIENT", "COMMAND", "CONFIG", "ECHO", "HELLO", "INFO", "PING", "QUIT", "READONLY",
    "ROLE", "SELECT",
];

/// Where a client is cut off; commands are counted from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cut {
    /// Nowhere.
    Never,
    /// The server does not get this command.
    Before(usize),
    /// The server did this command, and the client does not hear of it.
    After(usize),
}

impl Cut {
    /// Every place to cut at, in order and without end: stop when [`Steps::was_cut`] says no.
    pub fn each() -> impl Iterator<Item = Self> {
        (0..).flat_map(|place| [Self::Before(place), Self::After(place)])
    }
}

/// The proxy; it ends with this value.
#[derive(Debug)]
pub struct Steps {
    port: u16,
    state: Arc<Mutex<State>>,
}

#[derive(Debug)]
struct State {
    cut: Cut,
    is_over: bool,
    /// Counts the times it was armed: what a thread of an earlier time still does has no effect.
    era: u64,
    /// Nothing more passes: the cut was done, or waits for its reply.
    is_closed: bool,
    was_cut: bool,
    commands: Vec<String>,
    /// Both ends of everything that is open.
    streams: Vec<Stream>,
}

/// What becomes of a command.
enum Fate {
    Pass,
    /// It passes, and its reply is the last thing to happen.
    Last,
    Drop,
}

impl Steps {
    /// Listens on a port of 127.0.0.1 and leads to this server, with no cut.
    ///
    /// # Panics
    ///
    /// When nothing can listen on 127.0.0.1.
    pub fn before(server: &Server) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a port is free on 127.0.0.1");
        let port = listener.local_addr().expect("it listens").port();
        let state = Arc::new(Mutex::new(State {
            cut: Cut::Never,
            is_over: false,
            era: 0,
            is_closed: false,
            was_cut: false,
            commands: Vec::new(),
            streams: Vec::new(),
        }));
        let (shared, address) = (Arc::clone(&state), server.address().clone());
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                if lock(&shared).is_over {
                    return;
                }
                // A server that is down turns its clients away as well.
                let _ = lead(&shared, client, &address);
            }
        });
        Self { port, state }
    }

    /// The URL that leads through this proxy.
    pub fn url(&self) -> String {
        format!("redis://127.0.0.1:{}/0", self.port)
    }

    /// The port of this proxy on 127.0.0.1.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Ends all connections, lets new ones in, and counts from 0 up to this cut.
    pub fn arm(&self, cut: Cut) {
        let mut state = lock(&self.state);
        state.end();
        state.era += 1;
        state.count(cut);
    }

    /// As [`Steps::arm`], for a client that is connected already and stays so.
    pub fn count_from_here(&self, cut: Cut) {
        lock(&self.state).count(cut);
    }

    /// Whether the cut was reached: the server has done what it was to do, and the client is cut off.
    pub fn was_cut(&self) -> bool {
        lock(&self.state).was_cut
    }

    /// The commands that were counted, with their words; the last one is where the cut was.
    pub fn commands(&self) -> Vec<String> {
        lock(&self.state).commands.clone()
    }
}

impl Drop for Steps {
    fn drop(&mut self) {
        let mut state = lock(&self.state);
        state.is_over = true;
        state.end();
        drop(state);
        // Wakes the thread that listens, which then sees that it is over.
        let _ = TcpStream::connect(("127.0.0.1", self.port));
    }
}

impl State {
    fn end(&mut self) {
        for stream in self.streams.drain(..) {
            // It may have ended by itself.
            let _ = stream.shutdown(Shutdown::Both);
        }
    }

    fn count(&mut self, cut: Cut) {
        self.cut = cut;
        self.is_closed = false;
        self.was_cut = false;
        self.commands.clear();
    }

    /// Ends the client of an era.
    fn kill(&mut self, era: u64) {
        if era == self.era {
            self.is_closed = true;
            self.was_cut = true;
            self.end();
        }
    }

    /// Counts a command and says what becomes of it.
    fn judge(&mut self, era: u64, words: &[Vec<u8>]) -> Fate {
        if self.is_closed || era != self.era {
            return Fate::Drop;
        }
        let shown: Vec<_> = words
            .iter()
            .map(|word| String::from_utf8_lossy(word))
            .collect();
        let name = shown.first().map(|name| name.to_uppercase());
        if name.is_none_or(|name| UNCOUNTED.contains(&name.as_str())) {
            return Fate::Pass;
        }
        let place = self.commands.len();
        self.commands.push(shown.join(" "));
        if self.cut == Cut::Before(place) {
            self.kill(era);
            return Fate::Drop;
        }
        if self.cut == Cut::After(place) {
            // Nothing more passes on any connection; the reply that is still to come ends them.
            self.is_closed = true;
            return Fate::Last;
        }
        Fate::Pass
    }
}

fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Leads one connection through, in both directions.
fn lead(state: &Arc<Mutex<State>>, client: TcpStream, address: &Address) -> io::Result<()> {
    client.set_nodelay(true)?;
    let client = Stream::Tcp(client);
    let server = Stream::open(address)?;
    let era = {
        let mut state = lock(state);
        if state.is_closed {
            return client.shutdown(Shutdown::Both);
        }
        state.streams.push(client.try_clone()?);
        state.streams.push(server.try_clone()?);
        state.era
    };
    let (to_server, to_client) = (server.try_clone()?, client.try_clone()?);
    let way = Arc::new(Way {
        state: Arc::clone(state),
        era,
        last: Mutex::new(None),
    });
    let other_way = Arc::clone(&way);
    thread::spawn(move || {
        // Either end may go away at any time: then both go.
        let _ = way.carry_commands(&client, &to_server);
        let _ = to_server.shutdown(Shutdown::Both);
    });
    thread::spawn(move || {
        let _ = other_way.carry_replies(&server, &to_client);
        let _ = to_client.shutdown(Shutdown::Both);
    });
    Ok(())
}

/// One connection.
struct Way {
    state: Arc<Mutex<State>>,
    era: u64,
    /// Which reply of this connection is the last one, once that is known.
    last: Mutex<Option<usize>>,
}

impl Way {
    fn carry_commands(&self, client: &Stream, mut server: &Stream) -> io::Result<()> {
        let mut client = BufReader::new(client);
        let mut expected = 0;
        loop {
            let command = read_command(&mut client)?;
            let fate = lock(&self.state).judge(self.era, &command.words);
            expected += command.replies();
            match fate {
                Fate::Pass => server.write_all(&command.bytes)?,
                Fate::Last => {
                    *self.last() = Some(expected);
                    server.write_all(&command.bytes)?;
                    // The reply ends this connection, unless the client goes away before it.
                    let _ = io::copy(&mut client, &mut io::sink());
                    self.kill();
                    return Ok(());
                }
                Fate::Drop => return Ok(()),
            }
        }
    }

    fn carry_replies(&self, server: &Stream, mut client: &Stream) -> io::Result<()> {
        let mut server = BufReader::new(server);
        let mut seen = 0;
        loop {
            let reply = read_reply(&mut server)?;
            seen += usize::from(reply.is_answer);
            if reply.is_answer && *self.last() == Some(seen) {
                self.kill();
                return Ok(());
            }
            client.write_all(&reply.bytes)?;
        }
    }

    fn kill(&self) {
        lock(&self.state).kill(self.era);
    }

    fn last(&self) -> MutexGuard<'_, Option<usize>> {
        self.last.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
