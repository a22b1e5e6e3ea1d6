//! All lines of all actors: what is known about the store from outside.

use std::collections::BTreeSet;
use std::time::Duration;

use windlass_core::JobId;

use crate::LEASE;
use crate::event::{Event, Line};

/// The logs of all processes, in the order they started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ledger {
    /// The lease of the workers.
    pub lease: Duration,
    /// One entry per process, killed or not.
    pub processes: Vec<ProcessLog>,
    /// The total number of lines.
    pub lines: usize,
}

/// The log of one process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProcessLog {
    /// Its name: `worker-2.7` is the seventh process started, in slot 2.
    pub name: String,
    /// Its lines, in order.
    pub lines: Vec<Line>,
}

impl Default for Ledger {
    fn default() -> Self {
        Self {
            lease: LEASE,
            processes: Vec::new(),
            lines: 0,
        }
    }
}

impl Ledger {
    /// Adds a process. Returns its index.
    pub fn add_process(&mut self, name: &str) -> usize {
        self.processes.push(ProcessLog {
            name: name.to_owned(),
            lines: Vec::new(),
        });
        self.processes.len() - 1
    }

    /// Parses and adds a line of a process. An invalid line is a violation.
    pub fn parse_line(&mut self, process: usize, text: &str) {
        let line = Line::read(text).unwrap_or_else(|| Line {
            at_us: 0,
            event: Event::Violation(format!("invalid line: {text:?}")),
        });
        self.push(process, line);
    }

    /// Adds a line.
    pub fn push(&mut self, process: usize, line: Line) {
        self.processes[process].lines.push(line);
        self.lines += 1;
    }

    /// Builds a ledger from names and the lines of each.
    pub fn read(processes: &[(&str, &str)]) -> Self {
        let mut ledger = Self::default();
        for (name, text) in processes {
            let process = ledger.add_process(name);
            for line in text.lines() {
                ledger.parse_line(process, line.trim());
            }
        }
        ledger
    }

    /// Every event with its process.
    pub fn events(&self) -> impl Iterator<Item = (&ProcessLog, &Event)> {
        self.processes
            .iter()
            .flat_map(|process| process.lines.iter().map(move |line| (process, &line.event)))
    }
}

impl ProcessLog {
    /// Ids it enqueued without getting a reply: they may or may not be stored.
    pub fn unanswered(&self) -> BTreeSet<&JobId> {
        let mut open = BTreeSet::new();
        for line in &self.lines {
            match &line.event {
                Event::Enqueuing(ids) => open.extend(ids),
                Event::Accepted(id) | Event::Duplicate(id) => {
                    open.remove(id);
                }
                _ => {}
            }
        }
        open
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_enqueued_without_a_reply_are_unanswered() {
        let ledger = Ledger::read(&[(
            "p",
            "1 enqueuing a b\n2 accepted a\n3 duplicate b\n4 enqueuing c",
        )]);
        let open: Vec<_> = ledger.processes[0].unanswered().into_iter().collect();
        assert_eq!(open, [&JobId::new("c").unwrap()]);
        assert_eq!(ledger.lines, 4);
    }

    #[test]
    fn an_incomplete_line_is_a_violation() {
        let ledger = Ledger::read(&[("p", "1 accep")]);
        assert!(matches!(
            ledger.processes[0].lines[0].event,
            Event::Violation(_)
        ));
    }
}
