//! Runs a program for each task, one at a time: parameters on standard input, its output the result.

mod task;
mod upkeep;

use std::ffi::OsString;
use std::time::Duration;

use clap::Args;
use serde::Serialize;
use tokio::sync::watch;
use tokio::time::sleep;
use windlass::ErrorKind;
use windlass_exec::exec::KILL_AFTER_DEFAULT;
use windlass_exec::{Environment, LogSink, Starter};
use windlass_interop::blueque::{Blueque, CleanOptions, Listener, ListenerOptions, Queue};

use super::clean::Judging;
use super::place::Place;
use crate::commands::exec::{child, worker_args};
use crate::exit::{Exit, Result};
use crate::parse;
use crate::session::Session;

use task::Outcome;
use upkeep::Upkeep;

/// How long one look for a task waits.
const LISTEN: Duration = Duration::from_secs(5);

/// Between two tries at a server that is away.
const PAUSE: Duration = Duration::from_secs(1);

/// What may be typed.
#[derive(Debug, Args)]
#[command(
    after_help = "CMD ends with status 0: the task is complete, and what it wrote to standard output is the result. Any \
    other end: the task is failed, with the last lines of standard error. CMD sees WINDLASS_TASK_ID and \
    WINDLASS_QUEUE. It ends with this process; a task that was cut short fails with worker_lost, or goes to the \
    front with --retry-lost.\n\n\
    Meanwhile due tasks are moved, and dead listeners cleaned up after.\n\n\
    Example:\n  windlass interop blueque run videos -- ./convert --fast"
)]
pub(crate) struct Arguments {
    /// The queue
    queue: String,

    /// How long it is alive without a sign of life, which it gives by itself [default: 30s]
    #[arg(long, value_name = "D", allow_hyphen_values = true)]
    alive: Option<String>,

    /// How long a task may run on once this was asked to stop [default: 0s]
    #[arg(long, value_name = "D", allow_hyphen_values = true)]
    grace: Option<String>,

    /// How long after SIGTERM a program is killed [default: 5s]
    #[arg(long, value_name = "D", allow_hyphen_values = true)]
    kill_after: Option<String>,

    /// End when no task is pending
    #[arg(long)]
    burst: bool,

    /// A variable to pass on, or to set: NAME or NAME=VALUE; may be given several times
    #[arg(long, value_name = "NAME")]
    env: Vec<String>,

    #[command(flatten)]
    judging: Judging,

    #[command(flatten)]
    place: Place,

    /// The program and its arguments
    #[arg(last = true, required = true, value_name = "CMD")]
    command: Vec<OsString>,
}

/// What a runner works with.
struct Runner {
    blueque: Blueque,
    queue: Queue,
    options: ListenerOptions,
    judging: CleanOptions,
    command: Vec<OsString>,
    starter: Starter,
    grace: Duration,
    kill_after: Duration,
    is_burst: bool,
    talk: LogSink,
    stopped: watch::Receiver<bool>,
}

/// What became of the tasks.
#[derive(Debug, Default, Serialize)]
struct Summary {
    complete: u64,
    failed: u64,
    lost: u64,
}

/// Runs tasks until it is stopped or, with --burst, until none is pending.
pub(crate) async fn run(arguments: Arguments, session: &mut Session) -> Result<Exit> {
    // A task under way is given up in order.
    let mut signals = session.signals()?;
    let (stop, stopped) = watch::channel(false);
    let runner = arguments.runner(session, stopped).await?;
    let _upkeep = Upkeep::start(&runner.queue, &runner.judging, &runner.talk);
    let work = runner.work();
    tokio::pin!(work);
    let summary = tokio::select! {
        summary = &mut work => summary?,
        () = signals.next() => {
            // The runner holds the other end.
            let _ = stop.send(true);
            work.await?
        }
    };
    session.output.result(&summary, |output| {
        output.line(&format!(
            "{} complete, {} failed, {} lost",
            summary.complete, summary.failed, summary.lost
        ));
    });
    Ok(Exit::Ok)
}

