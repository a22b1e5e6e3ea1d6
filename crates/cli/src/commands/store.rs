//! `windlass store`: manages the file of a SQLite store.

use clap::Subcommand;
use serde::Serialize;
use windlass::StoreUrl;
use windlass::sqlite::{self, SqliteStore};

use crate::exit::{CliError, Exit, Result};
use crate::session::Session;

/// Subcommands.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Give the space of deleted jobs back to the disk
    #[command(
        after_help = "Maintenance gives space back a few MiB at a time, and new jobs reuse it. Run this to get all \
    of it at once, for example after `windlass queue purge` on a full disk.\n\n\
    Writers wait while the file is rewritten. The rewrite needs free disk space for a copy of the jobs; \
    without it only free pages are given back.\n\n\
    Example:\n  windlass store compact --store sqlite:jobs.db"
    )]
    Compact,
}

#[derive(Debug, Serialize)]
struct Reply {
    store: String,
    bytes_before: u64,
    bytes_after: u64,
    rewritten: bool,
}

/// Runs a subcommand.
pub(crate) async fn run(command: &Command, session: &mut Session) -> Result<Exit> {
    let Command::Compact = command;
    let url = session.persistent_store_url()?;
    let path = match &url {
        StoreUrl::Sqlite { path } => path,
        StoreUrl::Http { .. } => {
            return Err(CliError::usage(
                format!("{url} is a store behind a server, and only its own machine has the file"),
                "run this command where the file is, with --store sqlite:PATH; the server can keep running",
            ));
        }
        _ => {
            return Err(CliError::usage(
                format!("{url} is not a SQLite store, so it has no file to compact"),
                "use a SQLite store, for example --store sqlite:windlass.db",
            ));
        }
    };
    let options = sqlite::Options {
        create: false,
        ..sqlite::Options::default()
    };
    let compacted = SqliteStore::open(path, options)?.compact().await?;
    let reply = Reply {
        store: url.to_string(),
        bytes_before: compacted.bytes_before,
        bytes_after: compacted.bytes_after,
        rewritten: compacted.is_rewritten,
    };
    session.output.result(&reply, |output| {
        output.line(&format!(
            "compacted from {} to {} bytes",
            reply.bytes_before, reply.bytes_after
        ));
        if !reply.rewritten {
            output.note("gave back free pages only: the disk is too full for a copy of the jobs");
        }
    });
    Ok(Exit::Ok)
}
