//! A running server, and a caller that knows only sockets.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, ChildStdout, Command};
use std::time::Duration;

use serde_json::Value;

use crate::sandbox::Sandbox;

/// A server; it is killed when the test ends.
pub(crate) struct Served {
    pub(crate) child: Child,
    pub(crate) address: String,
    /// Kept, so that the server may go on writing.
    stdout: BufReader<ChildStdout>,
}

impl Drop for Served {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Served {
    /// Starts `windlass serve` on a free port.
    pub(crate) fn new(sandbox: &Sandbox) -> Self {
        Self::start(sandbox, "serve --listen 127.0.0.1:0", |_| {})
    }

    /// Starts a line that serves.
    pub(crate) fn start(sandbox: &Sandbox, line: &str, change: impl FnOnce(&mut Command)) -> Self {
        let words: Vec<_> = line.split_whitespace().collect();
        Self::start_words(sandbox, &words, change)
    }

    pub(crate) fn start_words(
        sandbox: &Sandbox,
        words: &[&str],
        change: impl FnOnce(&mut Command),
    ) -> Self {
        let mut command = sandbox.command(words);
        command.env_remove("WINDLASS_HTTP_TOKEN");
        change(&mut command);
        let mut child = command.spawn().unwrap();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        stdout.read_line(&mut line).unwrap();
        let Some(address) = line.trim().strip_prefix("http://") else {
            let mut why = String::new();
            let _ = child.stderr.take().unwrap().read_to_string(&mut why);
            panic!("it does not say where it is: {line} {why}");
        };
        Self {
            address: address.to_owned(),
            child,
            stdout,
        }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Asks with JSON, or with nothing.
    pub(crate) fn ask(&self, method: &str, path: &str, body: &str) -> Answer {
        self.send(
            method,
            path,
            "content-type: application/json",
            body.as_bytes(),
        )
    }

    /// Asks with other headers and any body.
    pub(crate) fn send(&self, method: &str, path: &str, headers: &str, body: &[u8]) -> Answer {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        stream
            .set_read_timeout(Some(Duration::from_secs(60)))
            .unwrap();
        let (host, bytes) = (&self.address, body.len());
        // Spoken like this, the end of the connection is the end of the answer.
        let head = format!(
            "{method} {path} HTTP/1.0\r\nhost: {host}\r\n{headers}\r\ncontent-length: {bytes}\r\n\r\n"
        );
        stream.write_all(head.as_bytes()).unwrap();
        stream.write_all(body).unwrap();
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).unwrap();
        let end = answer
            .windows(4)
            .position(|four| four == b"\r\n\r\n")
            .unwrap();
        let head = String::from_utf8_lossy(&answer[..end]).into_owned();
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        Answer {
            status,
            head,
            body: answer[end + 4..].to_vec(),
        }
    }

    /// Sends SIGTERM and waits for the end; answers the exit code and what was left on stdout.
    pub(crate) fn terminate(mut self) -> (Option<i32>, String) {
        let id = self.child.id().to_string();
        let told = Command::new("kill").args(["-TERM", &id]).status().unwrap();
        assert!(told.success());
        let code = self.child.wait().unwrap().code();
        let mut rest = String::new();
        let _ = self.stdout.read_to_string(&mut rest);
        (code, rest)
    }
}

/// What came back.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: Vec<u8>,
}

impl Answer {
    /// Asserts the status and answers the JSON.
    #[track_caller]
    pub(crate) fn json(&self, status: u16) -> Value {
        let text = String::from_utf8_lossy(&self.body);
        assert_eq!(self.status, status, "{} {text}", self.head);
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"))
    }
}
