//! The store of each test: private Redis servers, configured with the environment.

use std::path::Path;
use std::process::Command;

use windlass_testkit::redis::{Cluster, Connection, Sentinels, Server};

/// Servers, stopped at the end of the test.
pub(crate) struct TestStore {
    pub(crate) servers: Servers,
    url: String,
}

/// The running servers.
pub(crate) enum Servers {
    Single(Server),
    Sentinels(Sentinels),
    Cluster(Cluster),
}

/// Pauses writes on the server until dropped.
pub(crate) struct StoreLock {
    connection: Connection,
}

impl TestStore {
    pub(crate) fn new() -> Self {
        Self::single(Server::start())
    }

    pub(crate) fn single(server: Server) -> Self {
        Self {
            url: server.url(),
            servers: Servers::Single(server),
        }
    }

    pub(crate) fn sentinels() -> Self {
        let sentinels = Sentinels::start();
        Self {
            url: sentinels.url(),
            servers: Servers::Sentinels(sentinels),
        }
    }

    pub(crate) fn cluster() -> Self {
        let cluster = Cluster::start();
        Self {
            url: cluster.url(),
            servers: Servers::Cluster(cluster),
        }
    }

    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    pub(crate) fn configure(&self, command: &mut Command) {
        command.env("WINDLASS_STORE", &self.url);
    }

    /// Returns whether any key exists.
    pub(crate) fn exists(&self, _folder: &Path) -> bool {
        !self.keys().is_empty()
    }

    /// Returns all keys.
    pub(crate) fn keys(&self) -> Vec<String> {
        let primaries: Vec<&Server> = match &self.servers {
            Servers::Single(server) => vec![server],
            Servers::Sentinels(sentinels) => vec![sentinels.primary()],
            // The first three nodes are the primaries; no test here fails one over.
            Servers::Cluster(cluster) => cluster.nodes()[..3].iter().collect(),
        };
        let mut keys: Vec<String> = primaries
            .iter()
            .flat_map(|server| server.command(&["KEYS", "*"]).array().to_vec())
            .map(|key| key.text())
            .collect();
        keys.sort();
        keys
    }

    /// The only server.
    pub(crate) fn server(&self) -> &Server {
        match &self.servers {
            Servers::Single(server) => server,
            _ => panic!("not a single server"),
        }
    }

    pub(crate) fn lock(&self, _folder: &Path) -> StoreLock {
        let mut connection = self.server().connect().unwrap();
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
