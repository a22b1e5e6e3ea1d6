//! `windlass doctor`: checks the store, its queues and workers, and suggests fixes.

mod audit;
mod file;
mod folder;
mod servers;

use clap::Args;
use serde::Serialize;
use windlass::redis::{self, RedisStore};
use windlass::sqlite::{self, SqliteStore};
use windlass::{OpenMode, Store, StoreUrl};
use windlass_api::health::{self, Check, CheckStatus as Status};

use crate::exit::{Exit, Result};
use crate::output::{Colour, Output};
use crate::session::Session;

/// Command-line arguments.
#[derive(Debug, Args)]
#[command(
    after_help = "Each check is ok, warn or fail; warn and fail come with a fix. Exits with 1 if a check failed, or \
    with the code of the error if the store cannot be opened.\n\n\
    Checks for every store:\n  \
    store       is reachable, belongs to Windlass and has a supported version\n  \
    writes      accepts a write transaction (Redis: a script)\n  \
    latency     how long such a write takes\n  \
    workers     registered workers are alive\n  \
    version     workers run the same version as this program\n  \
    queue …     not paused, no dead or overdue jobs, has a worker\n  \
    audit …     with --audit: every job and counter is consistent\n\n\
    Checks for a SQLite store:\n  \
    sqlite, schema, size, journal, synchronous, permissions: properties of the file\n  \
    folder      is writable\n  \
    owners      no files of other users, and none open to them\n  \
    space       free space on the disk\n  \
    sockets     no wake-up sockets left by killed processes\n  \
    pages       with --deep: integrity of every page of the file\n\n\
    Checks for each Redis server:\n  \
    server      is a primary; all servers run the same version\n  \
    eviction    maxmemory-policy is noeviction\n  \
    memory      maxmemory is set and not nearly reached\n  \
    disk        append-only file and fsync policy\n  \
    durability  has the replicas that the store URL requires\n  \
    clock       agrees with the clock of this machine"
)]
pub(crate) struct Arguments {
    /// Also read every page of a SQLite file; slow for large files
    #[arg(long)]
    deep: bool,

    /// Also check every job and counter, and repair what is wrong; slow for large queues
    #[arg(long)]
    audit: bool,
}

#[derive(Debug, Serialize)]
struct Reply {
    store: String,
    healthy: bool,
    checks: Vec<Check>,
}

/// Runs all checks and prints them. Fails if a check failed.
pub(crate) async fn run(arguments: &Arguments, session: &mut Session) -> Result<Exit> {
    let url = session.persistent_store_url()?;
    let mut checks = Vec::new();
    let examined = examine(&url, arguments, &mut checks).await;
    let open_error = examined.err().map(|error| {
        checks.push(Check::failed("store", &error.details));
        error.exit
    });
    if let StoreUrl::Sqlite { path } = &url {
        folder::examine(path, &mut checks);
    }
    let has_failed = checks.iter().any(|check| check.status == Status::Fail);
    let exit = open_error.unwrap_or(if has_failed { Exit::Failed } else { Exit::Ok });
    let reply = Reply {
        store: url.to_string(),
        healthy: exit == Exit::Ok,
        checks,
    };
    session
        .output
        .result(&reply, |output| print(output, &reply));
    Ok(exit)
}

async fn examine(url: &StoreUrl, arguments: &Arguments, checks: &mut Vec<Check>) -> Result<()> {
    let reachable = Check::ok("store", format!("{url} is reachable"));
    match url {
        StoreUrl::Sqlite { path } => {
            let options = sqlite::Options {
                create: false,
                ..sqlite::Options::default()
            };
            let store = SqliteStore::open(path, options)?;
            checks.push(reachable);
            file::examine(path, &store.info().await?, checks);
            if arguments.deep {
                file::examine_pages(store.check_file().await?, checks);
            }
            examine_any(&store, false, arguments, checks).await
        }
        StoreUrl::Redis { .. } => {
            let options = redis::Options::default();
            let store = RedisStore::open(&url.to_secret_string(), options).await?;
            checks.push(reachable);
            servers::examine(&store.info().await?, checks);
            examine_any(&store, true, arguments, checks).await
        }
        _ => {
            let store = windlass::open(url, OpenMode::MustExist).await?;
            checks.push(reachable);
            if arguments.deep {
                let message = "not checked: only the machine of the server has the file";
                let fix =
                    "run `windlass doctor --deep` where the file is, with --store sqlite:PATH";
                checks.push(Check::warn("pages", message, fix));
            }
            examine_any(store.as_ref(), false, arguments, checks).await
        }
    }
}

/// Runs the checks that apply to every store.
async fn examine_any(
    store: &dyn Store,
    is_redis: bool,
    arguments: &Arguments,
    checks: &mut Vec<Check>,
) -> Result<()> {
    health::examine(store, is_redis, checks).await?;
    if arguments.audit {
        audit::examine(store, checks).await?;
    }
    Ok(())
}

fn print(output: &mut Output, reply: &Reply) {
    for check in &reply.checks {
        let (label, colour) = match check.status {
            Status::Ok => ("ok", Colour::Green),
            Status::Warn => ("warn", Colour::Yellow),
            Status::Fail => ("fail", Colour::Red),
        };
        output.flagged(label, colour, &format!("{}: {}", check.name, check.message));
        if let Some(fix) = &check.fix {
            output.line(&format!("      fix: {fix}"));
        }
    }
}
