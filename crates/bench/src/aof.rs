//! The append-only mode of a private Redis.

use clap::ValueEnum;
use serde::Serialize;

/// The append-only mode of a private Redis.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Aof {
    /// Nothing on disk
    Off,
    /// Synced about once per second
    Everysec,
    /// Synced before the reply to a write
    Always,
}
