//! The store of each test: the default one, a file in its folder.

use std::path::Path;
use std::process::Command;

/// Nothing is there until a command makes it.
pub(crate) struct Place;

/// Another program that has the file for itself; it lets go when this is dropped.
pub(crate) struct Holder {
    _connection: rusqlite::Connection,
}

impl Place {
    pub(crate) fn new() -> Self {
        Self
    }

    /// The default needs no name.
    #[expect(clippy::unused_self, reason = "other places have a name")]
    pub(crate) fn name_to(&self, _command: &mut Command) {}

    #[expect(clippy::unused_self, reason = "other places are not in the folder")]
    pub(crate) fn is_made(&self, folder: &Path) -> bool {
        folder.join("windlass.db").exists()
    }

    #[expect(clippy::unused_self, reason = "other places are not in the folder")]
    pub(crate) fn hold(&self, folder: &Path) -> Holder {
        let connection = rusqlite::Connection::open(folder.join("windlass.db")).unwrap();
        connection.execute_batch("BEGIN IMMEDIATE").unwrap();
        Holder {
            _connection: connection,
        }
    }
}
