//! The log of operator actions: who asked for what, when, through which interface.

use crate::error::{Error, Result};
use crate::name::QueueName;
use crate::time::Timestamp;

/// The number of actions that a store keeps.
pub const ACTIONS_MAX: usize = 10_000;

/// The maximum number of actions per page.
pub const ACTIONS_PAGE: usize = 500;

/// The longest text of an action, in bytes. Longer ones are truncated.
pub const ACTION_TEXT_MAX: usize = 512;

/// What an operator asked for. It has no payloads and no secrets.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Action {
    /// The name of the token or of the user of the operating system; `anonymous` if unknown.
    pub who: String,
    /// The interface: `http` or `dashboard`; others are free to choose a name.
    pub interface: String,
    /// The op.
    pub op: String,
    /// The queue, if the op is on one.
    pub queue: Option<QueueName>,
    /// What the op is applied to: an id, a filter, settings. May be empty.
    pub target: String,
    /// The id of the HTTP request.
    pub request: Option<String>,
}

impl Action {
    /// Returns the action as stores keep it: short texts without control characters.
    #[must_use]
    pub fn cleaned(self) -> Self {
        let clean = |text: String| {
            let text = &text[..text.floor_char_boundary(ACTION_TEXT_MAX)];
            text.replace(char::is_control, " ")
        };
        Self {
            who: clean(self.who),
            interface: clean(self.interface),
            op: clean(self.op),
            queue: self.queue,
            target: clean(self.target),
            request: self.request.map(clean).filter(|id| !id.is_empty()),
        }
    }
}

/// A logged action.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ActionRecord {
    /// The number of the action: each has one more than the one before.
    pub number: u64,
    /// When it was logged, by the clock of the store.
    pub at: Timestamp,
    /// The action.
    pub action: Action,
}

/// Parses a cursor of the log: the number of the last action on the previous page.
pub fn read_cursor(text: &str) -> Result<u64> {
    text.parse().map_err(|_| {
        let why = "not issued by this store";
        Error::invalid("cursor", why, "start again without a cursor")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_action_is_kept_short_and_on_one_line() {
        let action = Action {
            who: "ann\n\tbob".to_owned(),
            target: "é".repeat(ACTION_TEXT_MAX),
            request: Some(String::new()),
            ..Action::default()
        };

        let kept = action.cleaned();

        assert_eq!(
            (kept.who.as_str(), kept.request.as_deref()),
            ("ann  bob", None)
        );
        assert_eq!(kept.target.len(), ACTION_TEXT_MAX);
    }
}
