//! The store of each test: a SQLite file behind `windlass serve`, reached with a token.

use std::path::Path;
use std::process::Command;

use tempfile::TempDir;

use super::server::Served;

/// A server on its own store.
pub(crate) struct TestStore {
    server: Served,
    folder: TempDir,
}

/// A write lock on the file, released when dropped.
pub(crate) struct StoreLock {
    _connection: rusqlite::Connection,
}

impl TestStore {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let server = Served::start(|command| command.current_dir(folder.path()));
        Self { server, folder }
    }

    pub(crate) fn configure(&self, command: &mut Command) {
        self.server.configure(command);
    }

    pub(crate) fn exists(&self, _folder: &Path) -> bool {
        self.server.has_queue()
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
