//! The names of the keys and channels that are read from here; scripts have their own.

use bytes::Bytes;
use windlass_core::{Error, Result};

use super::Settings;

/// Which names the keys have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Layout {
    /// The released versions: `worqr:queues:Q1`.
    Released,
    /// The document that came before them: `Q1`, `W1_Q1`, `WorkMap_W1`, `Workers`, `W1`.
    Document,
}

/// What a channel is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Channel {
    Work,
    /// As [`Channel::Work`]: the document tells new tasks elsewhere.
    News,
    Done,
    Cancel,
    Delete,
}

/// The names under one prefix.
#[derive(Debug, Clone)]
pub(super) struct Keys {
    layout: Layout,
    prefix: String,
}

impl Keys {
    pub(super) fn new(settings: Settings) -> Result<Self> {
        let Settings { layout, prefix } = settings;
        if layout == Layout::Released && prefix.is_empty() {
            let help = "name the redisKeyPrefix of the other clients, which is worqr by default";
            return Err(Error::invalid("prefix", "it is empty", help));
        }
        Ok(Self { layout, prefix })
    }

    pub(super) fn layout(&self) -> Layout {
        self.layout
    }

    pub(super) fn prefix(&self) -> &str {
        &self.prefix
    }

    pub(super) fn queue(&self, queue: &str) -> String {
        match self.layout {
            Layout::Released => format!("{}:queues:{queue}", self.prefix),
            Layout::Document => format!("{}{queue}", self.prefix),
        }
    }

    pub(super) fn process(&self, process: &str) -> String {
        match self.layout {
            Layout::Released => format!("{}:processes:{process}", self.prefix),
            Layout::Document => format!("{}{process}", self.prefix),
        }
    }

    pub(super) fn workers(&self) -> String {
        match self.layout {
            Layout::Released => format!("{}:workers", self.prefix),
            Layout::Document => format!("{}Workers", self.prefix),
        }
    }

    pub(super) fn served(&self, worker: &str) -> String {
        match self.layout {
            Layout::Released => format!("{}:workingQueues:{worker}", self.prefix),
            Layout::Document => format!("{}WorkMap_{worker}", self.prefix),
        }
    }

    /// A key of ours.
    pub(super) fn own(&self, kind: &str) -> String {
        match self.layout {
            Layout::Released => format!("{}:windlass:{kind}", self.prefix),
            Layout::Document => format!("{}windlass_{kind}", self.prefix),
        }
    }

    /// The channels of a queue, each once.
    pub(super) fn channels(&self, queue: &str) -> Vec<(Bytes, Channel)> {
        let mut channels: Vec<(Bytes, Channel)> = [
            (Channel::Work, "work"),
            (Channel::Done, "done"),
            (Channel::Cancel, "cancel"),
            (Channel::Delete, "delete"),
        ]
        .map(|(channel, kind)| (self.channel(queue, kind).into(), channel))
        .into();
        if self.layout == Layout::Document {
            channels.push((self.queue(queue).into(), Channel::News));
        }
        channels
    }

    fn channel(&self, queue: &str, kind: &str) -> String {
        match self.layout {
            Layout::Released => format!("{}_{queue}_{kind}", self.prefix),
            Layout::Document => format!("{}{queue}_{kind}", self.prefix),
        }
    }

    /// The pattern of all keys whose names begin so: the prefix may have any characters.
    pub(super) fn pattern(start: &str) -> String {
        let mut pattern = String::with_capacity(start.len() + 1);
        for character in start.chars() {
            if matches!(character, '*' | '?' | '[' | ']' | '^' | '-' | '\\') {
                pattern.push('\\');
            }
            pattern.push(character);
        }
        pattern.push('*');
        pattern
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_fits_only_what_begins_with_these_very_characters() {
        assert_eq!(Keys::pattern("a*b?[c]\\:"), "a\\*b\\?\\[c\\]\\\\:*");
    }

    #[test]
    fn the_released_layout_needs_a_prefix() {
        let error = Keys::new(Settings::released("")).unwrap_err();
        assert_eq!(error.code(), "invalid");
        assert!(Keys::new(Settings::document("")).is_ok());
    }
}
