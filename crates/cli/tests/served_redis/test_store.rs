//! The store of each test: a private Redis server behind `windlass serve`, reached with a token.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};

use windlass_testkit::redis::{Connection, Server};

const TOKEN: &str = "0123456789abcdef0123456789abcdef";

/// Both servers, stopped at the end of the test.
pub(crate) struct TestStore {
    child: Child,
    url: String,
    /// Kept open so that the server can write to it.
    _stdout: BufReader<ChildStdout>,
    redis: Server,
}

/// Pauses writes on the Redis server until dropped.
pub(crate) struct StoreLock {
    connection: Connection,
}

impl Drop for TestStore {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl TestStore {
    pub(crate) fn new() -> Self {
        let redis = Server::start();
        let mut child = Command::new(env!("CARGO_BIN_EXE_windlass"))
            .args(["serve", "--listen", "127.0.0.1:0"])
            .env("WINDLASS_STORE", redis.url())
            .env("WINDLASS_HTTP_TOKEN", TOKEN)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        stdout.read_line(&mut line).unwrap();
        Self {
            child,
            url: line.trim().to_owned(),
            _stdout: stdout,
            redis,
        }
    }

    pub(crate) fn configure(&self, command: &mut Command) {
        command.env("WINDLASS_STORE", &self.url);
        command.env("WINDLASS_HTTP_TOKEN", TOKEN);
    }

    /// Returns whether the store has a queue: the server writes keys of its own.
    pub(crate) fn exists(&self, _folder: &Path) -> bool {
        let mut command = Command::new(env!("CARGO_BIN_EXE_windlass"));
        self.configure(&mut command);
        let listed = command.args(["queue", "list", "--json"]).output().unwrap();
        listed.stdout.trim_ascii() != b"[]"
    }

    pub(crate) fn lock(&self, _folder: &Path) -> StoreLock {
        let mut connection = self.redis.connect().unwrap();
        let pause = connection.command(&["CLIENT", "PAUSE", "60000", "WRITE"]);
        pause.unwrap().ok();
        StoreLock { connection }
    }
}

impl Drop for StoreLock {
    fn drop(&mut self) {
        let _ = self.connection.command(&["CLIENT", "UNPAUSE"]);
    }
}
