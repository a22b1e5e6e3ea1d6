//! The keys of a queue: a small fixed set under one hash tag.

use bytes::Bytes;
use windlass_core::{Priority, QueueName};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum KeyType {
    Hash,
    List,
    Set,
    SortedSet,
    /// A string.
    Text,
    /// A pub/sub channel.
    Channel,
}

/// One key of the fixed set, by its index in the table; or `lane`, the one of the lists `ready` that the
/// caller of a script chooses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Key {
    Of(usize),
    Lane,
}

/// The number of priorities, and so of ready lists.
const LANES: usize = 10;

/// The index of `ready` in the table.
const READY: usize = 6;

use KeyType::{Channel, Hash, List, Set, SortedSet, Text};

/// The name and type of each key. The names are stored in Redis, so they cannot change.
const TABLE: [(&str, KeyType); 53] = [
    ("state", Hash),
    ("settings", Hash),
    ("jobs", Hash),
    ("opts", Hash),
    ("errors", Hash),
    ("results", Hash),
    ("ready", List),
    ("suspects", SortedSet),
    ("ghosts", Hash),
    ("scheduled", SortedSet),
    ("expiring", SortedSet),
    ("unique", Hash),
    ("running", Hash),
    ("open", Hash),
    ("claims", Hash),
    ("left", Hash),
    ("tokens", SortedSet),
    ("holds", SortedSet),
    ("leases", SortedSet),
    ("owners", Hash),
    ("stopping", SortedSet),
    ("progress", Hash),
    ("final", Hash),
    ("succeeded", SortedSet),
    ("dead", SortedSet),
    ("cancelled", SortedSet),
    ("tombstones", Hash),
    ("forgetting", SortedSet),
    ("schedules", Hash),
    ("plans", Hash),
    ("firing", SortedSet),
    ("refilling", SortedSet),
    ("names", SortedSet),
    ("lined", SortedSet),
    ("working", SortedSet),
    ("turns", SortedSet),
    ("resting", SortedSet),
    ("recheck", SortedSet),
    ("groups", Hash),
    ("group_names", SortedSet),
    ("history", List),
    ("error_groups", Hash),
    ("error_seen", SortedSet),
    ("sleepers", SortedSet),
    ("wake", List),
    ("hints", Channel),
    ("migrating", Hash),
    // Keys of the registry, under a separate hash tag.
    ("schema", Text),
    ("queues", Set),
    ("workers", Hash),
    ("seen", SortedSet),
    ("mark", Text),
    ("actions", List),
];

impl Key {
    pub(crate) fn named(name: &str) -> Option<Self> {
        if name == "lane" {
            return Some(Self::Lane);
        }
        let at = TABLE.iter().position(|(known, _)| *known == name);
        at.map(Self::Of)
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Of(at) => TABLE[at].0,
            Self::Lane => "lane",
        }
    }

    /// Whether only a queue with schedules has it.
    pub(crate) fn is_of_schedules(self) -> bool {
        ["schedules", "plans", "firing", "refilling", "names"].contains(&self.name())
    }

    /// Whether only a queue that uses groups has it.
    pub(crate) fn is_of_groups(self) -> bool {
        let names = [
            "lined",
            "working",
            "turns",
            "resting",
            "recheck",
            "groups",
            "group_names",
        ];
        names.contains(&self.name())
    }

    pub(crate) fn kind(self) -> KeyType {
        match self {
            Self::Of(at) => TABLE[at].1,
            Self::Lane => List,
        }
    }

    /// The number of Redis keys: 10 for the ready lists, 1 for others.
    pub(crate) fn count(self) -> usize {
        if self == Self::Of(READY) { LANES } else { 1 }
    }
}

/// All keys under one hash tag, formatted once.
#[derive(Debug, Clone)]
pub(crate) struct Keys {
    /// By index in the table.
    each: Vec<Vec<Bytes>>,
}

impl Keys {
    /// The keys of one partition of a queue.
    pub(crate) fn of_queue(prefix: &str, queue: &QueueName, partition: u32) -> Self {
        match partition {
            0 => Self::tagged(prefix, queue.as_str()),
            n => Self::tagged(prefix, &format!("{queue}/{n}")),
        }
    }

    /// The keys of the registry; `*` is not a valid queue name.
    pub(crate) fn of_registry(prefix: &str) -> Self {
        Self::tagged(prefix, "*")
    }

    fn tagged(prefix: &str, tag: &str) -> Self {
        let names = |(at, (name, _)): (usize, &(&str, KeyType))| match Key::Of(at).count() {
            1 => vec![Bytes::from(format!("{prefix}:{{{tag}}}:{name}"))],
            many => (0..many)
                .map(|n| Bytes::from(format!("{prefix}:{{{tag}}}:{name}:{n}")))
                .collect(),
        };
        Self {
            each: TABLE.iter().enumerate().map(names).collect(),
        }
    }

    /// The keys that a script declares, in the order of `KEYS`.
    pub(crate) fn declared(&self, keys: &[Key]) -> Vec<Bytes> {
        self.declared_in(keys, Priority::default())
    }

    /// The keys that a script declares; the key `lane` is the list of this priority.
    pub(crate) fn declared_in(&self, keys: &[Key], lane: Priority) -> Vec<Bytes> {
        let mut declared = Vec::with_capacity(keys.len() + LANES);
        for key in keys {
            match key {
                Key::Of(at) => declared.extend_from_slice(&self.each[*at]),
                Key::Lane => {
                    let list = self.each[READY].get(usize::from(lane.level()));
                    declared.extend(list.cloned());
                }
            }
        }
        declared
    }

    pub(crate) fn one(&self, name: &str) -> Bytes {
        let at = TABLE.iter().position(|(known, _)| *known == name);
        self.each[at.unwrap_or_default()][0].clone()
    }

    /// Every key with its name and type.
    #[cfg(test)]
    pub(crate) fn all(&self) -> impl Iterator<Item = (&'static str, KeyType, &Bytes)> {
        self.each.iter().enumerate().flat_map(|(at, keys)| {
            let (name, kind) = TABLE[at];
            keys.iter().map(move |key| (name, kind, key))
        })
    }
}
