//! The real client, in separate processes.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value, json};
use windlass_testkit::redis::Server;
use windlass_testkit::redis::resp::Address;

/// The path where `cargo xtask peers` installs it.
fn python() -> PathBuf {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR"));
    let python = crates.join("../../target/peers/python/bin/python");
    assert!(
        python.exists(),
        "the real client is not installed: run `cargo xtask peers`"
    );
    python
}

/// Returns the URL of a server for the real client.
pub(crate) fn url(server: &Server) -> String {
    match server.address() {
        Address::Socket(path) => format!("unix://{}", path.display()),
        Address::Port(port) => format!("redis://127.0.0.1:{port}/0"),
    }
}

fn command(args: &[&str]) -> Command {
    let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("peers/python/blueque_peer.py");
    let mut command = Command::new(python());
    command.arg(program).args(args).stdout(Stdio::piped());
    command
}

/// Runs operations of the real client. Each order runs in a process that ends afterwards.
pub(crate) struct Peer {
    child: Child,
    orders: ChildStdin,
    replies: BufReader<ChildStdout>,
}

impl Peer {
    pub(crate) fn start() -> Self {
        let mut child = command(&[])
            .stdin(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        Self {
            orders: child.stdin.take().unwrap(),
            replies: BufReader::new(child.stdout.take().unwrap()),
            child,
        }
    }

    /// Runs these operations. Returns their replies, and whether all succeeded.
    pub(crate) fn try_run(&mut self, url: &str, operations: &Value) -> (Vec<Value>, bool) {
        writeln!(
            self.orders,
            "{}",
            json!({ "url": url, "steps": operations })
        )
        .unwrap();
        let mut replies = Vec::new();
        loop {
            let mut line = String::new();
            let read = self.replies.read_line(&mut line).unwrap();
            assert!(read > 0, "the real client has ended");
            let reply: Value = serde_json::from_str(&line).unwrap();
            match reply.get("end") {
                Some(status) => return (replies, *status == 0),
                None => replies.push(reply),
            }
        }
    }

    /// Runs these operations, which must all succeed.
    #[track_caller]
    pub(crate) fn run(&mut self, server: &Server, operations: &Value) -> Vec<Value> {
        let (replies, is_complete) = self.try_run(&url(server), operations);
        assert!(
            is_complete,
            "the real client failed in {operations} after {replies:?}"
        );
        replies
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// An original worker that runs until it is killed.
pub(crate) struct Worker(Child);

impl Worker {
    /// `work` prints the id of each task, `run` and `sleep` are forking runners.
    pub(crate) fn start(mode: &str, server: &Server, queue: &str) -> Self {
        Self(command(&[mode, &url(server), queue]).spawn().unwrap())
    }

    /// Returns the printed lines. Blocks until the worker is killed.
    pub(crate) fn lines(&mut self) -> Vec<String> {
        let stdout = self.0.stdout.take().unwrap();
        let lines = BufReader::new(stdout).lines();
        lines.map(|line| line.unwrap()).collect()
    }

    /// Sends SIGKILL and waits for the process to end.
    pub(crate) fn kill(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.kill();
    }
}
