//! `windlass doctor`: checks the health of the store and its queues, each with a fix.

mod file;
mod queues;
mod servers;

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
pub(crate) struct Arguments {
    /// Read every page of a SQLite store's file as well; takes long on a large one
    #[arg(long)]
    deep: bool,
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
    let exit = match examine(&url, arguments.deep, &mut checks).await {
        Ok(()) if checks.iter().any(|check| check.status == Status::Fail) => Exit::Failed,
        Ok(()) => Exit::Ok,
        Err(failure) => {
            checks.push(Check::failed("store", &failure));
            failure.exit
        }
    };
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

async fn examine(url: &StoreUrl, is_deep: bool, checks: &mut Vec<Check>) -> Result<()> {
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
            if is_deep {
                file::examine_pages(store.check_file().await?, checks);
            }
            queues::examine(&store, checks).await
        }
        StoreUrl::Redis { .. } => {
            let options = redis::Options::default();
            let store = RedisStore::open(&url.to_secret_string(), options).await?;
            checks.push(answers);
            servers::examine(&store.facts().await?, checks);
            queues::examine(&store, checks).await
        }
        _ => {
            let store = windlass::open(url, Existing::Required).await?;
            checks.push(answers);
            queues::examine(store.as_ref() as &dyn Store, checks).await
        }
    }
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
