//! A real client of the original in a process of its own, driven line by line.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use windlass_interop::redis_work_queue::Layout;

use crate::bench::PREFIX;

/// Which client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Python,
    Node,
    Rust,
}

impl Kind {
    /// The real clients of a layout.
    pub(crate) fn of(layout: Layout) -> &'static [Self] {
        match layout {
            Layout::V01 => &[Self::Python, Self::Node],
            Layout::V03 => &[Self::Rust],
        }
    }

    fn command(self) -> Command {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let (sources, installed) = (root.join("peers"), root.join("../../target/peers"));
        match self {
            Self::Python => {
                let mut command = Command::new(present(installed.join("python/bin/python")));
                command.arg(sources.join("python/redis_work_queue_peer.py"));
                command
            }
            Self::Node => {
                let mut command = Command::new("node");
                let modules = present(installed.join("node/node_modules"));
                command.env("NODE_PATH", modules);
                command.arg(sources.join("node/redis_work_queue_peer.js"));
                command
            }
            Self::Rust => Command::new(present(installed.join("rust/debug/windlass-interop-peer"))),
        }
    }
}

fn present(path: PathBuf) -> PathBuf {
    assert!(
        path.exists(),
        "{} is not there: run `cargo xtask peers`",
        path.display()
    );
    path
}

/// A running client; it ends with this value.
#[derive(Debug)]
pub(crate) struct Peer {
    pub(crate) kind: Kind,
    child: Child,
    to: ChildStdin,
    from: BufReader<ChildStdout>,
}

/// One that was leased and completed.
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

    /// Does one operation at this port; the `Err` is what the client says of its failure.
    pub(crate) fn try_do(&mut self, port: u16, words: &[&str]) -> Result<Vec<String>, String> {
        let mut line = vec![words[0].to_owned(), port.to_string()];
        line.extend(words[1..].iter().map(|&word| word.to_owned()));
        writeln!(self.to, "{}", line.join("\t")).unwrap();
        let mut answer = String::new();
        self.from.read_line(&mut answer).unwrap();
        let mut parts = answer.trim_end().split('\t').map(str::to_owned);
        match parts.next().as_deref() {
            Some("ok") => Ok(parts.collect()),
            Some("failed") => Err(parts.collect()),
            _ => panic!("{:?} ended at {words:?}: {answer:?}", self.kind),
        }
    }

    pub(crate) fn act(&mut self, port: u16, words: &[&str]) -> Vec<String> {
        self.try_do(port, words)
            .unwrap_or_else(|error| panic!("{:?} at {words:?}: {error}", self.kind))
    }

    /// Leases and completes until both lists are empty.
    pub(crate) fn work(&mut self, port: u16) -> Vec<Handled> {
        let handled = self.act(port, &["work", "600"]);
        let read = |text: &String| {
            let mut parts = text.split('=').map(str::to_owned);
            let mut next = || parts.next().unwrap();
            Handled {
                id: next(),
                data: next(),
                is_completed: next().eq_ignore_ascii_case("true"),
            }
        };
        handled.iter().map(read).collect()
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
