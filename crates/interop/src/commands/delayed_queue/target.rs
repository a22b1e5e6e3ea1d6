//! The keys and the server.

use crate::delayed_queue::{DelayedQueue, PREFIX};
use clap::Args;

use super::super::server;
use windlass_terminal::exit::Result;
use windlass_terminal::session::Session;

/// The flag that all commands have.
#[derive(Debug, Args)]
pub(super) struct Target {
    /// Key prefix
    #[arg(long, value_name = "P", default_value = PREFIX)]
    prefix: String,
}

impl Target {
    pub(super) async fn open(&self, session: &Session) -> Result<DelayedQueue> {
        Ok(DelayedQueue::new(server(session).await?, &self.prefix))
    }
}
