//! `windlass` commands in documents and messages exist and accept the flags shown.

use super::tree::{File, Tree};
use super::violation::Violation;

/// The `--help` output of each command; a CLI test keeps these files current.
const HELP: &str = "crates/cli/tests/snapshots/help";

pub(super) fn check(tree: &Tree) -> Vec<Violation> {
    let wrong = |line: &str| {
        // Comments in code may name internal commands.
        let shown = (!line.trim_start().starts_with("//")).then_some(line);
        let typed = shown.into_iter().flat_map(typed);
        typed.filter_map(|typed| problem(tree, typed)).collect()
    };
    let fix = "use a command that `windlass --help` lists, and flags it accepts";
    tree.check_lines(is_read, wrong, fix)
}

/// Documents, and code with messages.
fn is_read(file: &File) -> bool {
    let is_code = file.path.starts_with("crates/") && file.path.contains("/src/");
    (file.is("md") && !file.is_history()) || (file.is("rs") && is_code)
}

/// The text after `windlass` in backticks, up to the closing backtick or the end of the line.
fn typed(line: &str) -> impl Iterator<Item = &str> {
    line.split("`windlass ")
        .skip(1)
        .filter_map(|rest| rest.split('`').next())
}

/// What is wrong with a command, if anything.
fn problem(tree: &Tree, typed: &str) -> Option<String> {
    let words = typed.split(' ').take_while(|word| *word != "--");
    let mut words = words.peekable();
    let mut command = vec!["windlass"];
    while let Some(word) = words.next_if(|word| is_word(word)) {
        command.push(word);
        if help(tree, &command).is_some() {
            continue;
        }
        command.pop();
        if word == "help" || !has_subcommands(tree, &command) {
            break;
        }
        return Some(format!("`{}` has no command `{word}`", command.join(" ")));
    }
    let text = help(tree, &command)?;
    let is_taken = |flag: &&str| text.split([' ', '[', '\n']).any(|word| word == *flag);
    let flags = words.filter(|word| word.starts_with("--"));
    let mut flags = flags.filter_map(|flag| flag.split(['=', '[', ',']).next());
    flags
        .find(|flag| !is_taken(flag))
        .map(|flag| format!("`{}` has no flag `{flag}`", command.join(" ")))
}

/// Returns whether it could be a command: not a placeholder, a flag, a path or a value.
fn is_word(word: &str) -> bool {
    !word.is_empty()
        && !word.starts_with('-')
        && word.chars().all(|c| c.is_ascii_lowercase() || c == '-')
}

fn help<'a>(tree: &'a Tree, command: &[&str]) -> Option<&'a str> {
    tree.get(&format!("{HELP}/{}.txt", command.join("-")))
        .map(|file| file.text.as_str())
}

/// Returns whether a command has subcommands.
fn has_subcommands(tree: &Tree, command: &[&str]) -> bool {
    help(tree, command).is_some_and(|text| text.contains("\nCommands:\n"))
}

#[cfg(test)]
mod tests {
    use super::super::violation::briefly;
    use super::*;

    fn checked(path: &str, text: &str) -> Vec<String> {
        let file = |name: &str| format!("{HELP}/{name}.txt");
        briefly(&check(&Tree::of(&[
            (path, text),
            (&file("windlass"), "Usage: windlass\n\nCommands:\n  job\n"),
            (&file("windlass-job"), "Usage: job\n\nCommands:\n  list\n"),
            (
                &file("windlass-job-list"),
                "Usage: list <QUEUE>\n\n      --state <S>\n",
            ),
        ])))
    }

    #[test]
    fn an_unknown_command_is_caught() {
        let text =
            "`windlass job list mail`, `windlass job find mail`, `windlass jobs`, `windlass = 1`\n";
        assert_eq!(
            checked("docs/a.md", text),
            [
                "docs/a.md:1: `windlass job` has no command `find`",
                "docs/a.md:1: `windlass` has no command `jobs`",
            ]
        );
        assert_eq!(checked("CHANGELOG.md", text), [""; 0]);
    }

    #[test]
    fn an_unknown_flag_is_caught() {
        let text =
            "// `windlass gone`\n\"see `windlass job list {queue} --state dead --kind x`\"\n";
        assert_eq!(
            checked("crates/a/src/lib.rs", text),
            ["crates/a/src/lib.rs:2: `windlass job list` has no flag `--kind`"]
        );
    }
}
