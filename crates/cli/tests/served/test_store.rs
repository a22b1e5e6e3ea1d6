//! The store of each test: a SQLite file behind `windlass serve`, reached with a token.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};

use tempfile::TempDir;

const TOKEN: &str = "0123456789abcdef0123456789abcdef";

/// A server on its own store, killed at the end of the test.
pub(crate) struct TestStore {
    child: Child,
    url: String,
    /// Kept open so that the server can write to it.
    _stdout: BufReader<ChildStdout>,
    folder: TempDir,
}

/// A write lock on the file, released when dropped.
pub(crate) struct StoreLock {
    _connection: rusqlite::Connection,
}

impl Drop for TestStore {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl TestStore {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut child = Command::new(env!("CARGO_BIN_EXE_windlass"))
            .args(["serve", "--listen", "127.0.0.1:0"])
            .current_dir(folder.path())
            .env_remove("WINDLASS_STORE")
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
            folder,
        }
    }

    pub(crate) fn configure(&self, command: &mut Command) {
        command.env("WINDLASS_STORE", &self.url);
        command.env("WINDLASS_HTTP_TOKEN", TOKEN);
    }

    /// Returns whether the store has a queue: the server creates the file.
    pub(crate) fn exists(&self, _folder: &Path) -> bool {
        let mut command = Command::new(env!("CARGO_BIN_EXE_windlass"));
        self.configure(&mut command);
        let listed = command.args(["queue", "list", "--json"]).output().unwrap();
        listed.stdout.trim_ascii() != b"[]"
    }

    pub(crate) fn lock(&self, _folder: &Path) -> StoreLock {
        let file = self.folder.path().join("windlass.db");
        let connection = rusqlite::Connection::open(file).unwrap();
        connection.execute_batch("BEGIN IMMEDIATE").unwrap();
        StoreLock {
            _connection: connection,
        }
    }
}
