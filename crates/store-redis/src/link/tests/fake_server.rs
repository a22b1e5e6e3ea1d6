//! A server that answers scripts as a test tells it to, and everything else as a healthy one.

use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

const HELLO: &str = "%3\r\n$7\r\nversion\r\n$5\r\n7.0.0\r\n$4\r\nmode\r\n$10\r\nstandalone\r\n\
                     $4\r\nrole\r\n$6\r\nmaster\r\n";

/// What the server does with a script.
#[derive(Debug, Clone, Copy)]
pub(super) enum Answer {
    /// Answers once.
    Say(&'static str),
    /// Answers the same from now on.
    Always(&'static str),
    /// Closes the connection without an answer.
    Close,
}

/// A server; its threads end with the process.
pub(super) struct Fake {
    port: u16,
}

impl Fake {
    pub(super) fn start(answers: Vec<Answer>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let port = listener.local_addr().expect("has an address").port();
        let answers = Arc::new(Mutex::new(VecDeque::from(answers)));
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let answers = Arc::clone(&answers);
                thread::spawn(move || serve(&stream, &answers));
            }
        });
        Self { port }
    }

    pub(super) fn url(&self) -> String {
        format!("redis://127.0.0.1:{}", self.port)
    }
}

fn serve(stream: &TcpStream, answers: &Mutex<VecDeque<Answer>>) -> Option<()> {
    let mut reader = BufReader::new(stream);
    loop {
        let words = command(&mut reader)?;
        let said = match words[0].as_str() {
            "HELLO" => HELLO,
            "CONFIG" => "%0\r\n",
            "EVALSHA" | "EVAL" => {
                let mut answers = answers.lock().expect("no panic");
                match answers.pop_front()? {
                    Answer::Say(text) => text,
                    Answer::Always(text) => {
                        answers.push_front(Answer::Always(text));
                        text
                    }
                    Answer::Close => return None,
                }
            }
            _ => "+OK\r\n",
        };
        (&mut &*stream).write_all(said.as_bytes()).ok()?;
    }
}

fn command(reader: &mut impl BufRead) -> Option<Vec<String>> {
    let count = number(reader, '*')?;
    (0..count)
        .map(|_| {
            let length = number(reader, '$')?;
            let mut bytes = vec![0; length + 2];
            reader.read_exact(&mut bytes).ok()?;
            bytes.truncate(length);
            Some(String::from_utf8_lossy(&bytes).into_owned())
        })
        .collect()
}

fn number(reader: &mut impl BufRead, mark: char) -> Option<usize> {
    let mut line = String::new();
    reader.read_line(&mut line).ok()?;
    line.trim_end().strip_prefix(mark)?.parse().ok()
}
