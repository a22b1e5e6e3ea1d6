//! A fake server: replies to scripts as the test specifies, and to other commands as a healthy server.

use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

const HELLO: &str = "%3\r\n$7\r\nversion\r\n$5\r\n7.0.0\r\n$4\r\nmode\r\n$10\r\nstandalone\r\n\
                     $4\r\nrole\r\n$6\r\nmaster\r\n";

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
}

impl FakeServer {
    pub(super) fn start(actions: Vec<Action>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let port = listener.local_addr().expect("has an address").port();
        let actions = Arc::new(Mutex::new(VecDeque::from(actions)));
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let actions = Arc::clone(&actions);
                thread::spawn(move || serve(&stream, &actions));
            }
        });
        Self { port }
    }

    pub(super) fn url(&self) -> String {
        format!("redis://127.0.0.1:{}", self.port)
    }
}

fn serve(stream: &TcpStream, actions: &Mutex<VecDeque<Action>>) -> Option<()> {
    let mut reader = BufReader::new(stream);
    loop {
        let command = read_command(&mut reader)?;
        let reply = match command[0].as_str() {
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
                        return send_endless(stream, start, count, pause);
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
fn send_endless(mut stream: &TcpStream, start: &str, count: usize, pause: Duration) -> Option<()> {
    stream.write_all(start.as_bytes()).ok()?;
    loop {
        stream.write_all(&vec![b'x'; count]).ok()?;
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
