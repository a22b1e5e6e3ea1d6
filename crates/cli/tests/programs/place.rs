//! The store of each test: a file in its folder, or a Redis server of its own.

use std::path::Path;
use std::process::Command;

use windlass_testkit::redis::Server;

/// Nothing is there until a command makes it.
pub(crate) struct Place(Option<Server>);

/// Nobody holds a store here.
pub(crate) struct Holder;

impl Place {
    pub(crate) fn new() -> Self {
        Self(None)
    }

    pub(crate) fn redis() -> Self {
        Self(Some(Server::start()))
    }

    pub(crate) fn server(&self) -> &Server {
        self.0.as_ref().unwrap()
    }

    pub(crate) fn name_to(&self, command: &mut Command) {
        if let Some(server) = &self.0 {
            command.env("WINDLASS_STORE", server.url());
        }
    }

    #[expect(clippy::unused_self, reason = "other places are not in the folder")]
    pub(crate) fn is_made(&self, folder: &Path) -> bool {
        folder.join("windlass.db").exists()
    }

    #[expect(clippy::unused_self, reason = "other places can be held")]
    pub(crate) fn hold(&self, _folder: &Path) -> Holder {
        Holder
    }
}
