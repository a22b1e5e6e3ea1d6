//! `windlass doctor`: checks the health of the store and its queues, each with a fix.

mod answers;
mod audit;
mod file;
mod place;
mod queues;
#[cfg(test)]
mod sample;
mod servers;
mod workers;

use clap::Args;
use serde::Serialize;
use windlass::redis::{self, RedisStore};
use windlass::sqlite::{self, SqliteStore};
use windlass::{Existing, Store, StoreUrl};

use crate::exit::{Exit, Failure, Result};
use crate::output::{Colour, Output};
use crate::session::Session;

/// What may be typed.
#[derive(Debug, Args)]
#[command(
    after_help = "Each check is ok, warn or fail, and what is not ok comes with a fix. Any fail makes the exit 1, or \
    that of the error where the store cannot be opened.\n\n\
    Checks of any store:\n  \
    store       it answers, it is Windlass's, and no newer version wrote it\n  \
    writes      a step that may write gets through, in Redis a script\n  \
    latency     how long such a step takes\n  \
    workers     those on record are alive\n  \
    version     they run the same version as this program\n  \
    queue …     nothing is paused, dead, too old or without a worker\n  \
    audit …     with --audit: every job is in one place, every counter is right\n\n\
    Checks of a SQLite store:\n  \
    sqlite, schema, size, journal, synchronous, permissions: what its file is like\n  \
    folder      its folder can be written\n  \
    room        its disk has room\n  \
    bells       no socket is left of a process that was killed\n  \
    pages       with --deep: every page of the file is whole\n\n\
    Checks of each Redis server:\n  \
    server      its version, the same on all, and that it is a primary\n  \
    eviction    it throws no keys away\n  \
    memory      it has a limit, and room below it\n  \
    disk        what it keeps over a restart\n  \
    durability  it has the replicas that the URL asks for\n  \
    clock       its clock is that of this machine"
)]
pub(crate) struct Arguments {
    /// Read every page of a SQLite store's file as well; takes long on a large one
    #[arg(long)]
    deep: bool,

    /// Audit every job and every counter as well, and mend what is wrong; takes long on large queues
    #[arg(long)]
    audit: bool,
}

/// How a check came out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum Status {
    Ok,
    Warn,
    Fail,
}

/// One thing that was looked at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
struct Check {
    name: String,
    status: Status,
    message: String,
    /// What to do about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    fix: Option<String>,
}

impl Check {
    fn ok(name: impl Into<String>, message: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            status: Status::Ok,
            message: message.into(),
            fix: None,
        }
    }

    fn new(
        status: Status,
        name: impl Into<String>,
        message: impl Into<String>,
        fix: impl Into<String>,
    ) -> Self {
        Self {
            name: name.into(),
            status,
            message: message.into(),
            fix: Some(fix.into()),
        }
    }

    fn failed(name: &str, failure: &Failure) -> Self {
        Self::new(
            Status::Fail,
            name,
            &failure.problem.message,
            &failure.problem.help,
        )
    }
}

#[derive(Debug, Serialize)]
struct Reply {
    store: String,
    healthy: bool,
    checks: Vec<Check>,
}

/// Looks at everything and prints it; a check that failed fails the command.
pub(crate) async fn run(arguments: &Arguments, session: &mut Session) -> Result<Exit> {
    let url = session.lasting_store()?;
    let mut checks = Vec::new();
    let examined = examine(&url, arguments, &mut checks).await;
    let failure = examined.err().map(|failure| {
        checks.push(Check::failed("store", &failure));
        failure.exit
    });
    if let StoreUrl::Sqlite { path } = &url {
        place::examine(path, &mut checks);
    }
    let has_failed = checks.iter().any(|check| check.status == Status::Fail);
    let exit = failure.unwrap_or(if has_failed { Exit::Failed } else { Exit::Ok });
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
    let answers = Check::ok("store", format!("{url} answers"));
    match url {
        StoreUrl::Sqlite { path } => {
            let options = sqlite::Options {
                create: false,
                ..sqlite::Options::default()
            };
            let store = SqliteStore::open(path, options)?;
            checks.push(answers);
            file::examine(path, &store.info().await?, checks);
            if arguments.deep {
                file::examine_pages(store.check_file().await?, checks);
            }
            examine_any(&store, false, arguments, checks).await
        }
        StoreUrl::Redis { .. } => {
            let options = redis::Options::default();
            let store = RedisStore::open(&url.to_secret_string(), options).await?;
            checks.push(answers);
            servers::examine(&store.facts().await?, checks);
            examine_any(&store, true, arguments, checks).await
        }
        _ => {
            let store = windlass::open(url, Existing::Required).await?;
            checks.push(answers);
            examine_any(store.as_ref(), false, arguments, checks).await
        }
    }
}

/// What can be asked of any store.
async fn examine_any(
    store: &dyn Store,
    is_redis: bool,
    arguments: &Arguments,
    checks: &mut Vec<Check>,
) -> Result<()> {
    answers::examine(store, is_redis, checks).await;
    let workers = store.workers().await?;
    workers::examine(&workers, checks);
    queues::examine(store, &workers, is_redis, checks).await?;
    if arguments.audit {
        audit::examine(store, checks).await?;
    }
    Ok(())
}

fn print(output: &mut Output, reply: &Reply) {
    for check in &reply.checks {
        let (word, colour) = match check.status {
            Status::Ok => ("ok", Colour::Green),
            Status::Warn => ("warn", Colour::Yellow),
            Status::Fail => ("fail", Colour::Red),
        };
        output.flagged(word, colour, &format!("{}: {}", check.name, check.message));
        if let Some(fix) = &check.fix {
            output.line(&format!("      fix: {fix}"));
        }
    }
}
