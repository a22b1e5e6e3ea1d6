//! `windlass store`: backs up and compacts the file of a SQLite store, migrates a Redis store.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use clap::Subcommand;
use serde::Serialize;
use windlass::StoreUrl;
use windlass::redis::RedisStore;
use windlass::sqlite::{self, SqliteStore};

use crate::exit::{CliError, Exit, Result};
use crate::session::Session;

/// Subcommands.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Copy the store to a new file while it is in use (SQLite)
    #[command(
        after_help = "The copy is the store as it was at one moment, and is a store itself. Workers and servers keep \
    running. It needs free disk space for a copy of the jobs. FILE must not exist; it appears when it is complete.\n\n\
    To restore it, stop all processes that use the store, remove the files of the store and copy FILE \
    to its path. Jobs that finished after the backup run again.\n\n\
    Example:\n  windlass store backup /var/backups/jobs.db --store sqlite:jobs.db"
    )]
    Backup {
        /// File to create
        #[arg(value_name = "FILE")]
        file: PathBuf,
    },
    /// Give the space of deleted jobs back to the disk (SQLite)
    #[command(
        after_help = "Maintenance gives space back a few MiB at a time, and new jobs reuse it. Run this to get all \
    of it at once, for example after `windlass queue purge` on a full disk.\n\n\
    Writers wait while the file is rewritten. The rewrite needs free disk space for a copy of the jobs; \
    without it only free pages are given back.\n\n\
    Example:\n  windlass store compact --store sqlite:jobs.db"
    )]
    Compact,
    /// Convert a store of an older Windlass (Redis)
    #[command(
        after_help = "Stop the workers of the older Windlass first: the jobs they run would run again when their leases \
    expire.\n\n\
    Queues are converted one after another, in small pages. Calls to the queue that is being converted \
    are refused; the older Windlass can use the others until their turn. If this command is stopped, \
    run it again: it continues.\n\n\
    Example:\n  windlass store migrate --store redis://127.0.0.1:6379/0"
    )]
    Migrate,
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
    match command {
        Command::Backup { file } => backup(file, session).await,
        Command::Compact => compact(session).await,
        Command::Migrate => migrate(session).await,
    }
}

/// Opens the SQLite store. `purpose` says what its file is needed for.
fn open_file(
    session: &Session,
    purpose: &str,
    other: &'static str,
) -> Result<(StoreUrl, SqliteStore)> {
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
            let message = format!("{url} is not a SQLite store, so it has no file to {purpose}");
            return Err(CliError::usage(message, other));
        }
    };
    let options = sqlite::Options {
        create: false,
        ..sqlite::Options::default()
    };
    let store = SqliteStore::open(path, options)?;
    Ok((url, store))
}

#[derive(Debug, Serialize)]
struct BackupReply<'a> {
    store: String,
    file: &'a Path,
    bytes: u64,
}

async fn backup(file: &Path, session: &mut Session) -> Result<Exit> {
    let other = "for Redis, save its own file: redis-cli BGSAVE, then copy dump.rdb";
    let (url, store) = open_file(session, "back up", other)?;
    let reply = BackupReply {
        store: url.to_string(),
        file,
        bytes: store.backup(file).await?,
    };
    session.output.result(&reply, |output| {
        output.line(&format!(
            "backed up {} to {}: {} bytes",
            reply.store,
            file.display(),
            reply.bytes
        ));
    });
    Ok(Exit::Ok)
}

async fn compact(session: &mut Session) -> Result<Exit> {
    let other = "use a SQLite store, for example --store sqlite:windlass.db";
    let (url, store) = open_file(session, "compact", other)?;
    let compacted = store.compact().await?;
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

#[derive(Debug, Serialize)]
struct Migrated {
    store: String,
    queues: Vec<MigratedQueue>,
}

#[derive(Debug, Serialize)]
struct MigratedQueue {
    queue: String,
    jobs: u64,
}

async fn migrate(session: &mut Session) -> Result<Exit> {
    let url = session.persistent_store_url()?;
    if let StoreUrl::Http { .. } = url {
        return Err(CliError::usage(
            format!("{url} is a server, and only the store itself can be migrated"),
            "run this where the store is, with its URL",
        ));
    }
    let mut jobs = BTreeMap::new();
    if let StoreUrl::Redis { .. } = url {
        RedisStore::migrate(&url.to_secret_string(), |page| {
            if page.is_done {
                *jobs.entry(page.queue.to_string()).or_default() += page.jobs;
            }
            Ok(())
        })
        .await?;
    }
    let queues = jobs.into_iter();
    let reply = Migrated {
        store: url.to_string(),
        queues: queues
            .map(|(queue, jobs)| MigratedQueue { queue, jobs })
            .collect(),
    };
    session.output.result(&reply, |output| {
        for MigratedQueue { queue, jobs } in &reply.queues {
            output.line(&format!("{queue}: converted {jobs} jobs"));
        }
        if reply.queues.is_empty() {
            output.line("nothing to migrate");
        }
    });
    Ok(Exit::Ok)
}
