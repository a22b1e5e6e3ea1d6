//! Shared by the `run` commands of older systems: runs a program for each task, one at a time.

use std::ffi::OsString;
use std::time::Duration;

use clap::Args;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::sleep;
use windlass::Bytes;
use windlass::duration;
use windlass_exec::exec::KILL_AFTER_DEFAULT;
use windlass_exec::{
    EnvironmentArgs, Launch, LogSink, ProgramExit, RunningProgram, Starter, program,
};
use windlass_terminal::exit::{CliError, Result};
use windlass_terminal::session::Session;

/// Delay after a transient error.
const RETRY_DELAY: Duration = Duration::from_secs(1);

/// The flags of a `run` command, and the program.
#[derive(Debug, Args)]
pub(super) struct RunnerArguments {
    /// How long a running task may continue after a stop signal [default: 0s]
    #[arg(long, value_name = "D", allow_hyphen_values = true, value_parser = duration::parse)]
    grace: Option<Duration>,

    /// Time between SIGTERM and SIGKILL [default: 5s]
    #[arg(long, value_name = "D", allow_hyphen_values = true, value_parser = duration::parse)]
    kill_after: Option<Duration>,

    /// Exit when nothing is waiting
    #[arg(long)]
    burst: bool,

    #[command(flatten)]
    environment: EnvironmentArgs,

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
    talk: LogSink,
    stopped: watch::Receiver<bool>,
}

/// Tells the runner to stop.
pub(super) type Stop = watch::Sender<bool>;

impl RunnerArguments {
    pub(super) fn open(self, session: &Session, launch: Launch) -> Result<(Runner, Stop)> {
        let (stop, stopped) = watch::channel(false);
        let environment = self.environment.select()?;
        // clap requires a command.
        let program = self.command.first().map(OsString::as_os_str);
        program::find(program.unwrap_or_default(), &environment)
            .map_err(|error| CliError::misconfigured(&error))?;
        let talk = session.output.log_sink();
        let runner = Runner {
            command: self.command,
            starter: Starter::new(launch, environment, talk.clone())?,
            grace: self.grace.unwrap_or(Duration::ZERO),
            kill_after: self.kill_after.unwrap_or(KILL_AFTER_DEFAULT),
            is_burst: self.burst,
            talk,
            stopped,
        };
        Ok((runner, stop))
    }
}

impl Runner {
    /// Starts the program.
    pub(super) async fn start(
        &self,
        variables: &[(&str, &str)],
        input: Bytes,
    ) -> Result<RunningProgram, String> {
        let started = self.starter.start(&self.command, variables, input).await;
        started.map_err(|error| format!("cannot start the program: {error}"))
    }

    /// Waits for the program. It is stopped when `lost` completes, or some time after the stop signal.
    pub(super) async fn wait(
        &self,
        program: RunningProgram,
        lost: impl Future<Output = ()>,
    ) -> ProgramExit {
        let stop = async {
            tokio::select! {
                () = lost => {}
                () = self.stop_requested() => sleep(self.grace).await,
            }
        };
        program.wait(stop, self.kill_after).await
    }

    /// Runs the program once.
    pub(super) async fn run(
        &self,
        variables: &[(&str, &str)],
        input: Bytes,
        lost: impl Future<Output = ()>,
    ) -> ProgramExit {
        match self.start(variables, input).await {
            Ok(program) => self.wait(program, lost).await,
            Err(why) => ProgramExit::Failed(why),
        }
    }

    /// Reports an outcome, with retries while `may_retry`. Returns the reply and whether an earlier
    /// call may have succeeded; `None` if that is impossible.
    pub(super) async fn report<T, F: Future<Output = windlass::Result<T>>>(
        &self,
        call: impl Fn() -> F,
        may_retry: impl Fn() -> bool,
    ) -> Option<(T, bool)> {
        let mut is_repeated = false;
        loop {
            match call().await {
                Ok(reply) => return Some((reply, is_repeated)),
                Err(error) if error.is_transient() || error.is_unknown() => {
                    is_repeated |= error.is_unknown();
                    self.log_and_wait(&error).await;
                }
                Err(error) => {
                    self.log(&error);
                    return None;
                }
            }
            if !may_retry() {
                return None;
            }
        }
    }

    /// Repeats work in the background until the result is dropped. Prints its errors.
    pub(super) fn repeat<F: Future<Output = windlass::Result<()>> + Send>(
        &self,
        every: Duration,
        work: impl Fn() -> F + Send + Sync + 'static,
    ) -> Background {
        let talk = self.talk.clone();
        Background(tokio::spawn(async move {
            loop {
                if let Err(error) = work().await {
                    talk(&error.to_string());
                }
                sleep(every).await;
            }
        }))
    }

    /// Prints a note.
    pub(super) fn log(&self, text: &impl ToString) {
        (self.talk)(&text.to_string());
    }

    /// Prints an error and waits before the next try.
    pub(super) async fn log_and_wait(&self, error: &windlass::Error) {
        self.log(error);
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

/// Work that ends when this is dropped.
pub(super) struct Background(JoinHandle<()>);

impl Drop for Background {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Runs `work` to its end; a signal sets `stop` first.
pub(super) async fn until_signal<T>(
    session: &Session,
    stop: Stop,
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
