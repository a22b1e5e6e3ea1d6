//! Whether a private Redis keeps an append-only file, and when it brings it to the disk.

use serde::Serialize;
use windlass_private_redis::{Fsync, ServerOptions};

/// How durable a private Redis is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Aof {
    /// Nothing on disk.
    Off,
    /// To the disk about once per second.
    Everysec,
    /// To the disk before a write is answered.
    Always,
}

impl Aof {
    /// The word of the configuration.
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
