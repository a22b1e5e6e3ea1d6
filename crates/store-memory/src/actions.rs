//! The log of operator actions.

use std::collections::VecDeque;

use windlass_core::Timestamp;
use windlass_core::action::{ACTIONS_MAX, Action, ActionRecord};
use windlass_core::store::{Cursor, Page};
use windlass_core::time::Now;

/// The last actions, oldest first.
#[derive(Debug, Default)]
pub(crate) struct Actions {
    records: VecDeque<ActionRecord>,
    last_us: u64,
}

impl Actions {
    pub(crate) fn log(&mut self, clock_us: u64, action: Action) {
        let number = self.records.back().map_or(0, |last| last.number) + 1;
        let now = Now::guard(self.last_us, clock_us);
        self.last_us = now.us;
        let at: Timestamp = now.ms();
        let action = action.cleaned();
        self.records.push_back(ActionRecord { number, at, action });
        if self.records.len() > ACTIONS_MAX {
            self.records.pop_front();
        }
    }

    /// A page, newest first, of the actions before a number.
    pub(crate) fn list(&self, before: Option<u64>, limit: usize) -> Page<ActionRecord> {
        let records = self.records.iter().rev();
        let records = records.filter(|record| before.is_none_or(|before| record.number < before));
        let mut items: Vec<_> = records.take(limit + 1).cloned().collect();
        let has_more = items.len() > limit;
        items.truncate(limit);
        let last = items.last().filter(|_| has_more);
        let next = last.map(|record| Cursor(record.number.to_string()));
        Page { items, next }
    }
}
