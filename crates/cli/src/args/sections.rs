//! The commands of `windlass` by purpose, for its help: clap lists them in one column.

use std::fmt::Write as _;

use clap::Command;

const WHICH: &str = "Which one do I want? `enqueue` adds a job, `exec` runs a program for each job,\n\
    `up` does that and serves HTTP, `queue list` and `top` show what happens.";

/// The group of commands that no other group names.
const OTHERS: &str = "Tools";

const GROUPS: [(&str, &[&str]); 6] = [
    ("Start", &["demo", "enqueue", "exec", "up"]),
    (
        "Work",
        &[
            "worker", "claim", "accept", "renew", "progress", "complete", "fail", "release",
            "snooze", "stdio",
        ],
    ),
    (
        "Inspect",
        &[
            "queue",
            "job",
            "groups",
            "schedules",
            "workers",
            "actions",
            "top",
            "tail",
            "doctor",
        ],
    ),
    (
        "Operate",
        &["serve", "token", "maintain", "audit", "store", "config"],
    ),
    ("Older systems", &["interop", "processor", "submit"]),
    (OTHERS, &["bench", "completions", "version", "help"]),
];

/// Sets the help of the root command.
pub(super) fn apply(root: Command) -> Command {
    let template = template(&root);
    root.help_template(template)
}

fn template(root: &Command) -> String {
    let header = root.get_styles().get_header();
    let literal = root.get_styles().get_literal();
    let mut text = format!("{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{WHICH}\n");
    for (group, names) in GROUPS {
        // Writing to a string does not fail.
        let _ = writeln!(text, "\n{header}{group}:{header:#}");
        let others = root.get_subcommands().map(Command::get_name);
        let others = others.filter(|name| group == OTHERS && !is_grouped(name));
        for name in others.chain(names.iter().copied()) {
            let Some(about) = about(root, name) else {
                continue;
            };
            let _ = writeln!(text, "  {literal}{name:<11}{literal:#}  {about}");
        }
    }
    let _ = write!(
        text,
        "\n{header}Options:{header:#}\n{{options}}{{after-help}}"
    );
    text
}

fn is_grouped(name: &str) -> bool {
    GROUPS.iter().any(|(_, names)| names.contains(&name))
}

/// Returns the one-line help of a command, unless it is hidden.
fn about(root: &Command, name: &str) -> Option<String> {
    if name == "help" {
        return Some("Print this, or the help of a command".to_owned());
    }
    let command = root
        .find_subcommand(name)
        .filter(|command| !command.is_hide_set())?;
    Some(command.get_about()?.to_string())
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::super::Cli;
    use super::*;

    /// The width of a small terminal.
    const WIDTH: usize = 80;

    #[test]
    fn every_command_is_listed_once_and_in_one_line() {
        let root = Cli::command();
        let text = apply(root.clone()).render_help().to_string();
        let visible = root
            .get_subcommands()
            .filter(|command| !command.is_hide_set());
        for name in visible.map(Command::get_name).chain(["help"]) {
            let start = format!("  {name} ");
            let lines: Vec<_> = text
                .lines()
                .filter(|line| line.starts_with(&start))
                .collect();
            assert_eq!(lines.len(), 1, "{name}: {lines:?}");
            assert!(lines[0].chars().count() <= WIDTH, "shorten: {}", lines[0]);
        }
    }

    #[test]
    fn every_group_names_commands_that_exist() {
        let root = Cli::command();
        for name in GROUPS.iter().flat_map(|(_, names)| *names) {
            assert!(about(&root, name).is_some(), "{name}");
        }
    }
}
