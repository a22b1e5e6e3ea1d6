//! `windlass serve` on a free port, with a token.

use std::io::{BufRead, BufReader};
use std::process::{Child, ChildStdout, Command, Stdio};

const TOKEN: &str = "0123456789abcdef0123456789abcdef";

/// A server, killed at the end of the test.
pub(crate) struct Served {
    child: Child,
    url: String,
    /// Kept open so that the server can write to it.
    _stdout: BufReader<ChildStdout>,
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Served {
    /// Starts a server on the store that `select` sets.
    pub(crate) fn start(select: impl FnOnce(&mut Command) -> &mut Command) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_windlass"));
        command
            .args(["serve", "--listen", "127.0.0.1:0"])
            .env_remove("WINDLASS_STORE")
            .env("WINDLASS_HTTP_TOKEN", TOKEN)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        let mut child = select(&mut command).spawn().unwrap();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        stdout.read_line(&mut line).unwrap();
        Self {
            child,
            url: line.trim().to_owned(),
            _stdout: stdout,
        }
    }

    pub(crate) fn configure(&self, command: &mut Command) {
        command.env("WINDLASS_STORE", &self.url);
        command.env("WINDLASS_HTTP_TOKEN", TOKEN);
    }

    /// Returns whether the store has a queue. The server itself creates the file, or keys.
    pub(crate) fn has_queue(&self) -> bool {
        let mut command = Command::new(env!("CARGO_BIN_EXE_windlass"));
        self.configure(&mut command);
        let listed = command.args(["queue", "list", "--json"]).output().unwrap();
        listed.stdout.trim_ascii() != b"[]"
    }
}
