//! The real client, in processes of its own.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value, json};
use windlass_testkit::redis::Server;
use windlass_testkit::redis::resp::Address;

/// Where `cargo xtask peers` installs it.
fn python() -> PathBuf {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR"));
    let python = crates.join("../../target/peers/python/bin/python");
    assert!(
        python.exists(),
        "the real client is not installed: run `cargo xtask peers`"
    );
    python
}

/// The URL by which the real client knows a server.
pub(crate) fn url(server: &Server) -> String {
    match server.address() {
        Address::Socket(path) => format!("unix://{}", path.display()),
        Address::Port(port) => format!("redis://127.0.0.1:{port}/0"),
    }
}

fn command(words: &[&str]) -> Command {
    let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("peers/python/blueque_peer.py");
    let mut command = Command::new(python());
    command.arg(program).args(words).stdout(Stdio::piped());
    command
}

/// Does what it is told, every time as a process that ends afterwards.
pub(crate) struct Peer {
    child: Child,
    orders: ChildStdin,
    answers: BufReader<ChildStdout>,
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
            answers: BufReader::new(child.stdout.take().unwrap()),
            child,
        }
    }

    /// Does these steps; the answers of those that were done, and whether all were.
    pub(crate) fn follow(&mut self, url: &str, steps: &Value) -> (Vec<Value>, bool) {
        writeln!(self.orders, "{}", json!({ "url": url, "steps": steps })).unwrap();
        let mut answers = Vec::new();
        loop {
            let mut line = String::new();
            let read = self.answers.read_line(&mut line).unwrap();
            assert!(read > 0, "the real client has ended");
            let answer: Value = serde_json::from_str(&line).unwrap();
            match answer.get("end") {
                Some(status) => return (answers, *status == 0),
                None => answers.push(answer),
            }
        }
    }

    /// Does these steps, all of them.
    #[track_caller]
    pub(crate) fn does(&mut self, server: &Server, steps: &Value) -> Vec<Value> {
        let (answers, is_whole) = self.follow(&url(server), steps);
        assert!(
            is_whole,
            "the real client failed in {steps} after {answers:?}"
        );
        answers
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A worker of the original that goes on until it is killed.
pub(crate) struct Worker(Child);

impl Worker {
    /// `work` prints the id of each task, `run` and `sleep` are forking runners.
    pub(crate) fn start(word: &str, server: &Server, queue: &str) -> Self {
        Self(command(&[word, &url(server), queue]).spawn().unwrap())
    }

    /// What it printed; it must be killed for this to end.
    pub(crate) fn lines(&mut self) -> Vec<String> {
        let stdout = self.0.stdout.take().unwrap();
        let lines = BufReader::new(stdout).lines();
        lines.map(|line| line.unwrap()).collect()
    }

    /// Sends SIGKILL; it is gone when this returns.
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
