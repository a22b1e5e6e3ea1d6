//! Which keys are meant, on which server.

use clap::{Args, ValueEnum};
use windlass_interop::redis_work_queue::{Layout, WorkQueue};

use super::super::server;
use crate::exit::Result;
use crate::session::Session;

/// The flags that every command has.
#[derive(Debug, Args)]
pub(super) struct Place {
    /// What the keys of the queue begin with, before the first colon
    #[arg(long, value_name = "P")]
    prefix: String,

    /// Which version the other clients have: 0.1 does not see the leases of 0.3
    #[arg(long, value_enum, default_value_t, value_name = "WHICH")]
    layout: LayoutWord,
}

#[derive(Debug, Clone, Copy, Default, ValueEnum)]
enum LayoutWord {
    /// The newest package of Python and of Node, and all others up to 0.1
    #[value(name = "0.1")]
    V01,
    /// The newest crate and Go module
    #[default]
    #[value(name = "0.3")]
    V03,
}

impl Place {
    pub(super) async fn open(&self, session: &Session) -> Result<WorkQueue> {
        let layout = match self.layout {
            LayoutWord::V01 => Layout::V01,
            LayoutWord::V03 => Layout::V03,
        };
        let server = server(session).await?;
        Ok(WorkQueue::new(server, &self.prefix, layout))
    }
}
