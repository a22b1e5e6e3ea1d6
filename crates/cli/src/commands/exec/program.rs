//! How a program is run for a job: what it reads, what its result is, what its exit means.

use std::ffi::OsString;

use clap::{Args, ValueEnum};
use windlass_exec::{Environment, ExecOptions, ExitMap, Keep, Stdin, Template};

use super::child;
use super::work::{self, Pace};
use crate::exit::Result;
use crate::session::Session;

/// The flags of a program; `exec` and `up` have them.
#[derive(Debug, Args)]
pub(crate) struct Program {
    /// CMD is one text for /bin/sh; a job's values are never part of it
    #[arg(long, requires = "command")]
    shell: bool,

    /// What the process reads
    #[arg(long, value_enum, default_value_t, value_name = "WHAT")]
    #[arg(requires = "command")]
    stdin: StdinWord,

    /// What is the result
    #[arg(long, value_enum, default_value_t, value_name = "WHAT")]
    #[arg(requires = "command")]
    result: ResultWord,

    /// What exit statuses mean: 3=permanent,9=retry:10m,4=snooze:1h,5=done
    #[arg(long, value_name = "MAP", requires = "command")]
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

impl Program {
    /// How `command` is run.
    pub(crate) fn options(
        &self,
        pace: &Pace,
        command: &[OsString],
        session: &Session,
    ) -> Result<ExecOptions> {
        let template = if self.shell {
            Template::shell(command)?
        } else {
            Template::new(command.to_vec())?
        };
        Ok(ExecOptions {
            command: template,
            launch: child::launch(),
            environment: Environment::beside_job(&pace.env)?,
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
            kill_after: pace.kill_after()?,
            talk: work::talk(session),
        })
    }
}
