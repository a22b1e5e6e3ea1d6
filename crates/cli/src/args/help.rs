//! The help of every command, compared with a file of its own: a command without one fails.

use clap::{Command, CommandFactory};

use super::Cli;
use crate::snapshot::Snapshots;

/// How wide the help is in the files, whatever terminal the tests run in.
const WIDTH: usize = 100;

/// The words that lead to every command, hidden ones left out.
fn paths(command: &Command, path: &[String]) -> Vec<Vec<String>> {
    let mut all = vec![path.to_vec()];
    for part in command.get_subcommands() {
        if !part.is_hide_set() {
            let path = [path, &[part.get_name().to_owned()]].concat();
            all.extend(paths(part, &path));
        }
    }
    all
}

/// What is printed for these words and `--help`.
fn help(path: &[String]) -> String {
    let words = path.iter().map(String::as_str).chain(["--help"]);
    let command = Cli::command().term_width(WIDTH);
    let printed = command.try_get_matches_from(words).unwrap_err().to_string();
    let lines = printed.lines().map(|line| format!("{}\n", line.trim_end()));
    lines.collect()
}

#[test]
fn the_help_of_every_command_is_as_it_was_read_last() {
    let mut snapshots = Snapshots::open("help");

    for path in paths(&Cli::command(), &["windlass".to_owned()]) {
        snapshots.compare(&path.join("-"), &help(&path));
    }

    snapshots.finish();
}
