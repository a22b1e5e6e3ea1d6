//! The append-only mode of a private Redis.

use serde::Serialize;
use windlass_testkit::redis::{Fsync, ServerOptions};

/// The append-only mode of a private Redis.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Aof {
    /// Nothing on disk.
    Off,
    /// Synced about once per second.
    Everysec,
    /// Synced before the reply to a write.
    Always,
}

impl Aof {
    /// The name of the mode.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Everysec => "everysec",
            Self::Always => "always",
        }
    }

    pub(crate) fn options(self) -> ServerOptions {
        let options = ServerOptions::new().tcp();
        match self {
            Self::Off => options,
            Self::Everysec => options.append_only(Fsync::EverySecond),
            Self::Always => options.append_only(Fsync::Always),
        }
    }
}
