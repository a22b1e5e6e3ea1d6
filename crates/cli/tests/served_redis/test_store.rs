//! The store of each test: a private Redis server behind `windlass serve`, reached with a token.

use std::path::Path;
use std::process::Command;

use windlass_testkit::redis::{Connection, Server};

use super::server::Served;

/// Both servers.
pub(crate) struct TestStore {
    server: Served,
    redis: Server,
}

/// Pauses writes on the Redis server until dropped.
pub(crate) struct StoreLock {
    connection: Connection,
}

impl TestStore {
    pub(crate) fn new() -> Self {
        let redis = Server::start();
        let server = Served::start(|command| command.env("WINDLASS_STORE", redis.url()));
        Self { server, redis }
    }

    pub(crate) fn configure(&self, command: &mut Command) {
        self.server.configure(command);
    }

    pub(crate) fn exists(&self, _folder: &Path) -> bool {
        self.server.has_queue()
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
