//! A real client in a separate process, driven line by line.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use windlass_interop::redis_work_queue::WorkQueueLayout;

use crate::fixture::PREFIX;

/// A real client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Python,
    Node,
    Rust,
}

impl Kind {
    /// Returns the real clients of a layout.
    pub(crate) fn of(layout: WorkQueueLayout) -> &'static [Self] {
        match layout {
            WorkQueueLayout::V01 => &[Self::Python, Self::Node],
            WorkQueueLayout::V03 => &[Self::Rust],
        }
    }

    fn command(self) -> Command {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let (sources, installed) = (root.join("peers"), root.join("../../target/peers"));
        match self {
            Self::Python => {
                let mut command = Command::new(installed_path(installed.join("python/bin/python")));
                command.arg(sources.join("python/redis_work_queue_peer.py"));
                command
            }
            Self::Node => {
                let mut command = Command::new("node");
                let modules = installed_path(installed.join("node/node_modules"));
                command.env("NODE_PATH", modules);
                command.arg(sources.join("node/redis_work_queue_peer.js"));
                command
            }
            Self::Rust => Command::new(installed_path(
                installed.join("rust/debug/windlass-interop-peer"),
            )),
        }
    }
}

fn installed_path(path: PathBuf) -> PathBuf {
    assert!(
        path.exists(),
        "{} not found: run `cargo xtask peers`",
        path.display()
    );
    path
}

/// A running client, killed on drop.
#[derive(Debug)]
pub(crate) struct Peer {
    pub(crate) kind: Kind,
    child: Child,
    to: ChildStdin,
    from: BufReader<ChildStdout>,
}

/// An item that was leased and completed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Handled {
    pub(crate) id: String,
    pub(crate) data: String,
    pub(crate) is_completed: bool,
}

impl Peer {
    pub(crate) fn start(kind: Kind) -> Self {
        let mut child = kind
            .command()
            .arg(PREFIX)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap_or_else(|error| panic!("{kind:?}: {error}: run `cargo xtask peers`"));
        Self {
            kind,
            to: child.stdin.take().unwrap(),
            from: BufReader::new(child.stdout.take().unwrap()),
            child,
        }
    }

    /// Runs one operation on the server at this port. The `Err` is the client's error message.
    pub(crate) fn try_run(&mut self, port: u16, operation: &[&str]) -> Result<Vec<String>, String> {
        let mut line = vec![operation[0].to_owned(), port.to_string()];
        line.extend(operation[1..].iter().map(|&arg| arg.to_owned()));
        writeln!(self.to, "{}", line.join("\t")).unwrap();
        let mut reply = String::new();
        self.from.read_line(&mut reply).unwrap();
        let mut parts = reply.trim_end().split('\t').map(str::to_owned);
        match parts.next().as_deref() {
            Some("ok") => Ok(parts.collect()),
            Some("failed") => Err(parts.collect()),
            _ => panic!("{:?} ended at {operation:?}: {reply:?}", self.kind),
        }
    }

    pub(crate) fn run(&mut self, port: u16, operation: &[&str]) -> Vec<String> {
        self.try_run(port, operation)
            .unwrap_or_else(|error| panic!("{:?} at {operation:?}: {error}", self.kind))
    }

    /// Leases and completes until both lists are empty.
    pub(crate) fn work(&mut self, port: u16) -> Vec<Handled> {
        let handled = self.run(port, &["work", "600"]);
        let parse = |text: &String| {
            let mut parts = text.split('=').map(str::to_owned);
            let mut next = || parts.next().unwrap();
            Handled {
                id: next(),
                data: next(),
                is_completed: next().eq_ignore_ascii_case("true"),
            }
        };
        handled.iter().map(parse).collect()
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        // The process may already have ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
