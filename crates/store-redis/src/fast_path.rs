//! Chooses between the fast and the full script of a verb.
//!
//! The fast scripts know only the common case and refuse all others before they write anything; the
//! caller then repeats the call with the full script. After two refusals in a row, the next calls use the
//! full script at once: more of them after each further refusal.
//!
//! A queue that uses groups has fast scripts of its own. [`Mode`] remembers which of them a partition needs: the
//! jobs that are enqueued and claimed show it.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

/// Half of this is the most calls that use the full script before the fast one is tried again.
const REFUSED_MAX: u32 = 127;

/// Which scripts a store uses.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ScriptChoice {
    /// The fast ones, unless they refuse.
    #[default]
    FastFirst,
    /// Only the full ones.
    FullOnly,
    /// One or the other at random.
    Random,
}

/// The recent refusals of one script in one partition. Only a hint, so updates may be lost.
#[derive(Debug, Default)]
pub(crate) struct FastPath {
    choice: ScriptChoice,
    /// Doubles with each refusal in a row.
    refused: AtomicU32,
    skip: AtomicU32,
}

impl FastPath {
    pub(crate) fn new(choice: ScriptChoice) -> Self {
        Self {
            choice,
            ..Self::default()
        }
    }

    /// Whether the fast script may be used.
    pub(crate) fn is_on(&self) -> bool {
        match self.choice {
            ScriptChoice::FastFirst => true,
            ScriptChoice::FullOnly => false,
            ScriptChoice::Random => fastrand::bool(),
        }
    }

    /// Whether to try the fast script now.
    pub(crate) fn may_try(&self) -> bool {
        if self.choice != ScriptChoice::FastFirst {
            return self.is_on();
        }
        let skip = self.skip.load(Ordering::Relaxed);
        self.skip.store(skip.saturating_sub(1), Ordering::Relaxed);
        skip == 0
    }

    /// Records whether the fast script refused a call. Returns whether it refused the call before, too.
    pub(crate) fn tried(&self, is_refused: bool) -> bool {
        let before = self.refused.load(Ordering::Relaxed);
        let refused = if is_refused {
            (before * 2 + 1).min(REFUSED_MAX)
        } else {
            0
        };
        self.refused.store(refused, Ordering::Relaxed);
        self.skip.store(refused / 2, Ordering::Relaxed);
        refused > 1
    }
}

/// Whether a partition is thought to use groups. Only a hint: a fast script refuses a queue that it is not for.
#[derive(Debug, Default)]
pub(crate) struct Mode(AtomicBool);

impl Mode {
    pub(crate) fn uses_groups(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// Records whether a job had a group. A queue with groups may have others too.
    pub(crate) fn seen(&self, has_group: bool) {
        if has_group && !self.uses_groups() {
            self.0.store(true, Ordering::Relaxed);
        }
    }

    /// Records whether a fast script refused calls in a row: it may be the wrong one.
    pub(crate) fn tried(&self, is_refused_again: bool) {
        if is_refused_again {
            self.0.store(false, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Calls until the fast script is tried again.
    fn skipped(path: &FastPath) -> u32 {
        (0..100).find(|_| path.may_try()).unwrap_or(100)
    }

    #[test]
    fn each_further_refusal_delays_the_next_try() {
        let path = FastPath::default();
        let delays = [0; 8].map(|_| {
            let _ = path.tried(true);
            skipped(&path)
        });
        assert_eq!(delays, [0, 1, 3, 7, 15, 31, 63, 63]);

        assert!(!path.tried(false));
        assert_eq!(skipped(&path), 0);
    }

    #[test]
    fn the_full_script_can_be_enforced() {
        let path = FastPath::new(ScriptChoice::FullOnly);
        assert!(!path.is_on() && !path.may_try());
    }
}
