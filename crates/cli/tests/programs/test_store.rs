//! The store of each test: a SQLite file in its folder, or a private Redis server.

use std::path::Path;
use std::process::Command;

use windlass_testkit::redis::Server;

/// Created by the first command that writes.
pub(crate) struct TestStore(Option<Server>);

/// Locking is not supported here.
pub(crate) struct StoreLock;

impl TestStore {
    pub(crate) fn new() -> Self {
        Self(None)
    }

    pub(crate) fn redis() -> Self {
        Self(Some(Server::start()))
    }

    pub(crate) fn server(&self) -> &Server {
        self.0.as_ref().unwrap()
    }

    pub(crate) fn configure(&self, command: &mut Command) {
        if let Some(server) = &self.0 {
            command.env("WINDLASS_STORE", server.url());
        }
    }

    #[expect(clippy::unused_self, reason = "other stores are not in the folder")]
    pub(crate) fn exists(&self, folder: &Path) -> bool {
        folder.join("windlass.db").exists()
    }

    #[expect(clippy::unused_self, reason = "other stores can be locked")]
    pub(crate) fn lock(&self, _folder: &Path) -> StoreLock {
        StoreLock
    }
}
