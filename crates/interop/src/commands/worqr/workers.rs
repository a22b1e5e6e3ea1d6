//! Starts workers, keeps them alive, lets them serve queues, and fails them.

use std::time::Duration;

use clap::{Args, Subcommand};
use windlass::duration;
use windlass::{Error, ErrorKind};
use windlass_terminal::exit::{CliError, Exit, Result};
use windlass_terminal::repeat::{self, Repeat};
use windlass_terminal::session::Session;

use super::tasks::counted;
use super::{QueueArguments, Target};
use crate::commands::print::{self, Object, shown};
use crate::worqr::{
    HEARTBEAT, Lifetime, TIMEOUT, WorkerFailure, WorkerOptions, Worqr, WorqrCleanReport,
};

/// Commands of and about workers.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Register a worker and start its timer
    #[command(
        after_help = "Without --stay the worker stays alive for --timeout, and longer if keep-alive is \
        called in time. With --stay this command keeps it alive until stopped, and then returns its \
        tasks."
    )]
    StartWorker {
        /// Worker id
        worker: String,

        /// How long the worker stays alive without a heartbeat [default: 3s]
        #[arg(long, value_name = "D", allow_hyphen_values = true, value_parser = duration::parse)]
        timeout: Option<Duration>,

        /// No timeout: the worker stays alive until it is failed
        #[arg(long, conflicts_with = "timeout")]
        permanent: bool,

        /// Keep it alive until Ctrl-C, and clean up after other dead workers meanwhile
        #[arg(long)]
        stay: bool,

        #[command(flatten)]
        target: Target,
    },
    /// Reset the timer of a worker
    #[command(after_help = "Exit code 4: the timer ran out, and the worker must be started again.")]
    KeepAlive {
        /// Worker id
        worker: String,

        /// How long the worker stays alive from now [default: 3s]
        #[arg(long, value_name = "D", allow_hyphen_values = true, value_parser = duration::parse)]
        timeout: Option<Duration>,

        #[command(flatten)]
        target: Target,
    },
    /// Make a worker serve a queue
    StartWork(Serve),
    /// Notify the workers of a queue of its waiting tasks
    RequestWork(QueueArguments),
    /// Stop a worker serving a queue, and return its tasks
    StopWork(Serve),
    /// Declare a worker dead, and return its tasks
    FailWorker {
        /// Worker id
        worker: String,

        #[command(flatten)]
        target: Target,
    },
    /// List the workers
    Workers {
        #[command(flatten)]
        target: Target,
    },
    /// Declare workers dead whose timer ran out, and return their tasks
    Cleanup {
        /// Run until stopped, with this interval between cleanups
        #[arg(long, value_name = "D", allow_hyphen_values = true, value_parser = duration::parse)]
        every: Option<Duration>,

        #[command(flatten)]
        target: Target,
    },
}

/// A worker and a queue.
#[derive(Debug, Args)]
pub(crate) struct Serve {
    /// Queue name
    queue: String,

    /// Worker id
    #[arg(long, value_name = "ID")]
    worker: String,

    #[command(flatten)]
    target: Target,
}

impl Command {
    pub(super) async fn run(self, session: &mut Session) -> Result<Exit> {
        match self {
            Self::StartWorker {
                worker,
                timeout,
                permanent,
                stay,
                target,
            } => {
                let lifetime = if permanent {
                    Lifetime::Permanent
                } else {
                    Lifetime::Expiring(timeout.unwrap_or(TIMEOUT))
                };
                let worqr = target.open(session).await?;
                if stay {
                    return self::stay(worqr, worker, lifetime, session).await;
                }
                worqr.start_worker(&worker, lifetime).await?;
                print::reply(session, [("worker", worker.into())], "alive")
            }
            Self::KeepAlive {
                worker,
                timeout,
                target,
            } => {
                let timeout = timeout.unwrap_or(TIMEOUT);
                let worqr = target.open(session).await?;
                if !worqr.keep_worker_alive(&worker, timeout).await? {
                    return Err(timer_ran_out(&worker));
                }
                print::reply(session, [("worker", worker.into())], "alive")
            }
            Self::StartWork(Serve {
                queue,
                worker,
                target,
            }) => {
                let worqr = target.open(session).await?;
                let waiting = worqr.start_work(&worker, &queue).await?;
                let line = format!("serving {queue}; {waiting} tasks waiting");
                served(session, worker, queue, ("waiting", waiting), line)
            }
            Self::RequestWork(queue) => {
                let (worqr, queue) = queue.open(session).await?;
                let waiting = worqr.request_work(&queue).await?;
                let line = format!("{waiting} tasks waiting");
                counted(session, queue, "waiting", waiting, line)
            }
            Self::StopWork(Serve {
                queue,
                worker,
                target,
            }) => {
                let worqr = target.open(session).await?;
                let returned = worqr.stop_work(&worker, &queue).await?;
                let line = format!("{returned} tasks returned");
                served(session, worker, queue, ("returned", returned), line)
            }
            Self::FailWorker { worker, target } => fail(&worker, target, session).await,
            Self::Workers { target } => list(target, session).await,
            Self::Cleanup { every, target } => cleanup(every, target, session).await,
        }
    }
}

