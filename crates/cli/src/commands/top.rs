//! `windlass top`: queues, workers and failures, live. `model` is what is shown, `read` gets it from the
//! store, `update` applies keys, `view` draws, and `screen` runs them on a terminal.

mod failures;
mod model;
mod read;
mod rows;
mod screen;
#[cfg(test)]
mod tests;
mod update;
mod view;

use std::io::{self, IsTerminal};
use std::time::Duration;

use clap::Args;
use windlass::duration;
use windlass_terminal::repeat::check_interval;

use self::read::Reader;
use crate::exit::{CliError, Exit, Result};
use crate::session::Session;

/// Command-line arguments.
#[derive(Debug, Args)]
#[command(after_help = "Keys:\n  \
    up, down, j, k   select           tab   next panel, or next state of jobs\n  \
    enter            open             esc   back\n  \
    p  pause or resume the queue      r     retry the dead job, or all of the queue\n  \
    /  filter        ?  help          d     delete the job, or all dead ones of the queue\n  \
    q  quit\n\n\
    Without a terminal, use --once or --json: both print the current numbers and exit.\n\n\
    Example:\n  windlass top --every 2s")]
pub(crate) struct Arguments {
    /// Time between two refreshes [default: 1s]
    #[arg(long, value_name = "D", allow_hyphen_values = true, value_parser = duration::parse)]
    every: Option<Duration>,

    /// Print the current numbers and exit; so does --json
    #[arg(long)]
    once: bool,
}

/// Shows the store until a key or a signal ends it, or prints one snapshot.
pub(crate) async fn run(arguments: Arguments, session: &mut Session) -> Result<Exit> {
    let every = check_interval("--every", arguments.every)?.unwrap_or(Duration::from_secs(1));
    let is_once = arguments.once || session.global.json;
    if !is_once && !is_screen() {
        return Err(CliError::usage(
            "top needs a terminal; stdin or stdout is not one",
            "print the current numbers with `windlass top --once`, or with --json",
        ));
    }
    let url = session.persistent_store_url()?.to_string();
    let store = session.store().await?;
    let mut reader = Reader::new(store);
    // An error here is most likely a wrong URL, and ends the command. Later ones are shown on the screen.
    let snapshot = reader.snapshot().await?;
    if is_once {
        session.output.result(&snapshot, |output| {
            for (number, table) in rows::tables(&snapshot).iter().enumerate() {
                if number > 0 && !table.rows.is_empty() {
                    output.line("");
                }
                output.table(&table.header(), table.cells());
            }
        });
        return Ok(Exit::Ok);
    }
    screen::run(
        reader,
        model::Model::new(url, every, snapshot),
        session.signals()?,
    )
    .await
}

/// Returns whether a screen can be drawn.
fn is_screen() -> bool {
    let is_dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
    io::stdin().is_terminal() && io::stdout().is_terminal() && !is_dumb
}
