//! Possible values in one line of help: for values with a description, clap prints a block of lines and moves
//! every option of the command to lines of its own.

use clap::{Arg, Command};

/// Lists the possible values of all arguments by name only.
pub(super) fn in_one_line(command: Command) -> Command {
    command.mut_args(list_names).mut_subcommands(in_one_line)
}

fn list_names(arg: Arg) -> Arg {
    let values = arg.get_possible_values();
    if !values.iter().any(|value| value.get_help().is_some()) {
        return arg;
    }
    let names: Vec<_> = values.iter().map(|value| value.get_name()).collect();
    let help = arg.get_help().map(ToString::to_string).unwrap_or_default();
    let help = format!("{help} [possible values: {}]", names.join(", "));
    arg.hide_possible_values(true).help(help)
}