async fn list(target: Target, session: &mut Session) -> Result<Exit> {
    let workers = target.open(session).await?.workers().await?.into_iter();
    let reply = workers.map(|worker| Object(vec![("worker", worker.into())]));
    let reply: Vec<_> = reply.collect();
    session.output.result(&reply, |output| {
        if reply.is_empty() {
            output.note("no workers");
        }
        for one in &reply {
            output.line(&shown(&one.0[0]));
        }
    });
    Ok(Exit::Ok)
}

/// Keeps a worker alive until it fails or this command is stopped.
async fn stay(worqr: Worqr, id: String, lifetime: Lifetime, session: &mut Session) -> Result<Exit> {
    let heartbeat = match lifetime {
        // Three heartbeats per timeout, like the original.
        Lifetime::Expiring(timeout) => (timeout / 3).min(HEARTBEAT),
        Lifetime::Permanent => HEARTBEAT,
    };
    let options = WorkerOptions {
        id: Some(id.clone()),
        lifetime,
        heartbeat,
        ..WorkerOptions::default()
    };
    let mut signals = session.signals()?;
    let worker = worqr.join(options).await?;
    let fields = [("worker", id.as_str().into())];
    print::reply(session, fields, "alive; press Ctrl-C to stop")?;
    tokio::select! {
        () = worker.failed() => Err(timer_ran_out(&id)),
        () = signals.next() => {
            worker.leave().await?;
            Ok(Exit::Ok)
        }
    }
}

fn served(
    session: &mut Session,
    worker: String,
    queue: String,
    (name, count): (&'static str, u64),
    line: String,
) -> Result<Exit> {
    let fields = [
        ("worker", worker.into()),
        ("queue", queue.into()),
        (name, count.into()),
    ];
    print::reply(session, fields, line)
}

/// Declares a worker dead.
async fn fail(worker: &str, target: Target, session: &mut Session) -> Result<Exit> {
    let worqr = target.open(session).await?;
    let (returned, is_undecided) = match worqr.fail_worker(worker).await? {
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
    let fields = [
        ("worker", worker.into()),
        ("returned", returned.into()),
        ("undecided", is_undecided.into()),
    ];
    print::reply(session, fields, format_args!("{returned} tasks returned"))?;
    if is_undecided {
        let why = "processes that may belong to living original workers are left to them";
        session.output.note(why);
    }
    Ok(Exit::Ok)
}

/// Cleans up, once or periodically.
async fn cleanup(every: Option<Duration>, target: Target, session: &mut Session) -> Result<Exit> {
    let every = repeat::check_interval("--every", every)?;
    let worqr = target.open(session).await?;
    let rounds = Repeat::until_signal(every, session)?;
    let mut total = WorqrCleanReport::default();
    let work = || worqr.cleanup_workers();
    rounds.each(work, |done| total.add(done)).await?;
    let (dead, returned) = (total.workers.len(), total.tasks);
    let line = format!("{dead} dead workers, {returned} tasks returned");
    print::value(session, &total, line)
}

fn timer_ran_out(worker: &str) -> CliError {
    Error::new(
        ErrorKind::Conflict,
        format!("worker {worker} is not alive: its timer ran out"),
        "start it again; its tasks are returned to their queues",
    )
    .into()
}
