//! The store of each test: a server of its own, named in the environment.

use std::path::Path;
use std::process::Command;

use windlass_testkit::redis::{Cluster, Connection, Sentinels, Server};

/// Servers that end with the test.
pub(crate) struct Place {
    pub(crate) servers: Servers,
    url: String,
}

/// What runs.
pub(crate) enum Servers {
    Single(Server),
    Sentinels(Sentinels),
    Cluster(Cluster),
}

/// A connection on whose word the server takes no writes; it takes them again when this is dropped.
pub(crate) struct Holder {
    connection: Connection,
}

impl Place {
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

    pub(crate) fn name_to(&self, command: &mut Command) {
        command.env("WINDLASS_STORE", &self.url);
    }

    /// Whether there is any key.
    pub(crate) fn is_made(&self, _folder: &Path) -> bool {
        !self.keys().is_empty()
    }

    /// Every key there is.
    pub(crate) fn keys(&self) -> Vec<String> {
        let primaries: Vec<&Server> = match &self.servers {
            Servers::Single(server) => vec![server],
            Servers::Sentinels(sentinels) => vec![sentinels.primary()],
            // At first the primaries, and no test here makes a replica one of them.
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

    /// The one server.
    pub(crate) fn server(&self) -> &Server {
        match &self.servers {
            Servers::Single(server) => server,
            _ => panic!("there are several servers"),
        }
    }

    pub(crate) fn hold(&self, _folder: &Path) -> Holder {
        let mut connection = self.server().connect().unwrap();
        let pause = connection.command(&["CLIENT", "PAUSE", "60000", "WRITE"]);
        pause.unwrap().ok();
        Holder { connection }
    }
}

impl Drop for Holder {
    fn drop(&mut self) {
        let _ = self.connection.command(&["CLIENT", "UNPAUSE"]);
    }
}
