//! `windlass exec`: any command as a worker, one process per job.

pub(crate) mod child;
pub(crate) mod work;

use std::sync::Arc;
use std::time::Duration;

use clap::{Args, ValueEnum};
use windlass_program::{Environment, Exec, ExecOptions, ExitMap, Keep, Stdin, Template};

use crate::exit::{Exit, Result};
use crate::session::Session;

use work::Work;

/// How long a stopping process has beyond `--kill-after`: to be reaped, and its pipes read out.
const REAPING: Duration = Duration::from_secs(2);

/// What may be typed.
#[derive(Debug, Args)]
#[command(
    after_help = "Exit statuses of CMD: 0 done (its output is the result), 75 try again later, \
    64–74 and 76–78 failed for good, 126 and 127 no such program, any other a failed attempt.\n\n\
    {id} {kind} {queue} {attempt} {payload} {payload.a.b} {kind:-default} in an ARG are replaced \
    by the job's values. CMD sees WINDLASS_JOB_ID, _QUEUE, _KIND, _ATTEMPT, _MAX_ATTEMPTS, _TOKEN \
    and _DEADLINE; lines like {\"progress\":0.4,\"message\":\"…\"} on descriptor 3 are its progress."
)]
pub(crate) struct Arguments {
    #[command(flatten)]
    work: Work,

    /// CMD is one text for /bin/sh; a job's values are never part of it
    #[arg(long)]
    shell: bool,

    /// What the process reads
    #[arg(long, value_enum, default_value_t, value_name = "WHAT")]
    stdin: StdinWord,

    /// What is the result
    #[arg(long, value_enum, default_value_t, value_name = "WHAT")]
    result: ResultWord,

    /// What exit statuses mean: 3=permanent,9=retry:10m,4=snooze:1h,5=done
    #[arg(long, value_name = "MAP")]
    on_exit: Vec<String>,
}

#[derive(Debug, Clone, Copy, Default, ValueEnum)]
enum StdinWord {
    /// The payload, byte for byte
    #[default]
    Payload,
    /// The whole job as one JSON object
    Job,
    /// Nothing
    None,
}

#[derive(Debug, Clone, Copy, Default, ValueEnum)]
enum ResultWord {
    /// All of standard output
    #[default]
    Stdout,
    /// The last line of it that is not empty
    LastLine,
    /// Nothing; the output is logged
    None,
}

/// Works until it is stopped or, with --burst, until nothing is left.
pub(crate) async fn run(arguments: Arguments, session: &mut Session) -> Result<Exit> {
    let options = arguments.options(session)?;
    let mut worker = arguments.work.options()?;
    worker.stop_wait = options.kill_after + REAPING;
    let (_, stores) = work::stores(session).await?;
    let exec = Exec::new(options)?;
    let summary = work::run(session, stores, worker, Arc::new(exec.clone()), || {}).await;
    // Attempts that were given back at the last moment kill their processes as they go.
    let _ = tokio::time::timeout(REAPING, exec.emptied()).await;
    work::print(session, &summary?);
    Ok(Exit::Ok)
}

impl Arguments {
    fn options(&self, session: &Session) -> Result<ExecOptions> {
        let command = if self.shell {
            Template::shell(&self.work.command)?
        } else {
            Template::new(self.work.command.clone())?
        };
        Ok(ExecOptions {
            command,
            launch: child::launch(),
            environment: Environment::new(&self.work.env)?,
            stdin: match self.stdin {
                StdinWord::Payload => Stdin::Payload,
                StdinWord::Job => Stdin::Job,
                StdinWord::None => Stdin::Nothing,
            },
            keep: match self.result {
                ResultWord::Stdout => Keep::All,
                ResultWord::LastLine => Keep::LastLine,
                ResultWord::None => Keep::Nothing,
            },
            exits: ExitMap::parse(&self.on_exit)?,
            kill_after: self.work.kill_after()?,
            talk: work::talk(session),
        })
    }
}
