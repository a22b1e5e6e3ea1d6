//! Changes of many jobs at once: the number of jobs is shown, and a question asked, before anything changes.

use std::io::{self, BufRead, IsTerminal, Write};

use clap::Args;
use serde::Serialize;
use windlass::QueueName;

use crate::exit::{CliError, Exit, Result};
use crate::session::Session;

/// Flags of commands that change many jobs at once.
#[derive(Debug, Clone, Copy, Args)]
pub(crate) struct ConfirmArgs {
    /// Do not ask for confirmation
    #[arg(long, short)]
    yes: bool,

    /// Print how many jobs would be changed, and change nothing
    #[arg(long, conflicts_with = "yes")]
    pub(super) dry_run: bool,
}

/// What a command would do.
#[derive(Debug)]
pub(super) struct Plan {
    pub(super) verb: &'static str,
    /// Which jobs: "dead", "waiting and running".
    pub(super) which: String,
    pub(super) kind: Option<String>,
    /// Whether it has other conditions than state and kind.
    pub(super) is_filtered: bool,
    /// The number of jobs in each queue.
    pub(super) counts: Vec<(QueueName, u64)>,
    pub(super) all_queues: bool,
    /// What else it would change, after the jobs: ", and the queue".
    pub(super) and: &'static str,
}

/// What `--dry-run` prints.
#[derive(Debug, Serialize)]
struct Preview<'a> {
    queue: &'a str,
    dry_run: bool,
    jobs: u64,
}

impl<'a> Preview<'a> {
    fn of((queue, jobs): &'a (QueueName, u64)) -> Self {
        Self {
            queue: queue.as_str(),
            dry_run: true,
            jobs: *jobs,
        }
    }
}

impl ConfirmArgs {
    /// Prints a dry run, or asks whether to go on. Returns how the command ends, if it does not go on.
    ///
    /// `--yes` and `--json` mean yes. Without a terminal to ask on, it is an error.
    pub(super) fn stops(self, plan: &Plan, session: &mut Session) -> Result<Option<Exit>> {
        if self.dry_run {
            plan.show(session);
            return Ok(Some(Exit::Ok));
        }
        if self.yes || session.global.json {
            return Ok(None);
        }
        if !io::stdin().is_terminal() || !io::stderr().is_terminal() {
            return Err(CliError::usage(
                format!("not confirmed: {} {}", plan.verb, plan.jobs()),
                "add --yes to do it, or --dry-run to only see the number of jobs",
            ));
        }
        let is_nothing = plan.total() == 0 && plan.and.is_empty();
        if is_nothing || ask(&format!("{} {}", capitalized(plan.verb), plan.jobs()))? {
            return Ok(None);
        }
        session.output.note("nothing was changed");
        Ok(Some(Exit::Failed))
    }
}

impl Plan {
    fn total(&self) -> u64 {
        self.counts.iter().map(|(_, count)| count).sum()
    }

    /// Names the jobs: "1 204 dead jobs of kind letter in queue mail".
    fn jobs(&self) -> String {
        let count = self.total();
        let plural = if count == 1 { "" } else { "s" };
        let kind = self.kind.as_ref().map(|kind| format!(" of kind {kind}"));
        let filtered = if self.is_filtered {
            " that match the filter"
        } else {
            ""
        };
        let place = match self.counts.as_slice() {
            [(queue, _)] if !self.all_queues => format!("queue {queue}"),
            counts => {
                let queues = counts.iter().filter(|(_, count)| *count > 0).count();
                format!("{queues} of {} queues", counts.len())
            }
        };
        format!(
            "{} {} job{plural}{}{filtered} in {place}{}",
            grouped(count),
            self.which,
            kind.unwrap_or_default(),
            self.and
        )
    }

    fn show(&self, session: &mut Session) {
        let text = format!("would {} {}", self.verb, self.jobs());
        // As without --dry-run, one queue is an object and all queues are an array.
        match self.counts.as_slice() {
            [one] if !self.all_queues => {
                session
                    .output
                    .result(&Preview::of(one), |output| output.line(&text));
            }
            counts => {
                let replies: Vec<_> = counts.iter().map(Preview::of).collect();
                session.output.result(&replies, |output| output.line(&text));
            }
        }
    }
}

/// Asks on the terminal. Only `y` and `yes` mean yes.
fn ask(question: &str) -> Result<bool> {
    let answer = tokio::task::block_in_place(|| {
        // There is nowhere to report a failure to print.
        let _ = write!(io::stderr(), "{question}? [y/N] ");
        let mut answer = String::new();
        io::stdin().lock().read_line(&mut answer).map(|_| answer)
    });
    let answer = answer.map_err(|error| CliError::unreadable("stdin", &error))?;
    Ok(["y", "yes"].contains(&answer.trim().to_lowercase().as_str()))
}

fn capitalized(verb: &str) -> String {
    let (first, rest) = verb.split_at(1);
    first.to_uppercase() + rest
}

/// Formats a number in groups of three digits: `1 204`.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(' ');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(counts: &[(&str, u64)], all_queues: bool) -> Plan {
        let count = |(queue, count): &(&str, u64)| (QueueName::new(queue).unwrap(), *count);
        Plan {
            verb: "retry",
            which: "dead".to_owned(),
            kind: None,
            is_filtered: false,
            counts: counts.iter().map(count).collect(),
            all_queues,
            and: "",
        }
    }

    #[test]
    fn a_plan_names_its_jobs() {
        let mut one = plan(&[("mail", 1)], false);
        assert_eq!(one.jobs(), "1 dead job in queue mail");
        one.kind = Some("letter".to_owned());
        one.counts[0].1 = 1_001_204;
        assert_eq!(
            one.jobs(),
            "1 001 204 dead jobs of kind letter in queue mail"
        );
        let all = plan(&[("mail", 2), ("news", 0), ("post", 1)], true);
        assert_eq!(all.jobs(), "3 dead jobs in 2 of 3 queues");
        assert_eq!(plan(&[], true).jobs(), "0 dead jobs in 0 of 0 queues");
    }
}
