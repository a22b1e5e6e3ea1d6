//! Flags for running a program per job: stdin, result and exit codes.

use std::ffi::OsString;

use clap::Args;
use windlass_exec::{ExecOptions, ExitMap, KeepOutput, Starter, Stdin, Template, program};

use super::child;
use super::worker_args::{self, RunArgs};
use crate::exit::{CliError, Result};

/// Program flags, shared by `exec` and `up`.
#[derive(Debug, Args)]
pub(crate) struct ProgramArgs {
    /// Run CMD as a script with /bin/sh; job values are never inserted into it
    #[arg(long, requires = "command")]
    shell: bool,

    /// What the process gets on stdin: the payload, the job as one JSON object, or nothing
    #[arg(long, value_enum, default_value_t, value_name = "WHAT")]
    #[arg(requires = "command")]
    stdin: Stdin,

    /// What becomes the job's result; other output is logged
    #[arg(long, value_enum, default_value_t, value_name = "WHAT")]
    #[arg(requires = "command")]
    result: KeepOutput,

    /// Map exit statuses to outcomes: 3=permanent,9=retry:10m,4=snooze:1h,5=done
    #[arg(long, value_name = "MAP", requires = "command")]
    on_exit: Vec<String>,
}

impl ProgramArgs {
    /// Returns the options for running `command`.
    pub(crate) fn options(&self, run_args: &RunArgs, command: &[OsString]) -> Result<ExecOptions> {
        let template = if self.shell {
            Template::shell(command)?
        } else {
            Template::new(command)?
        };
        let environment = run_args.environment.select_for_jobs()?;
        program::find(template.program(), &environment)
            .map_err(|error| CliError::misconfigured(&error))?;
        Ok(ExecOptions {
            command: template,
            starter: Starter::new(child::launch(), environment, worker_args::log_sink())?,
            stdin: self.stdin,
            keep: self.result,
            exits: ExitMap::parse(&self.on_exit)?,
            kill_after: run_args.kill_after,
        })
    }
}
