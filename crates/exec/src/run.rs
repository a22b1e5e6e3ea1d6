//! One run of a program for something that is no job: bytes go in, and what it writes is the result.

use std::ffi::OsString;
use std::io;
use std::process::Stdio;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use tokio::task::JoinSet;
use windlass_core::{Limits, Result};

use crate::environment::Environment;
use crate::exec::Keep;
use crate::exits::describe;
use crate::guard::Launch;
use crate::output::Gathered;
use crate::process::Process;
use crate::service;
use crate::spawn::Spawner;
use crate::tail::Tail;
use crate::talk::Talk;

/// Starts programs.
pub struct Starter {
    launch: Launch,
    environment: Environment,
    talk: Talk,
    spawner: Spawner,
}

/// A program that runs. Dropping it kills it and all that it started.
pub struct Run {
    process: Process,
    pipes: JoinSet<()>,
    gathered: Arc<Gathered>,
    tail: Arc<Mutex<Tail>>,
}

/// How a run ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ended {
    /// Well, and this is what it wrote to standard output.
    Done(Bytes),
    /// Otherwise; how, and the last lines it wrote to standard error.
    Failed(String),
    /// It was told to end: what it says of itself counts for nothing.
    CutShort,
}

impl Starter {
    /// To be called in the runtime that waits for the programs; what they write to standard error
    /// goes to `talk`.
    pub fn new(launch: Launch, environment: Environment, talk: Talk) -> Result<Self> {
        Ok(Self {
            launch,
            environment,
            talk,
            spawner: Spawner::start()?,
        })
    }

    /// Starts a program with its arguments, further variables and what it reads.
    pub async fn start(
        &self,
        words: &[OsString],
        variables: &[(&str, &str)],
        input: Bytes,
    ) -> io::Result<Run> {
        let mut command = self.launch.command(words);
        self.environment.give(&mut command);
        command.envs(variables.iter().copied());
        let mut process = Process::start(&self.spawner, command, Stdio::piped()).await?;

        let limit = Limits::default().payload_bytes_max;
        let gathered = Arc::new(Gathered::new(Keep::All, limit));
        let tail = Arc::new(Mutex::new(Tail::default()));
        let (talk, last) = (Arc::clone(&self.talk), Arc::clone(&tail));
        let say: Talk = Arc::new(move |line| {
            talk(line);
            let mut last = last.lock().unwrap_or_else(PoisonError::into_inner);
            last.push(line);
        });
        let pipes = service::serve(&mut process, input, &gathered, &say);
        Ok(Run {
            process,
            pipes,
            gathered,
            tail,
        })
    }
}

impl Run {
    /// The number of the process.
    pub fn id(&self) -> u32 {
        self.process.id()
    }

    /// Waits for its end. When `stop` comes first it is told to end, with all that it started, and
    /// killed when it has not done so after a while.
    pub async fn see_it_end(
        mut self,
        stop: impl Future<Output = ()>,
        kill_after: Duration,
    ) -> Ended {
        let patience = tokio::select! {
            biased;
            () = self.process.ended() => None,
            () = stop => Some(kill_after),
        };
        let status = match self.process.end(patience, &mut self.pipes).await {
            _ if patience.is_some() => return Ended::CutShort,
            Ok(status) => status,
            Err(error) => {
                return Ended::Failed(format!("the end of the program was not seen: {error}"));
            }
        };
        if !status.success() {
            let tail = self.tail.lock().unwrap_or_else(PoisonError::into_inner);
            return Ended::Failed(format!("the program ended: {}{tail}", describe(status)));
        }
        match self.gathered.result() {
            Ok(result) => Ended::Done(result.unwrap_or_default()),
            Err(why) => Ended::Failed(why),
        }
    }
}

impl std::fmt::Debug for Starter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Starter").finish_non_exhaustive()
    }
}

impl std::fmt::Debug for Run {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Run").finish_non_exhaustive()
    }
}
