//! A running server, and an HTTP client on plain sockets.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, ChildStdout, Command};
use std::time::Duration;

use serde_json::Value;

use crate::sandbox::Sandbox;

/// A running server. Killed when dropped.
pub(crate) struct TestServer {
    pub(crate) child: Child,
    pub(crate) address: String,
    /// Kept open so that the server can write to it.
    stdout: BufReader<ChildStdout>,
}

impl Drop for TestServer {
    fn drop(&mut self) {
        // It may have exited already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl TestServer {
    /// Starts `windlass serve` on a free port.
    pub(crate) fn new(sandbox: &Sandbox) -> Self {
        Self::start(sandbox, "serve --listen 127.0.0.1:0", |_| {})
    }

    /// Starts a command line that serves.
    pub(crate) fn start(sandbox: &Sandbox, line: &str, change: impl FnOnce(&mut Command)) -> Self {
        let arguments: Vec<_> = line.split_whitespace().collect();
        Self::start_arguments(sandbox, &arguments, change)
    }

    pub(crate) fn start_arguments(
        sandbox: &Sandbox,
        arguments: &[&str],
        change: impl FnOnce(&mut Command),
    ) -> Self {
        let mut command = sandbox.command(arguments);
        command.env_remove("WINDLASS_HTTP_TOKEN");
        change(&mut command);
        let mut child = command.spawn().unwrap();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        stdout.read_line(&mut line).unwrap();
        let Some(address) = line.trim().strip_prefix("http://") else {
            let mut why = String::new();
            let _ = child.stderr.take().unwrap().read_to_string(&mut why);
            panic!("the server printed no URL: {line} {why}");
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

    /// Sends a request with a JSON body, or an empty one.
    pub(crate) fn request(&self, method: &str, path: &str, body: &str) -> HttpResponse {
        self.request_with(
            method,
            path,
            "content-type: application/json",
            body.as_bytes(),
        )
    }

    /// Sends a request with other headers and any body.
    pub(crate) fn request_with(
        &self,
        method: &str,
        path: &str,
        headers: &str,
        body: &[u8],
    ) -> HttpResponse {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        stream
            .set_read_timeout(Some(Duration::from_secs(60)))
            .unwrap();
        let (host, bytes) = (&self.address, body.len());
        // With HTTP/1.0 the end of the connection is the end of the response.
        let head = format!(
            "{method} {path} HTTP/1.0\r\nhost: {host}\r\n{headers}\r\ncontent-length: {bytes}\r\n\r\n"
        );
        stream.write_all(head.as_bytes()).unwrap();
        stream.write_all(body).unwrap();
        let mut response = Vec::new();
        stream.read_to_end(&mut response).unwrap();
        let end = response
            .windows(4)
            .position(|four| four == b"\r\n\r\n")
            .unwrap();
        let head = String::from_utf8_lossy(&response[..end]).into_owned();
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        HttpResponse {
            status,
            head,
            body: response[end + 4..].to_vec(),
        }
    }

    /// Sends SIGTERM and waits for the exit. Returns the exit code and the rest of stdout.
    pub(crate) fn terminate(mut self) -> (Option<i32>, String) {
        let id = self.child.id().to_string();
        let sent = Command::new("kill").args(["-TERM", &id]).status().unwrap();
        assert!(sent.success());
        let code = self.child.wait().unwrap().code();
        let mut rest = String::new();
        let _ = self.stdout.read_to_string(&mut rest);
        (code, rest)
    }
}

/// A response.
#[derive(Debug)]
pub(crate) struct HttpResponse {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: Vec<u8>,
}

impl HttpResponse {
    /// Asserts the status and returns the JSON.
    #[track_caller]
    pub(crate) fn json(&self, status: u16) -> Value {
        let text = String::from_utf8_lossy(&self.body);
        assert_eq!(self.status, status, "{} {text}", self.head);
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"))
    }
}
