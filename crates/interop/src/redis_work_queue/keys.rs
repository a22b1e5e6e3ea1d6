//! Key names of a queue.

use bytes::Bytes;
use clap::ValueEnum;

/// The clients that share the queue. The layouts differ in keys and in what makes an item exist.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub enum WorkQueueLayout {
    /// Clients 0.1.x, the newest Python and Node packages: leases are
    /// `<prefix>:leased_by_session:<id>`, and cleaners use `<prefix>:cleaning`.
    #[value(
        name = "0.1",
        help = "The newest Python and Node packages, and all other clients up to 0.1"
    )]
    V01,
    /// Clients 0.3.x, the newest crate and Go module: leases are `<prefix>:lease:<id>`.
    #[default]
    #[value(name = "0.3", help = "The newest crate and Go module")]
    V03,
}

/// The keys of one queue. The prefix is used unchanged.
#[derive(Debug, Clone)]
pub(super) struct Keys {
    pub(super) queue: Bytes,
    pub(super) processing: Bytes,
    /// Only in layout 0.1.
    pub(super) cleaning: Option<Bytes>,
    /// Added by Windlass; original clients do not read it.
    marks: Bytes,
    /// Prefix of the data keys.
    pub(super) item: String,
    /// Prefix of the lease keys.
    lease: String,
}

impl Keys {
    pub(super) fn new(prefix: &str, layout: WorkQueueLayout) -> Self {
        let key = |name: &str| Bytes::from(format!("{prefix}:{name}"));
        let lease = match layout {
            WorkQueueLayout::V01 => "leased_by_session",
            WorkQueueLayout::V03 => "lease",
        };
        Self {
            queue: key("queue"),
            processing: key("processing"),
            cleaning: (layout == WorkQueueLayout::V01).then(|| key("cleaning")),
            marks: key("windlass:marks"),
            item: format!("{prefix}:item:"),
            lease: format!("{prefix}:{lease}:"),
        }
    }

    /// Returns the keys and arguments of a script call, as `lib/keys.lua` expects them.
    pub(super) fn call(&self, args: Vec<Bytes>) -> (Vec<Bytes>, Vec<Bytes>) {
        let lists = [&self.queue, &self.processing, &self.marks];
        let keys = lists.into_iter().chain(&self.cleaning).cloned().collect();
        let prefixes = [&self.item, &self.lease].map(|prefix| Bytes::from(prefix.clone()));
        (keys, prefixes.into_iter().chain(args).collect())
    }

    /// Returns the data key of an item.
    pub(super) fn item(&self, id: &str) -> String {
        format!("{}{id}", self.item)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_keys_are_those_of_the_originals() {
        let (keys, args) = Keys::new("mail", WorkQueueLayout::V01).call(Vec::new());
        let marks = "mail:windlass:marks";
        let lists = ["mail:queue", "mail:processing", marks, "mail:cleaning"];
        assert_eq!(keys, lists);
        assert_eq!(args, ["mail:item:", "mail:leased_by_session:"]);
        let (keys, args) = Keys::new("mail", WorkQueueLayout::V03).call(vec!["more".into()]);
        assert_eq!(keys, ["mail:queue", "mail:processing", marks]);
        assert_eq!(args, ["mail:item:", "mail:lease:", "more"]);
    }
}
