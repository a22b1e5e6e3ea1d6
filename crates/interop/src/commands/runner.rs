//! Shared by the `run` commands of older systems: runs a program for each task, one at a time.

use std::ffi::OsString;
use std::time::Duration;

use clap::Args;
use tokio::sync::watch;
use tokio::time::sleep;
use windlass::Bytes;
use windlass_exec::exec::KILL_AFTER_DEFAULT;
use windlass_exec::{Environment, Launch, LogSink, ProgramExit, Starter};

use windlass_terminal::exit::Result;
use windlass_terminal::parse;
use windlass_terminal::session::Session;

/// Delay after a transient error.
const RETRY_DELAY: Duration = Duration::from_secs(1);

/// The flags of a `run` command, and the program.
#[derive(Debug, Args)]
pub(super) struct RunnerArguments {
    /// How long a running task may continue after a stop signal [default: 0s]
    #[arg(long, value_name = "D", allow_hyphen_values = true)]
    grace: Option<String>,

    /// Time between SIGTERM and SIGKILL [default: 5s]
    #[arg(long, value_name = "D", allow_hyphen_values = true)]
    kill_after: Option<String>,

    /// Exit when nothing is waiting
    #[arg(long)]
    burst: bool,

    /// Environment variable to pass on (NAME) or to set (NAME=VALUE); can be repeated
    #[arg(long, value_name = "NAME")]
    env: Vec<String>,

    /// The program and its arguments
    #[arg(last = true, required = true, value_name = "CMD")]
    command: Vec<OsString>,
}

/// Starts the program, and stops it when this process is asked to stop.
pub(super) struct Runner {
    command: Vec<OsString>,
    starter: Starter,
    grace: Duration,
    kill_after: Duration,
    pub(super) is_burst: bool,
    pub(super) talk: LogSink,
    stopped: watch::Receiver<bool>,
}

impl RunnerArguments {
    pub(super) fn open(
        self,
        session: &Session,
        launch: Launch,
        stopped: watch::Receiver<bool>,
    ) -> Result<Runner> {
        let environment = Environment::new(&self.env)?;
        let talk = session.output.log_sink();
        Ok(Runner {
            command: self.command,
            starter: Starter::new(launch, environment, talk.clone())?,
            grace: parse::duration_or(self.grace.as_deref(), Duration::ZERO)?,
            kill_after: parse::duration_or(self.kill_after.as_deref(), KILL_AFTER_DEFAULT)?,
            is_burst: self.burst,
            talk,
            stopped,
        })
    }
}

impl Runner {
    /// Runs the program once. It is stopped when `lost` completes, or some time after the stop signal.
    pub(super) async fn run(
        &self,
        variables: &[(&str, &str)],
        input: Bytes,
        lost: impl Future<Output = ()>,
    ) -> ProgramExit {
        let started = self.starter.start(&self.command, variables, input).await;
        let program = match started {
            Ok(program) => program,
            Err(error) => {
                return ProgramExit::Failed(format!("cannot start the program: {error}"));
            }
        };
        let stop = async {
            tokio::select! {
                () = lost => {}
                () = self.stop_requested() => sleep(self.grace).await,
            }
        };
        program.wait(stop, self.kill_after).await
    }

    /// Prints an error and waits before the next try.
    pub(super) async fn log_and_wait(&self, error: &windlass::Error) {
        (self.talk)(&error.to_string());
        self.pause().await;
    }

    /// Waits before the next try.
    pub(super) async fn pause(&self) {
        tokio::select! {
            () = sleep(RETRY_DELAY) => {}
            () = self.stop_requested() => {}
        }
    }

    /// Waits for the stop signal.
    pub(super) async fn stop_requested(&self) {
        let mut stopped = self.stopped.clone();
        if stopped.wait_for(|stopped| *stopped).await.is_err() {
            // The sender is gone: no signal can arrive.
            std::future::pending::<()>().await;
        }
    }

    pub(super) fn is_stopped(&self) -> bool {
        *self.stopped.borrow()
    }
}

/// Runs `work` to its end; a signal sets `stop` first.
pub(super) async fn until_signal<T>(
    session: &Session,
    stop: watch::Sender<bool>,
    work: impl Future<Output = Result<T>>,
) -> Result<T> {
    let mut signals = session.signals()?;
    tokio::pin!(work);
    tokio::select! {
        done = &mut work => done,
        () = signals.next() => {
            // The runner holds the receiver.
            let _ = stop.send(true);
            work.await
        }
    }
}
