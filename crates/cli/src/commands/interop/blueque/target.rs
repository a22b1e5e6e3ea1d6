//! Which vocabulary is spoken, with which server.

use clap::{Args, ValueEnum};
use windlass_interop::blueque::{Blueque, Layout, Queue};

use super::super::server;
use crate::exit::Result;
use crate::session::Session;

/// The flag that every command has.
#[derive(Debug, Args)]
pub(super) struct Place {
    /// Which keys: blueque_… as released, or bluequeue_… as in the design note
    #[arg(long, value_enum, default_value_t, value_name = "WHICH")]
    layout: LayoutWord,
}

#[derive(Debug, Clone, Copy, Default, ValueEnum)]
enum LayoutWord {
    /// The library as it was released
    #[default]
    Released,
    /// The note it began with
    Document,
}

impl Place {
    pub(super) async fn open(&self, session: &Session) -> Result<Blueque> {
        let layout = match self.layout {
            LayoutWord::Released => Layout::Released,
            LayoutWord::Document => Layout::Document,
        };
        Ok(Blueque::new(server(session).await?, layout))
    }

    pub(super) async fn queue(&self, name: &str, session: &Session) -> Result<Queue> {
        Ok(self.open(session).await?.queue(name)?)
    }
}
