//! The key layout and the server.

use crate::blueque::{Blueque, BluequeLayout, BluequeQueue};
use clap::{Args, ValueEnum};

use super::super::server;
use windlass_terminal::exit::Result;
use windlass_terminal::session::Session;

/// The flag that all commands have.
#[derive(Debug, Args)]
pub(super) struct Target {
    /// Key layout: blueque_… or bluequeue_…
    #[arg(long, value_enum, default_value_t, value_name = "WHICH")]
    layout: LayoutArgument,
}

#[derive(Debug, Clone, Copy, Default, ValueEnum)]
enum LayoutArgument {
    /// The released library: blueque_…
    #[default]
    Released,
    /// The original design note: bluequeue_…
    Document,
}

impl Target {
    pub(super) async fn open(&self, session: &Session) -> Result<Blueque> {
        let layout = match self.layout {
            LayoutArgument::Released => BluequeLayout::Released,
            LayoutArgument::Document => BluequeLayout::Document,
        };
        Ok(Blueque::new(server(session).await?, layout))
    }

    pub(super) async fn queue(&self, name: &str, session: &Session) -> Result<BluequeQueue> {
        Ok(self.open(session).await?.queue(name)?)
    }
}
