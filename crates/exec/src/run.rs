//! Runs a program outside of a job: writes its input, and returns its output.

use std::ffi::OsString;
use std::io;
use std::process::Stdio;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use tokio::task::JoinSet;
use windlass_core::{Limits, Result};

use crate::environment::Environment;
use crate::exec::KeepOutput;
use crate::exits::describe;
use crate::last_lines::LastLines;
use crate::log_sink::LogSink;
use crate::output::OutputCapture;
use crate::parent_death::Launch;
use crate::pipes;
use crate::process::Process;
use crate::spawn::Spawner;

/// Starts programs.
pub struct Starter {
    launch: Launch,
    environment: Environment,
    log_sink: LogSink,
    spawner: Spawner,
}

/// A running program. Dropping it kills it and its children.
pub struct RunningProgram {
    process: Process,
    pipes: JoinSet<()>,
    capture: Arc<OutputCapture>,
    last_lines: Arc<Mutex<LastLines>>,
}

/// How a program ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProgramExit {
    /// With status 0 and this output on stdout.
    Succeeded(Bytes),
    /// Otherwise: how, and its last lines on stderr.
    Failed(String),
    /// It was stopped: its status and output are ignored.
    Stopped,
}

impl Starter {
    /// Must be called in the Tokio runtime that waits for the programs. Their stderr goes to `log_sink`.
    pub fn new(launch: Launch, environment: Environment, log_sink: LogSink) -> Result<Self> {
        Ok(Self {
            launch,
            environment,
            log_sink,
            spawner: Spawner::start()?,
        })
    }

    /// Starts a program with its arguments, additional variables and stdin.
    pub async fn start(
        &self,
        arguments: &[OsString],
        variables: &[(&str, &str)],
        input: Bytes,
    ) -> io::Result<RunningProgram> {
        let mut command = self.launch.command(arguments);
        self.environment.apply_to(&mut command);
        command.envs(variables.iter().copied());
        let mut process = Process::start(&self.spawner, command, Stdio::piped()).await?;

        let limit = Limits::default().payload_bytes_max;
        let capture = Arc::new(OutputCapture::new(KeepOutput::All, limit));
        let last_lines = Arc::new(Mutex::new(LastLines::default()));
        let (log_sink, last) = (Arc::clone(&self.log_sink), Arc::clone(&last_lines));
        let log: LogSink = Arc::new(move |line| {
            log_sink(line);
            let mut last = last.lock().unwrap_or_else(PoisonError::into_inner);
            last.push(line);
        });
        let pipes = pipes::serve(&mut process, input, &capture, &log);
        Ok(RunningProgram {
            process,
            pipes,
            capture,
            last_lines,
        })
    }
}

impl RunningProgram {
    /// Returns the pid.
    pub fn id(&self) -> u32 {
        self.process.id()
    }

    /// Waits for the program to exit. If `stop` completes first, sends SIGTERM to it and its children, and
    /// SIGKILL after `kill_after`.
    pub async fn wait(
        mut self,
        stop: impl Future<Output = ()>,
        kill_after: Duration,
    ) -> ProgramExit {
        let grace = tokio::select! {
            biased;
            () = self.process.ended() => None,
            () = stop => Some(kill_after),
        };
        let status = match self.process.end(grace, &mut self.pipes).await {
            _ if grace.is_some() => return ProgramExit::Stopped,
            Ok(status) => status,
            Err(error) => {
                return ProgramExit::Failed(format!(
                    "cannot read the program's exit status: {error}"
                ));
            }
        };
        if !status.success() {
            let last_lines = self
                .last_lines
                .lock()
                .unwrap_or_else(PoisonError::into_inner);
            return ProgramExit::Failed(format!(
                "the program failed: {}{last_lines}",
                describe(status)
            ));
        }
        match self.capture.result() {
            Ok(result) => ProgramExit::Succeeded(result.unwrap_or_default()),
            Err(why) => ProgramExit::Failed(why),
        }
    }
}

impl std::fmt::Debug for Starter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Starter").finish_non_exhaustive()
    }
}

impl std::fmt::Debug for RunningProgram {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RunningProgram").finish_non_exhaustive()
    }
}
