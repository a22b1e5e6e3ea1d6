//! Runs a program for each task, one at a time: parameters on stdin, stdout is the result.

mod maintenance;
mod task;

use std::ffi::OsString;
use std::time::Duration;

use crate::blueque::{Blueque, BluequeListener, BluequeQueue, CleanOptions, ListenerOptions};
use clap::Args;
use serde::Serialize;
use tokio::sync::watch;
use tokio::time::sleep;
use windlass::ErrorKind;
use windlass_exec::exec::KILL_AFTER_DEFAULT;
use windlass_exec::{Environment, Launch, LogSink, Starter};

use super::clean::CleanArguments;
use super::target::Target;
use windlass_terminal::exit::{Exit, Result};
use windlass_terminal::parse;
use windlass_terminal::session::Session;

use maintenance::Maintenance;
use task::TaskOutcome;

/// How long one call waits for a task.
const LISTEN: Duration = Duration::from_secs(5);

/// Delay after a transient error.
const RETRY_DELAY: Duration = Duration::from_secs(1);

/// Arguments of `run`.
#[derive(Debug, Args)]
#[command(
    after_help = "If CMD exits with status 0, the task is complete and its stdout is the result. Otherwise the task fails \
    with the last lines of stderr. CMD gets the variables WINDLASS_TASK_ID and WINDLASS_QUEUE. It is killed when this \
    process ends; an interrupted task fails with worker_lost, or returns to the front with --retry-lost.\n\n\
    While it runs, this command also moves due tasks and cleans up after dead listeners.\n\n\
    Example:\n  windlass interop blueque run videos -- ./convert --fast"
)]
pub(crate) struct Arguments {
    /// Queue name
    queue: String,

    /// How long the listener stays alive without a heartbeat; heartbeats are sent automatically [default: 30s]
    #[arg(long, value_name = "D", allow_hyphen_values = true)]
    alive: Option<String>,

    /// How long a running task may continue after a stop signal [default: 0s]
    #[arg(long, value_name = "D", allow_hyphen_values = true)]
    grace: Option<String>,

    /// Time between SIGTERM and SIGKILL [default: 5s]
    #[arg(long, value_name = "D", allow_hyphen_values = true)]
    kill_after: Option<String>,

    /// Exit when no task is pending
    #[arg(long)]
    burst: bool,

    /// Environment variable to pass on (NAME) or to set (NAME=VALUE); can be repeated
    #[arg(long, value_name = "NAME")]
    env: Vec<String>,

    #[command(flatten)]
    clean: CleanArguments,

    #[command(flatten)]
    target: Target,

    /// The program and its arguments
    #[arg(last = true, required = true, value_name = "CMD")]
    command: Vec<OsString>,
}

/// Takes tasks and runs the program for each.
struct Runner {
    blueque: Blueque,
    queue: BluequeQueue,
    options: ListenerOptions,
    clean: CleanOptions,
    command: Vec<OsString>,
    starter: Starter,
    grace: Duration,
    kill_after: Duration,
    is_burst: bool,
    talk: LogSink,
    stopped: watch::Receiver<bool>,
}

/// Number of tasks by outcome.
#[derive(Debug, Default, Serialize)]
struct Summary {
    complete: u64,
    failed: u64,
    lost: u64,
}

/// Runs tasks until stopped or, with --burst, until none is pending.
pub(crate) async fn run(
    arguments: Arguments,
    session: &mut Session,
    launch: Launch,
) -> Result<Exit> {
    // Installed first, so that a running task is always stopped cleanly.
    let mut signals = session.signals()?;
    let (stop, stopped) = watch::channel(false);
    let runner = arguments.runner(session, launch, stopped).await?;
    let _maintenance = Maintenance::start(&runner.queue, &runner.clean, &runner.talk);
    let work = runner.work();
    tokio::pin!(work);
    let summary = tokio::select! {
        summary = &mut work => summary?,
        () = signals.next() => {
            // The runner holds the receiver.
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
    async fn runner(
        self,
        session: &Session,
        launch: Launch,
        stopped: watch::Receiver<bool>,
    ) -> Result<Runner> {
        let mut options = ListenerOptions::default();
        options.alive = parse::duration_or(self.alive.as_deref(), options.alive)?;
        let clean = self.clean.options()?;
        let environment = Environment::new(&self.env)?;
        let talk = session.output.log_sink();
        let blueque = self.target.open(session).await?;
        Ok(Runner {
            queue: blueque.queue(&self.queue)?,
            blueque,
            options,
            clean,
            starter: Starter::new(launch, environment, talk.clone())?,
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
    /// Works as one listener after another: a listener that was declared lost is replaced.
    async fn work(&self) -> Result<Summary> {
        let mut summary = Summary::default();
        loop {
            let listener = match self.queue.join(self.options.clone()).await {
                Err(error) if error.is_transient() && !self.is_stopped() => {
                    self.log_and_wait(&error).await;
                    continue;
                }
                joined => joined?,
            };
            let is_done = self.listen(listener, &mut summary).await?;
            if is_done {
                return Ok(summary);
            }
        }
    }

    /// Works as one listener. Returns true if the runner is done.
    async fn listen(&self, mut listener: BluequeListener, summary: &mut Summary) -> Result<bool> {
        let mut heartbeat = listener.start_heartbeat();
        let wait = if self.is_burst {
            Duration::ZERO
        } else {
            LISTEN
        };
        let is_done = loop {
            let found = tokio::select! {
                biased;
                () = self.stop_requested() => break true,
                found = listener.listen(wait) => found,
            };
            match found {
                Ok(Some(task)) => match self.run_task(&task, &mut heartbeat).await {
                    TaskOutcome::Complete => summary.complete += 1,
                    TaskOutcome::Failed => summary.failed += 1,
                    TaskOutcome::Lost => {
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
                Err(error) if error.is_transient() => self.log_and_wait(&error).await,
                Err(error) => return Err(error.into()),
            }
        };
        drop(heartbeat);
        self.leave(listener).await;
        Ok(is_done)
    }

    /// Unregisters the listener. If it still holds a task, cleans up as after a dead listener.
    async fn leave(&self, listener: BluequeListener) {
        let name = listener.name().to_owned();
        let left = match listener.leave().await {
            Ok(false) => {
                let mut options = self.clean.clone();
                options.lost.push(name);
                self.queue.clean(&options).await.map(|_| ())
            }
            Ok(true) => Ok(()),
            Err(error) => Err(error),
        };
        if let Err(error) = left {
            (self.talk)(&format!(
                "could not return the task now, a later clean will: {error}"
            ));
        }
    }

    async fn log_and_wait(&self, error: &windlass::Error) {
        (self.talk)(&error.to_string());
        tokio::select! {
            () = sleep(RETRY_DELAY) => {}
            () = self.stop_requested() => {}
        }
    }

    /// Waits for the stop signal.
    async fn stop_requested(&self) {
        let mut stopped = self.stopped.clone();
        if stopped.wait_for(|stopped| *stopped).await.is_err() {
            // The sender is gone: no signal can arrive.
            std::future::pending::<()>().await;
        }
    }

    fn is_stopped(&self) -> bool {
        *self.stopped.borrow()
    }
}
