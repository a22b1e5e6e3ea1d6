//! `windlass config show`: the effective settings and their sources.

use clap::Subcommand;
use serde::Serialize;

use crate::exit::{Exit, Result};
use crate::session::Session;

/// Subcommands.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Print every setting with its value and source
    Show,
}

#[derive(Debug, Serialize)]
struct Reply {
    store: SettingReply,
}

#[derive(Debug, Serialize)]
struct SettingReply {
    value: String,
    source: &'static str,
    /// The name of the flag, variable or file.
    origin: String,
}

/// Prints the settings, with passwords in URLs masked.
pub(crate) fn run(command: &Command, session: &mut Session) -> Result<Exit> {
    let Command::Show = command;
    let settings = session.settings()?;
    let store = SettingReply {
        value: settings.store.to_string(),
        source: settings.store_source.as_str(),
        origin: settings.store_source.to_string(),
    };
    let reply = Reply { store };
    session.output.result(&reply, |output| {
        let row = vec![
            "store".to_owned(),
            reply.store.value.clone(),
            reply.store.origin.clone(),
        ];
        output.table(&["setting", "value", "source"], vec![row]);
    });
    Ok(Exit::Ok)
}
