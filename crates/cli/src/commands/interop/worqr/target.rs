//! Which keys are meant, on which server.

use clap::{Args, ValueEnum};
use windlass_interop::worqr::{Settings, Worqr};

use super::super::server;
use crate::exit::Result;
use crate::session::Session;

/// The flags that every command has.
#[derive(Debug, Args)]
pub(super) struct Place {
    /// What the keys begin with [default: worqr; nothing in the document's layout]
    #[arg(long, value_name = "P")]
    prefix: Option<String>,

    /// Which names the keys have
    #[arg(long, value_enum, default_value_t, value_name = "WHICH")]
    layout: LayoutWord,
}

#[derive(Debug, Clone, Copy, Default, ValueEnum)]
enum LayoutWord {
    /// worqr:queues:Q1, as the library was released
    #[default]
    Released,
    /// Q1, `W1_Q1`, `WorkMap_W1`, as in the document before it
    Document,
}

impl Place {
    pub(super) async fn open(&self, session: &Session) -> Result<Worqr> {
        let prefix = self.prefix.clone();
        let settings = match self.layout {
            LayoutWord::Released => prefix.map_or_else(Settings::default, Settings::released),
            LayoutWord::Document => Settings::document(prefix.unwrap_or_default()),
        };
        Ok(Worqr::new(&server(session).await?, settings)?)
    }
}
