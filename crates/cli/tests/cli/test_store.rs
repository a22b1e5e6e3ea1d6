//! The store of each test: the default SQLite file in its folder.

use std::path::Path;
use std::process::Command;

/// Created by the first command that writes.
pub(crate) struct TestStore;

/// A write lock on the file, released when dropped.
pub(crate) struct StoreLock {
    _connection: rusqlite::Connection,
}

impl TestStore {
    pub(crate) fn new() -> Self {
        Self
    }

    /// The default store needs no configuration.
    #[expect(clippy::unused_self, reason = "other stores need a URL")]
    pub(crate) fn configure(&self, _command: &mut Command) {}

    #[expect(clippy::unused_self, reason = "other stores are not in the folder")]
    pub(crate) fn exists(&self, folder: &Path) -> bool {
        folder.join("windlass.db").exists()
    }

    #[expect(clippy::unused_self, reason = "other stores are not in the folder")]
    pub(crate) fn lock(&self, folder: &Path) -> StoreLock {
        let connection = rusqlite::Connection::open(folder.join("windlass.db")).unwrap();
        connection.execute_batch("BEGIN IMMEDIATE").unwrap();
        StoreLock {
            _connection: connection,
        }
    }
}
