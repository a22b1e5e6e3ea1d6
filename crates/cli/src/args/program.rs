//! `exec QUEUE CMD …` without `--`: inserts the `--` before the program, so that everything after it, options
//! included, belongs to the program.

use std::ffi::{OsStr, OsString};

use clap::{Arg, Command};

/// The option that names queues. Given it, there is no positional queue before the program.
const QUEUE_OPTION: &str = "queue";

/// Returns the command line with `--` before the program, for commands that run one.
pub(super) fn separated(root: &Command, mut words: Vec<OsString>) -> Vec<OsString> {
    if let Some(at) = program_at(root, &words) {
        words.insert(at, "--".into());
    }
    words
}

/// Returns the position of a program that has no `--` before it.
fn program_at(root: &Command, words: &[OsString]) -> Option<usize> {
    let mut command = root;
    let mut positionals = 0;
    let mut has_queue_option = false;
    let mut at = 1;
    while let Some(word) = words.get(at) {
        let options = || command.get_arguments().chain(root.get_arguments());
        let text = word.to_str().unwrap_or_default();
        if text == "--" {
            return None;
        }
        if let Some(long) = text.strip_prefix("--") {
            let name = long.split('=').next().unwrap_or_default();
            has_queue_option |= name == QUEUE_OPTION;
            let option = options().find(|option| option.get_long() == Some(name));
            let has_value = name != long || !option.is_some_and(takes_value);
            at += if has_value { 1 } else { 2 };
        } else if text.len() > 1 && text.starts_with('-') {
            at += if short_needs_value(&text[1..], options) {
                2
            } else {
                1
            };
        } else if let Some(subcommand) = subcommand(command, word, positionals) {
            command = subcommand;
            at += 1;
        } else {
            let before = before_program(command)?;
            if positionals == before || positionals == 0 && has_queue_option {
                return Some(at);
            }
            positionals += 1;
            at += 1;
        }
    }
    None
}

/// Returns how many positional arguments a command takes before its program, if it runs one.
fn before_program(command: &Command) -> Option<usize> {
    let mut positionals = command.get_positionals();
    positionals
        .any(Arg::is_last_set)
        .then(|| command.get_positionals().count() - 1)
}

fn subcommand<'a>(command: &'a Command, word: &OsStr, positionals: usize) -> Option<&'a Command> {
    command.find_subcommand(word).filter(|_| positionals == 0)
}

/// Whether the value of a group of short options, such as `-j`, is the next word.
fn short_needs_value<'a, I: Iterator<Item = &'a Arg>>(
    group: &str,
    options: impl Fn() -> I,
) -> bool {
    let takes_value = |letter| {
        let mut options = options();
        let option = options.find(|option| option.get_short() == Some(letter));
        option.is_some_and(takes_value)
    };
    let first = group
        .char_indices()
        .find(|(_, letter)| takes_value(*letter));
    first.is_some_and(|(at, letter)| at + letter.len_utf8() == group.len())
}

fn takes_value(option: &Arg) -> bool {
    option.get_action().takes_values()
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::super::Cli;
    use super::*;

    fn separated_line(line: &str) -> String {
        let words = line.split(' ').map(OsString::from).collect();
        let words = separated(&Cli::command(), words);
        let words: Vec<_> = words.iter().map(|word| word.to_str().unwrap()).collect();
        words.join(" ")
    }

    #[test]
    fn the_program_begins_after_the_queue_or_the_queue_option() {
        for (line, expected) in [
            ("w exec mail ./send -j 9", "w exec mail -- ./send -j 9"),
            (
                "w exec mail -j 4 ./send --json",
                "w exec mail -j 4 -- ./send --json",
            ),
            (
                "w exec -j4 --burst mail ./send",
                "w exec -j4 --burst mail -- ./send",
            ),
            (
                "w --store s exec mail a -- b",
                "w --store s exec mail -- a -- b",
            ),
            ("w exec --store=s mail a", "w exec --store=s mail -- a"),
            (
                "w exec --queue a --queue b ./send",
                "w exec --queue a --queue b -- ./send",
            ),
            ("w exec --queue=a ./send", "w exec --queue=a -- ./send"),
            (
                "w exec mail --queue news ./send",
                "w exec mail --queue news -- ./send",
            ),
            (
                "w worker mail python3 a.py",
                "w worker mail -- python3 a.py",
            ),
            (
                "w up mail --listen 127.0.0.1:0 ./send",
                "w up mail --listen 127.0.0.1:0 -- ./send",
            ),
            (
                "w interop blueque run video ./x",
                "w interop blueque run video -- ./x",
            ),
        ] {
            assert_eq!(separated_line(line), expected);
        }
    }

    #[test]
    fn other_command_lines_stay_as_they_are() {
        for line in [
            "w exec --queue mail -- ./send -j 9",
            "w exec mail -j 4 -- ./send",
            "w exec mail --queue news -- ./send",
            "w exec mail",
            "w up",
            "w exec --unknown mail",
            "w enqueue mail hello --delay 5s",
            "w job retry mail exec one two",
        ] {
            assert_eq!(separated_line(line), line);
        }
    }
}
