//! The `windlass` command: parses the command line, runs the command and prints the result.

mod args;
mod commands;
mod input;
mod log;
mod process_args;
#[cfg(test)]
#[path = "../tests/cli/snapshot.rs"]
mod snapshot;
mod telemetry;

use std::process::ExitCode;

use tokio::signal::unix::SignalKind;
use tokio::task::JoinError;
// `crate::exit` and the like in all commands.
pub(crate) use windlass_terminal::{env, exit, output, session, settings, signals};

use crate::args::Cli;
use crate::commands::{completions, exec};
use crate::exit::{CliError, Exit};
use crate::log::Log;
use crate::output::Output;
use crate::session::Session;

fn main() -> ExitCode {
    // First, before any parsing: every job of `exec` starts through this path.
    if let Some(code) = exec::child::run_if_requested(std::env::args_os()) {
        return code;
    }
    if let Some(exit) = completions::run_if_requested() {
        return ExitCode::from(exit.code());
    }
    let exit = match args::parse(std::env::args_os().collect()) {
        Ok(cli) => start(cli),
        Err((error, is_json)) => match args::hints::find(&error) {
            Some(hint) => {
                Output::new(is_json).error(&hint);
                Exit::Usage
            }
            None => output::usage(&error, is_json),
        },
    };
    ExitCode::from(exit.code())
}

fn start(cli: Cli) -> Exit {
    let mut output = Output::new(cli.global.json);
    let log = Log::init(cli.command.process_args(), &output);
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build();
    let outcome = match runtime {
        Ok(runtime) => {
            let outcome = runtime.block_on(run_until_interrupted(cli, output.clone()));
            // A thread may still be blocked on stdin; do not wait for it.
            runtime.shutdown_background();
            outcome
        }
        Err(error) => Err(CliError::internal(format!(
            "cannot start the async runtime: {error}"
        ))),
    };
    let outcome = outcome.and_then(|exit| match output.write_error() {
        Some(why) => Err(CliError::unwritable(&why)),
        None => Ok(exit),
    });
    outcome.unwrap_or_else(|error| {
        log.error(&error.details, &mut output);
        error.exit
    })
}

/// Runs the command until it returns or SIGINT arrives. A command that cleans up after itself may
/// finish that first; a second SIGINT stops it immediately.
async fn run_until_interrupted(cli: Cli, output: Output) -> Result<Exit, CliError> {
    let mut interrupt = signals::subscribe(SignalKind::interrupt())?;
    let mut session = Session::new(cli.global, output);
    let interrupts = session.interrupts.clone();
    let mut command = tokio::spawn(async move { commands::run(cli.command, &mut session).await });
    tokio::select! {
        joined = &mut command => return outcome(joined),
        _ = interrupt.recv() => {}
    }
    if interrupts.are_handled() {
        return outcome(command.await);
    }
    if interrupts.wait_for_cleanup() {
        tokio::select! {
            joined = &mut command => return outcome(joined),
            _ = interrupt.recv() => {}
        }
    }
    Ok(Exit::Interrupted)
}

fn outcome(joined: Result<Result<Exit, CliError>, JoinError>) -> Result<Exit, CliError> {
    joined.unwrap_or_else(|panic| Err(CliError::internal(panic.to_string())))
}
