//! All lines of all actors: what is known of the store from outside.

use std::collections::BTreeSet;

use windlass_core::JobId;

use crate::event::{Event, Line};

/// The lives of all processes, in the order they began.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Ledger {
    /// One entry per process, killed or not.
    pub lives: Vec<Life>,
    /// How many lines there are in all.
    pub lines: usize,
}

/// One process from its start to its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Life {
    /// Who it was, for people: `worker-2.7` is the seventh life of the second worker.
    pub name: String,
    /// What it said, in order.
    pub lines: Vec<Line>,
}

impl Ledger {
    /// Begins a life; answers its number.
    pub fn begin(&mut self, name: &str) -> usize {
        self.lives.push(Life {
            name: name.to_owned(),
            lines: Vec::new(),
        });
        self.lives.len() - 1
    }

    /// Writes down what a process said. A line that nobody can have said is a fault by itself.
    pub fn hear(&mut self, life: usize, text: &str) {
        let line = Line::read(text).unwrap_or_else(|| Line {
            at_us: 0,
            event: Event::Fault(format!("a line that cannot be read: {text:?}")),
        });
        self.note(life, line);
    }

    /// Writes down what a task of this process said.
    pub fn note(&mut self, life: usize, line: Line) {
        self.lives[life].lines.push(line);
        self.lines += 1;
    }

    /// A ledger from names and the lines each said.
    pub fn read(lives: &[(&str, &str)]) -> Self {
        let mut ledger = Self::default();
        for (name, text) in lives {
            let life = ledger.begin(name);
            for line in text.lines() {
                ledger.hear(life, line.trim());
            }
        }
        ledger
    }

    /// Every event with the life it belongs to.
    pub fn events(&self) -> impl Iterator<Item = (&Life, &Event)> {
        self.lives
            .iter()
            .flat_map(|life| life.lines.iter().map(move |line| (life, &line.event)))
    }
}

impl Life {
    /// Ids it asked for and got no answer about: they may or may not be stored.
    pub fn unanswered(&self) -> BTreeSet<&JobId> {
        let mut open = BTreeSet::new();
        for line in &self.lines {
            match &line.event {
                Event::Asking(ids) => open.extend(ids),
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
    fn what_was_asked_and_not_answered_is_unanswered() {
        let ledger =
            Ledger::read(&[("p", "1 asking a b\n2 accepted a\n3 duplicate b\n4 asking c")]);
        let open: Vec<_> = ledger.lives[0].unanswered().into_iter().collect();
        assert_eq!(open, [&JobId::new("c").unwrap()]);
        assert_eq!(ledger.lines, 4);
    }

    #[test]
    fn a_torn_line_is_a_fault() {
        let ledger = Ledger::read(&[("p", "1 accep")]);
        assert!(matches!(ledger.lives[0].lines[0].event, Event::Fault(_)));
    }
}
