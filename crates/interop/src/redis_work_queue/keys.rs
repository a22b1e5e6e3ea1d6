//! What the keys of a queue are called.

use bytes::Bytes;

/// Which clients share the queue: their keys differ, and so does what makes an item exist.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Layout {
    /// Clients 0.1.x, the newest in the registries of Python and Node: leases are
    /// `<prefix>:leased_by_session:<id>`, and a cleaner keeps `<prefix>:cleaning`.
    V01,
    /// Clients 0.3.x, the newest crate and Go module: leases are `<prefix>:lease:<id>`.
    V03,
}

/// The keys of one queue. The prefix is used as it is.
#[derive(Debug, Clone)]
pub(super) struct Keys {
    pub(super) queue: Bytes,
    pub(super) processing: Bytes,
    /// Only clients 0.1.x have one.
    pub(super) cleaning: Option<Bytes>,
    /// Ours, which no client of the original knows.
    marks: Bytes,
    /// Before the id: the data of an item.
    pub(super) item: String,
    /// Before the id: the lease of an item.
    lease: String,
}

impl Keys {
    pub(super) fn new(prefix: &str, layout: Layout) -> Self {
        let of = |name: &str| Bytes::from(format!("{prefix}:{name}"));
        let lease = match layout {
            Layout::V01 => "leased_by_session",
            Layout::V03 => "lease",
        };
        Self {
            queue: of("queue"),
            processing: of("processing"),
            cleaning: (layout == Layout::V01).then(|| of("cleaning")),
            marks: of("windlass:marks"),
            item: format!("{prefix}:item:"),
            lease: format!("{prefix}:{lease}:"),
        }
    }

    /// The keys and arguments of a script, as `lib/names.lua` expects them.
    pub(super) fn call(&self, args: Vec<Bytes>) -> (Vec<Bytes>, Vec<Bytes>) {
        let lists = [&self.queue, &self.processing, &self.marks];
        let keys = lists.into_iter().chain(&self.cleaning).cloned().collect();
        let prefixes = [&self.item, &self.lease].map(|prefix| Bytes::from(prefix.clone()));
        (keys, prefixes.into_iter().chain(args).collect())
    }

    /// The key of the data of an item.
    pub(super) fn item(&self, id: &str) -> String {
        format!("{}{id}", self.item)
    }

    /// The pattern that fits the data of all items: what the prefix has of a pattern is plain text.
    pub(super) fn items(&self) -> String {
        let mut pattern = String::new();
        for letter in self.item.chars() {
            if matches!(letter, '*' | '?' | '[' | ']' | '^' | '-' | '\\') {
                pattern.push('\\');
            }
            pattern.push(letter);
        }
        pattern + "*"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_keys_are_those_of_the_originals() {
        let (keys, args) = Keys::new("mail", Layout::V01).call(Vec::new());
        let marks = "mail:windlass:marks";
        let lists = ["mail:queue", "mail:processing", marks, "mail:cleaning"];
        assert_eq!(keys, lists);
        assert_eq!(args, ["mail:item:", "mail:leased_by_session:"]);
        let (keys, args) = Keys::new("mail", Layout::V03).call(vec!["more".into()]);
        assert_eq!(keys, ["mail:queue", "mail:processing", marks]);
        assert_eq!(args, ["mail:item:", "mail:lease:", "more"]);
    }

    #[test]
    fn a_prefix_is_no_pattern() {
        let pattern = Keys::new("a*[b]\\", Layout::V03).items();
        assert_eq!(pattern, "a\\*\\[b\\]\\\\:item:*");
    }
}
