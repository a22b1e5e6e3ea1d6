//! `windlass completions`: prints a shell completion script.

use clap::{Args, CommandFactory};
use clap_complete::Shell;

use crate::args::Cli;
use crate::exit::{Exit, Result};
use crate::session::Session;

/// Command-line arguments.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  \
    windlass completions bash > ~/.local/share/bash-completion/completions/windlass")]
pub(crate) struct Arguments {
    /// Shell
    shell: Shell,
}

/// Prints the script.
#[expect(
    clippy::unnecessary_wraps,
    reason = "all commands have the same signature"
)]
pub(crate) fn run(arguments: &Arguments, session: &mut Session) -> Result<Exit> {
    let mut script = Vec::new();
    clap_complete::generate(
        arguments.shell,
        &mut Cli::command(),
        "windlass",
        &mut script,
    );
    session.output.raw(&script);
    Ok(Exit::Ok)
}
