//! The key layout and the server.

use crate::worqr::{Worqr, WorqrSettings};
use clap::{Args, ValueEnum};

use super::super::server;
use windlass_terminal::exit::Result;
use windlass_terminal::session::Session;

/// The flags that all commands have.
#[derive(Debug, Args)]
pub(super) struct Target {
    /// Key prefix [default: worqr; empty in the document layout]
    #[arg(long, value_name = "P")]
    prefix: Option<String>,

    /// Key layout
    #[arg(long, value_enum, default_value_t, value_name = "WHICH")]
    layout: LayoutArgument,
}

#[derive(Debug, Clone, Copy, Default, ValueEnum)]
enum LayoutArgument {
    /// The released library: worqr:queues:Q1
    #[default]
    Released,
    /// The document before it: Q1, `W1_Q1`, `WorkMap_W1`
    Document,
}

impl Target {
    pub(super) async fn open(&self, session: &Session) -> Result<Worqr> {
        let prefix = self.prefix.clone();
        let settings = match self.layout {
            LayoutArgument::Released => {
                prefix.map_or_else(WorqrSettings::default, WorqrSettings::released)
            }
            LayoutArgument::Document => WorqrSettings::document(prefix.unwrap_or_default()),
        };
        Ok(Worqr::new(&server(session).await?, settings)?)
    }
}
