//! Key and channel names used from Rust. Scripts have their own.

use bytes::Bytes;
use clap::ValueEnum;
use windlass_core::{Error, Result};

use super::WorqrSettings;

/// Key layout.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub enum WorqrLayout {
    /// The released versions: `worqr:queues:Q1`.
    #[default]
    #[value(help = "The released library: worqr:queues:Q1")]
    Released,
    /// The document that came before them: `Q1`, `W1_Q1`, `WorkMap_W1`, `Workers`, `W1`.
    #[value(help = "The document before it: Q1, `W1_Q1`, `WorkMap_W1`")]
    Document,
}

/// Purpose of a channel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Channel {
    Work,
    /// Like [`Channel::Work`]: the document layout announces new tasks on a separate channel.
    NewTasks,
    Done,
    Cancel,
    Delete,
}

/// Key names under one prefix.
#[derive(Debug, Clone)]
pub(super) struct Keys {
    layout: WorqrLayout,
    prefix: String,
}

impl Keys {
    pub(super) fn new(settings: WorqrSettings) -> Result<Self> {
        let WorqrSettings { layout, prefix } = settings;
        if layout == WorqrLayout::Released && prefix.is_empty() {
            let help = "use the redisKeyPrefix of the other clients (default: worqr)";
            return Err(Error::invalid("prefix", "must not be empty", help));
        }
        Ok(Self { layout, prefix })
    }

    pub(super) fn layout(&self) -> WorqrLayout {
        self.layout
    }

    pub(super) fn prefix(&self) -> &str {
        &self.prefix
    }

    pub(super) fn queue(&self, queue: &str) -> String {
        match self.layout {
            WorqrLayout::Released => format!("{}:queues:{queue}", self.prefix),
            WorqrLayout::Document => format!("{}{queue}", self.prefix),
        }
    }

    pub(super) fn process(&self, process: &str) -> String {
        match self.layout {
            WorqrLayout::Released => format!("{}:processes:{process}", self.prefix),
            WorqrLayout::Document => format!("{}{process}", self.prefix),
        }
    }

    pub(super) fn workers(&self) -> String {
        match self.layout {
            WorqrLayout::Released => format!("{}:workers", self.prefix),
            WorqrLayout::Document => format!("{}Workers", self.prefix),
        }
    }

    pub(super) fn served(&self, worker: &str) -> String {
        match self.layout {
            WorqrLayout::Released => format!("{}:workingQueues:{worker}", self.prefix),
            WorqrLayout::Document => format!("{}WorkMap_{worker}", self.prefix),
        }
    }

    /// Returns a key added by Windlass.
    pub(super) fn own(&self, kind: &str) -> String {
        match self.layout {
            WorqrLayout::Released => format!("{}:windlass:{kind}", self.prefix),
            WorqrLayout::Document => format!("{}windlass_{kind}", self.prefix),
        }
    }

    /// Returns the channels of a queue.
    pub(super) fn channels(&self, queue: &str) -> Vec<(Bytes, Channel)> {
        let mut channels: Vec<(Bytes, Channel)> = [
            (Channel::Work, "work"),
            (Channel::Done, "done"),
            (Channel::Cancel, "cancel"),
            (Channel::Delete, "delete"),
        ]
        .map(|(channel, kind)| (self.channel(queue, kind).into(), channel))
        .into();
        if self.layout == WorqrLayout::Document {
            channels.push((self.queue(queue).into(), Channel::NewTasks));
        }
        channels
    }

    fn channel(&self, queue: &str, kind: &str) -> String {
        match self.layout {
            WorqrLayout::Released => format!("{}_{queue}_{kind}", self.prefix),
            WorqrLayout::Document => format!("{}{queue}_{kind}", self.prefix),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_released_layout_needs_a_prefix() {
        let error = Keys::new(WorqrSettings::released("")).unwrap_err();
        assert_eq!(error.code(), "invalid");
        assert!(Keys::new(WorqrSettings::document("")).is_ok());
    }
}
