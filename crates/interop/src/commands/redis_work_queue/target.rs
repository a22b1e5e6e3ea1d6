//! The queue's keys and the server.

use crate::redis_work_queue::{WorkQueue, WorkQueueLayout};
use clap::{Args, ValueEnum};

use super::super::server;
use windlass_terminal::exit::Result;
use windlass_terminal::session::Session;

/// The flags that all commands have.
#[derive(Debug, Args)]
pub(super) struct Target {
    /// Key prefix of the queue, without the trailing colon
    #[arg(long, value_name = "P")]
    prefix: String,

    /// Version of the other clients; 0.1 and 0.3 do not see each other's leases
    #[arg(long, value_enum, default_value_t, value_name = "WHICH")]
    layout: LayoutArgument,
}

#[derive(Debug, Clone, Copy, Default, ValueEnum)]
enum LayoutArgument {
    /// The newest Python and Node packages, and all other clients up to 0.1
    #[value(name = "0.1")]
    V01,
    /// The newest crate and Go module
    #[default]
    #[value(name = "0.3")]
    V03,
}

impl Target {
    pub(super) async fn open(&self, session: &Session) -> Result<WorkQueue> {
        let layout = match self.layout {
            LayoutArgument::V01 => WorkQueueLayout::V01,
            LayoutArgument::V03 => WorkQueueLayout::V03,
        };
        let server = server(session).await?;
        Ok(WorkQueue::new(server, &self.prefix, layout))
    }
}
