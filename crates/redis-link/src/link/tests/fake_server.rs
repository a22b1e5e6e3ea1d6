//! A fake server: replies to scripts as the test specifies, and to other commands as a healthy server.

use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

const HELLO: &str = "%3\r\n$7\r\nversion\r\n$5\r\n7.0.0\r\n$4\r\nmode\r\n$10\r\nstandalone\r\n\
                     $4\r\nrole\r\n$6\r\nmaster\r\n";

/// Bytes of an endless reply that are sent at once.
pub(super) const CHUNK: usize = 64 * 1024;

/// What the server does when a script is called.
#[derive(Debug, Clone, Copy)]
pub(super) enum Action {
    /// Sends this reply once.
    Reply(&'static str),
    /// Sends this reply from now on.
    Always(&'static str),
    /// Closes the connection without a reply.
    Close,
    /// Sends this, then this many bytes again and again, with a pause after each.
    Endless(&'static str, usize, Duration),
}

/// A fake server; its threads end with the process.
pub(super) struct FakeServer {
    port: u16,
    /// Bytes of endless replies that were sent.
    sent: Arc<AtomicU64>,
}

impl FakeServer {
    pub(super) fn start(actions: Vec<Action>) -> Self {
        Self::start_endless(actions, "")
    }

    /// Replies to this command without end, with a bulk string.
    pub(super) fn endless_at(command: &'static str) -> Self {
        Self::start_endless(vec![Action::Always(":1\r\n")], command)
    }

    fn start_endless(actions: Vec<Action>, endless: &'static str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let port = listener.local_addr().expect("has an address").port();
        let actions = Arc::new(Mutex::new(VecDeque::from(actions)));
        let sent = Arc::new(AtomicU64::new(0));
        let counter = Arc::clone(&sent);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (actions, counter) = (Arc::clone(&actions), Arc::clone(&counter));
                thread::spawn(move || serve(&stream, &actions, endless, &counter));
            }
        });
        Self { port, sent }
    }

    pub(super) fn url(&self) -> String {
        format!("redis://127.0.0.1:{}", self.port)
    }

    pub(super) fn port(&self) -> u16 {
        self.port
    }

    /// Bytes of endless replies that were sent.
    pub(super) fn sent(&self) -> u64 {
        self.sent.load(Ordering::Relaxed)
    }
}

fn serve(
    stream: &TcpStream,
    actions: &Mutex<VecDeque<Action>>,
    endless: &str,
    sent: &AtomicU64,
) -> Option<()> {
    let mut reader = BufReader::new(stream);
    loop {
        let command = read_command(&mut reader)?;
        let reply = match command[0].as_str() {
            name if name == endless => {
                return send_endless(stream, "$2000000000\r\n", CHUNK, Duration::ZERO, sent);
            }
            "HELLO" => HELLO,
            "CONFIG" => "%0\r\n",
            "EVALSHA" | "EVAL" => {
                let mut actions = actions.lock().expect("no panic");
                match actions.pop_front()? {
                    Action::Reply(text) => text,
                    Action::Always(text) => {
                        actions.push_front(Action::Always(text));
                        text
                    }
                    Action::Close => return None,
                    Action::Endless(start, count, pause) => {
                        drop(actions);
                        return send_endless(stream, start, count, pause, sent);
                    }
                }
            }
            _ => "+OK\r\n",
        };
        (&mut &*stream).write_all(reply.as_bytes()).ok()?;
    }
}

/// Sends until the client closes the connection.
#[expect(
    clippy::disallowed_methods,
    reason = "the pause is the speed of the server"
)]
fn send_endless(
    mut stream: &TcpStream,
    start: &str,
    count: usize,
    pause: Duration,
    sent: &AtomicU64,
) -> Option<()> {
    stream.write_all(start.as_bytes()).ok()?;
    loop {
        stream.write_all(&vec![b'x'; count]).ok()?;
        sent.fetch_add(count as u64, Ordering::Relaxed);
        thread::sleep(pause);
    }
}

fn read_command(reader: &mut impl BufRead) -> Option<Vec<String>> {
    let count = read_number(reader, '*')?;
    (0..count)
        .map(|_| {
            let length = read_number(reader, '$')?;
            let mut bytes = vec![0; length + 2];
            reader.read_exact(&mut bytes).ok()?;
            bytes.truncate(length);
            Some(String::from_utf8_lossy(&bytes).into_owned())
        })
        .collect()
}

fn read_number(reader: &mut impl BufRead, prefix: char) -> Option<usize> {
    let mut line = String::new();
    reader.read_line(&mut line).ok()?;
    line.trim_end().strip_prefix(prefix)?.parse().ok()
}
