//! The `windlass` command: parse what was typed, resolve what it means, run it, print the outcome.

mod args;
mod commands;
mod exit;
mod input;
mod output;
mod session;
mod settings;
mod signals;
#[cfg(test)]
#[path = "../tests/cli/snapshot.rs"]
mod snapshot;
mod trouble;
mod typed;
mod variable;

use std::process::ExitCode;

use clap::Parser;
use tokio::signal::unix::SignalKind;
use tokio::task::JoinError;

use crate::args::Cli;
use crate::commands::exec;
use crate::exit::{Exit, Failure};
use crate::output::Output;
use crate::session::Session;

fn main() -> ExitCode {
    // Before anything is parsed or started: this stands in the way of every job of `exec`.
    if let Some(ended) = exec::child::run_if_asked(std::env::args_os()) {
        return ended;
    }
    let exit = match Cli::try_parse() {
        Ok(cli) => start(cli),
        Err(error) => output::usage(&error, args::asks_for_json(std::env::args_os())),
    };
    ExitCode::from(exit.code())
}

fn start(cli: Cli) -> Exit {
    let mut output = Output::new(cli.global.json);
    trouble::tell(&output);
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build();
    let outcome = match runtime {
        Ok(runtime) => {
            let outcome = runtime.block_on(run_until_interrupted(cli, output.clone()));
            // A thread may still wait for standard input: do not wait for it.
            runtime.shutdown_background();
            outcome
        }
        Err(error) => Err(Failure::internal(format!(
            "the runtime did not start: {error}"
        ))),
    };
    let outcome = outcome.and_then(|exit| match output.failure() {
        Some(why) => Err(Failure::unwritable(&why)),
        None => Ok(exit),
    });
    outcome.unwrap_or_else(|failure| {
        output.problem(&failure.problem);
        failure.exit
    })
}

/// Runs the command beside a listener for the interrupt, which ends even one that reads. One that
/// clears up after itself gets the time for it; a second interrupt ends that as well.
async fn run_until_interrupted(cli: Cli, output: Output) -> Result<Exit, Failure> {
    let mut interrupt = signals::hear(SignalKind::interrupt())?;
    let mut session = Session::new(cli.global, output);
    let clearing = session.clearing.clone();
    let mut command = tokio::spawn(async move { commands::run(cli.command, &mut session).await });
    tokio::select! {
        ended = &mut command => return outcome(ended),
        _ = interrupt.recv() => {}
    }
    if clearing.is_taken_over() {
        return outcome(command.await);
    }
    if clearing.has_begun() {
        tokio::select! {
            ended = &mut command => return outcome(ended),
            _ = interrupt.recv() => {}
        }
    }
    Ok(Exit::Interrupted)
}

fn outcome(ended: Result<Result<Exit, Failure>, JoinError>) -> Result<Exit, Failure> {
    ended.unwrap_or_else(|panic| Err(Failure::internal(panic.to_string())))
}
