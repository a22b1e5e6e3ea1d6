//! Fails one worker, or all workers whose timer ran out.

use crate::worqr::{WorkerFailure, WorqrCleanReport};
use clap::Args;
use serde::Serialize;
use windlass::{Error, ErrorKind};

use super::target::Target;
use windlass_terminal::exit::{Exit, Result};
use windlass_terminal::repeat::{self, Repeat};
use windlass_terminal::session::Session;

/// Arguments of `fail-worker`.
#[derive(Debug, Args)]
pub(crate) struct FailWorker {
    /// Worker id
    worker: String,

    #[command(flatten)]
    target: Target,
}

/// Arguments of `cleanup`.
#[derive(Debug, Args)]
pub(crate) struct Cleanup {
    /// Run until stopped, with this interval between cleanups
    #[arg(long, value_name = "D", allow_hyphen_values = true)]
    every: Option<String>,

    #[command(flatten)]
    target: Target,
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
    let worqr = arguments.target.open(session).await?;
    let (returned, undecided) = match worqr.fail_worker(worker).await? {
        WorkerFailure::Ended(tasks) => (tasks, false),
        WorkerFailure::Undecided(tasks) => (tasks, true),
        WorkerFailure::Unknown => {
            return Err(Error::new(
                ErrorKind::NotFound,
                format!("worker {worker} not found"),
                "list the workers with `windlass interop worqr workers`",
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
        output.line(&format!("{returned} tasks returned"));
        if undecided {
            output.note("processes that may belong to living original workers are left to them");
        }
    });
    Ok(Exit::Ok)
}

/// Cleans up, once or periodically.
pub(crate) async fn cleanup(arguments: Cleanup, session: &mut Session) -> Result<Exit> {
    let every = repeat::parse_interval("--every", arguments.every.as_deref())?;
    let worqr = arguments.target.open(session).await?;
    let rounds = Repeat::until_signal(every, session)?;
    let mut reply = CleanupReply::default();
    let work = || worqr.cleanup_workers();
    let output = &mut session.output;
    rounds.each(output, work, |done| reply.add(done)).await?;
    session.output.result(&reply, |output| {
        output.line(&format!(
            "{} dead workers, {} tasks returned",
            reply.workers.len(),
            reply.returned
        ));
    });
    Ok(Exit::Ok)
}

impl CleanupReply {
    fn add(&mut self, report: WorqrCleanReport) {
        self.workers.extend(report.workers);
        self.returned += report.tasks;
        // Only of the last cleanup: earlier ones may have been decided since.
        self.undecided = report.undecided;
    }
}
