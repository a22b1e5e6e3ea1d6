//! The help of every command, compared with its snapshot file. A command without one fails.

use clap::Command;

use super::command;
use crate::snapshot::Snapshots;

/// Fixed help width, independent of the terminal the tests run in.
const WIDTH: usize = 100;

/// Returns the path of every command; hidden ones are skipped.
fn paths(command: &Command, path: &[String]) -> Vec<Vec<String>> {
    let mut all = vec![path.to_vec()];
    for subcommand in command.get_subcommands() {
        if !subcommand.is_hide_set() {
            let path = [path, &[subcommand.get_name().to_owned()]].concat();
            all.extend(paths(subcommand, &path));
        }
    }
    all
}

/// Returns the output of `--help` for a command.
fn help(path: &[String]) -> String {
    let arguments = path.iter().map(String::as_str).chain(["--help"]);
    let printed = command()
        .term_width(WIDTH)
        .try_get_matches_from(arguments)
        .unwrap_err()
        .to_string();
    let lines = printed.lines().map(|line| format!("{}\n", line.trim_end()));
    lines.collect()
}

#[test]
fn the_help_of_every_command_matches_its_snapshot() {
    let mut snapshots = Snapshots::open("help");

    for path in paths(&command(), &["windlass".to_owned()]) {
        snapshots.compare(&path.join("-"), &help(&path));
    }

    snapshots.finish();
}
