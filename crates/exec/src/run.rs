//! Starts programs, and runs one outside of a job: writes its input, and returns its output.

use std::ffi::OsString;
use std::io;
use std::process::Stdio;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use tokio::process::Command;
use windlass_core::Result;
use windlass_worker::lock;

use crate::environment::Environment;
use crate::exec::KeepOutput;
use crate::exits::describe;
use crate::log::{LastLines, LogSink};
use crate::parent_death::Launch;
use crate::pipes::ServedProcess;
use crate::process::Process;
use crate::spawn::Spawner;

/// Starts programs: how, with which variables, and where their log lines go.
#[derive(Clone)]
pub struct Starter {
    launch: Launch,
    environment: Environment,
    pub(crate) log_sink: LogSink,
    spawner: Spawner,
}

/// A running program. Dropping it kills it and its children.
#[derive(Debug)]
pub struct RunningProgram {
    program: ServedProcess,
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
    /// Must be called in the Tokio runtime that waits for the programs. Their log lines go to `log_sink`.
    pub fn new(launch: Launch, environment: Environment, log_sink: LogSink) -> Result<Self> {
        environment.log();
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
        let mut command = self.command(arguments);
        command.envs(variables.iter().copied());
        let last_lines = Arc::new(Mutex::new(LastLines::default()));
        let (log_sink, last) = (Arc::clone(&self.log_sink), Arc::clone(&last_lines));
        let log: LogSink = Arc::new(move |line| {
            log_sink(line);
            lock(&last).push(line);
        });
        let program = ServedProcess::start(self, command, Some(input), KeepOutput::All, &log);
        Ok(RunningProgram {
            program: program.await?,
            last_lines,
        })
    }

    /// Returns a command with the variables of all programs.
    pub(crate) fn command(&self, command_line: &[OsString]) -> Command {
        let mut command = self.launch.command(command_line);
        self.environment.apply_to(&mut command);
        command
    }

    /// Starts a command in a new process group, with piped output.
    pub(crate) async fn process(&self, command: Command, stdin: Stdio) -> io::Result<Process> {
        Process::start(&self.spawner, command, stdin).await
    }
}

impl RunningProgram {
    /// Returns the pid.
    pub fn id(&self) -> u32 {
        self.program.process.id()
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
            () = self.program.process.ended() => None,
            () = stop => Some(kill_after),
        };
        let status = match self.program.end(grace).await {
            _ if grace.is_some() => return ProgramExit::Stopped,
            Ok(status) => status,
            Err(error) => {
                let why = format!("cannot read the program's exit status: {error}");
                return ProgramExit::Failed(why);
            }
        };
        if !status.success() {
            let last_lines = lock(&self.last_lines);
            let why = format!("the program failed: {}{last_lines}", describe(status));
            return ProgramExit::Failed(why);
        }
        match self.program.result() {
            Ok(result) => ProgramExit::Succeeded(result.unwrap_or_default()),
            Err(why) => ProgramExit::Failed(why),
        }
    }
}

impl std::fmt::Debug for Starter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Starter")
            .field("environment", &self.environment)
            .finish_non_exhaustive()
    }
}
