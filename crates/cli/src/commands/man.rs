//! `windlass man`: writes the man pages, one per command. For packages; hidden.

use std::io;
use std::path::{Path, PathBuf};

use clap::{Args, Command};
use clap_mangen::Man;

use crate::args;
use crate::exit::{CliError, Exit, Result};
use crate::session::Session;

/// Command-line arguments.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Folder to write to, for example /usr/local/share/man/man1
    folder: PathBuf,
}

/// Writes the pages.
pub(crate) fn run(arguments: &Arguments, session: &mut Session) -> Result<Exit> {
    let mut root = args::command().disable_help_subcommand(true);
    root.build();
    let written = write(&root, &arguments.folder).map_err(|error| {
        let folder = arguments.folder.display();
        let message = format!("cannot write man pages to {folder}: {error}");
        CliError::usage(message, format!("create the folder: mkdir -p {folder}"))
    })?;
    session.output.note(&format!("{written} man pages written"));
    Ok(Exit::Ok)
}

/// Writes the page of a command and those of its subcommands. Returns their number.
fn write(command: &Command, folder: &Path) -> io::Result<usize> {
    let name = command
        .get_display_name()
        .unwrap_or_else(|| command.get_name());
    let page = Man::new(command.clone());
    let mut text = Vec::new();
    page.render(&mut text)?;
    std::fs::write(folder.join(format!("{name}.1")), text)?;
    let mut written = 1;
    for subcommand in command.get_subcommands() {
        if !subcommand.is_hide_set() {
            written += write(subcommand, folder)?;
        }
    }
    Ok(written)
}