impl Arguments {
    async fn runner(self, session: &Session, stopped: watch::Receiver<bool>) -> Result<Runner> {
        let mut options = ListenerOptions::default();
        options.alive = parse::duration_or(self.alive.as_deref(), options.alive)?;
        let judging = self.judging.options()?;
        let environment = Environment::new(&self.env)?;
        let talk = worker_args::log_sink(session);
        let blueque = self.place.open(session).await?;
        Ok(Runner {
            queue: blueque.queue(&self.queue)?,
            blueque,
            options,
            judging,
            starter: Starter::new(child::launch(), environment, talk.clone())?,
            grace: parse::duration_or(self.grace.as_deref(), Duration::ZERO)?,
            kill_after: parse::duration_or(self.kill_after.as_deref(), KILL_AFTER_DEFAULT)?,
            is_burst: self.burst,
            talk,
            stopped,
            command: self.command,
        })
    }
}

impl Runner {
    /// One listener after the other: one that was declared lost is followed by a new one.
    async fn work(&self) -> Result<Summary> {
        let mut summary = Summary::default();
        loop {
            let listener = match self.queue.join(self.options.clone()).await {
                Err(error) if error.is_transient() && !self.is_stopped() => {
                    self.pause(&error).await;
                    continue;
                }
                joined => joined?,
            };
            let is_over = self.listen(listener, &mut summary).await?;
            if is_over {
                return Ok(summary);
            }
        }
    }

    /// Works as one listener; true when there is no more to do.
    async fn listen(&self, mut listener: Listener, summary: &mut Summary) -> Result<bool> {
        let mut heartbeat = listener.heartbeat();
        let wait = if self.is_burst {
            Duration::ZERO
        } else {
            LISTEN
        };
        let is_over = loop {
            let found = tokio::select! {
                biased;
                () = self.stop() => break true,
                found = listener.listen(wait) => found,
            };
            match found {
                Ok(Some(task)) => match self.run_task(&task, &mut heartbeat).await {
                    Outcome::Complete => summary.complete += 1,
                    Outcome::Failed => summary.failed += 1,
                    Outcome::Lost => {
                        summary.lost += 1;
                        break self.is_stopped();
                    }
                },
                Ok(None) if self.is_burst => break true,
                Ok(None) => {}
                Err(error) if error.kind() == ErrorKind::Conflict => {
                    (self.talk)(&error.to_string());
                    break false;
                }
                Err(error) if error.is_transient() => self.pause(&error).await,
                Err(error) => return Err(error.into()),
            }
        };
        drop(heartbeat);
        self.leave(listener).await;
        Ok(is_over)
    }

    /// What it still holds is given up the way a dead listener's is, only at once.
    async fn leave(&self, listener: Listener) {
        let name = listener.name().to_owned();
        let left = match listener.leave().await {
            Ok(false) => {
                let mut options = self.judging.clone();
                options.lost.push(name);
                self.queue.clean(&options).await.map(|_| ())
            }
            Ok(true) => Ok(()),
            Err(error) => Err(error),
        };
        if let Err(error) = left {
            (self.talk)(&format!("it is found when its time is over: {error}"));
        }
    }

    async fn pause(&self, error: &windlass::Error) {
        (self.talk)(&error.to_string());
        tokio::select! {
            () = sleep(PAUSE) => {}
            () = self.stop() => {}
        }
    }

    /// Waits until it is to stop.
    async fn stop(&self) {
        let mut stopped = self.stopped.clone();
        if stopped.wait_for(|stopped| *stopped).await.is_err() {
            // Nobody is left who could say so.
            std::future::pending::<()>().await;
        }
    }

    fn is_stopped(&self) -> bool {
        *self.stopped.borrow()
    }
}
