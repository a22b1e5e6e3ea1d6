//! Workers die: one that is named, or all that do not live any more.

use clap::Args;
use serde::Serialize;
use windlass::{Error, ErrorKind};
use windlass_interop::worqr::{Cleaned, Failed};

use super::place::Place;
use crate::commands::repeat::{self, Repeat};
use crate::exit::{Exit, Result};
use crate::session::Session;

/// What may be typed.
#[derive(Debug, Args)]
pub(crate) struct FailWorker {
    /// The worker
    worker: String,

    #[command(flatten)]
    place: Place,
}

/// What may be typed.
#[derive(Debug, Args)]
pub(crate) struct Cleanup {
    /// Go on until told to stop, with this long between two looks
    #[arg(long, value_name = "D", allow_hyphen_values = true)]
    every: Option<String>,

    #[command(flatten)]
    place: Place,
}

#[derive(Debug, Serialize)]
struct FailReply<'a> {
    worker: &'a str,
    returned: u64,
    undecided: bool,
}

#[derive(Debug, Default, Serialize)]
struct CleanupReply {
    workers: Vec<String>,
    returned: u64,
    undecided: Vec<String>,
}

/// Declares a worker dead.
pub(crate) async fn fail(arguments: FailWorker, session: &mut Session) -> Result<Exit> {
    let worker = arguments.worker.as_str();
    let worqr = arguments.place.open(session).await?;
    let (returned, undecided) = match worqr.fail_worker(worker).await? {
        Failed::Ended(tasks) => (tasks, false),
        Failed::Undecided(tasks) => (tasks, true),
        Failed::Unknown => {
            return Err(Error::new(
                ErrorKind::NotFound,
                format!("there is no worker {worker}"),
                "see who is there with `windlass interop worqr workers`",
            )
            .into());
        }
    };
    let reply = FailReply {
        worker,
        returned,
        undecided,
    };
    session.output.result(&reply, |output| {
        output.line(&format!("{returned} tasks went back"));
        if undecided {
            output.note("what it shares with living workers of the original is left to them");
        }
    });
    Ok(Exit::Ok)
}

/// Cleans up, once or again and again.
pub(crate) async fn cleanup(arguments: Cleanup, session: &mut Session) -> Result<Exit> {
    let every = repeat::parse_interval("--every", arguments.every.as_deref())?;
    let worqr = arguments.place.open(session).await?;
    let rounds = Repeat::until_signal(every, session)?;
    let mut reply = CleanupReply::default();
    let work = || worqr.cleanup_workers();
    let output = &mut session.output;
    rounds.each(output, work, |done| reply.add(done)).await?;
    session.output.result(&reply, |output| {
        output.line(&format!(
            "{} workers were dead, {} tasks went back",
            reply.workers.len(),
            reply.returned
        ));
    });
    Ok(Exit::Ok)
}

impl CleanupReply {
    fn add(&mut self, cleaned: Cleaned) {
        self.workers.extend(cleaned.workers);
        self.returned += cleaned.tasks;
        // Those of the last look: earlier ones may have been decided by now.
        self.undecided = cleaned.undecided;
    }
}
