//! The names of all keys, byte for byte those of the older system.

use bytes::Bytes;

use super::Layout;

/// The keys of one queue.
#[derive(Debug, Clone)]
pub(super) struct Keys {
    pub(super) layout: Layout,
    pub(super) queue: String,
    pub(super) pending: Bytes,
    pub(super) scheduled: Bytes,
    pub(super) started: Bytes,
    pub(super) complete: Bytes,
    pub(super) failed: Bytes,
    pub(super) listeners: Bytes,
    pub(super) beats: Bytes,
}

impl Keys {
    pub(super) fn new(layout: Layout, queue: &str) -> Self {
        let key = |subject: &str| Bytes::from(format!("{}_{subject}_{queue}", layout.prefix()));
        Self {
            layout,
            queue: queue.to_owned(),
            pending: key("pending_tasks"),
            scheduled: key("scheduled_tasks"),
            started: key("started_tasks"),
            complete: key("complete_tasks"),
            failed: key("failed_tasks"),
            listeners: key("listeners"),
            beats: key("beats"),
        }
    }

    /// What every script declares, in the order of `layout.lua`.
    pub(super) fn declared(&self) -> Vec<Bytes> {
        vec![
            self.pending.clone(),
            self.scheduled.clone(),
            self.started.clone(),
            self.complete.clone(),
            self.failed.clone(),
            self.listeners.clone(),
            queues(self.layout),
            self.beats.clone(),
        ]
    }

    /// The arguments of a script behind those that all have.
    pub(super) fn args(&self, args: Vec<Bytes>) -> Vec<Bytes> {
        let first = [
            Bytes::from_static(self.layout.prefix().as_bytes()),
            Bytes::from(self.queue.clone()),
        ];
        first.into_iter().chain(args).collect()
    }

    /// What the lists of those who hold tasks begin with.
    pub(super) fn reserved_prefix(&self) -> String {
        format!("{}_reserved_tasks_{}_", self.layout.prefix(), self.queue)
    }

    /// The tasks that a listener holds.
    pub(super) fn reserved(&self, listener: &str) -> Bytes {
        Bytes::from(format!("{}{listener}", self.reserved_prefix()))
    }

    /// Where the design note announces that there is work.
    pub(super) fn channel(&self) -> Bytes {
        Bytes::from(format!("{}_channel_{}", self.layout.prefix(), self.queue))
    }
}

/// The hash of a task.
pub(super) fn task(layout: Layout, id: &str) -> Bytes {
    Bytes::from(format!("{}_task_{id}", layout.prefix()))
}

/// All queues with the number of their listeners.
pub(super) fn queues(layout: Layout) -> Bytes {
    Bytes::from(format!("{}_queues", layout.prefix()))
}

/// A pattern that finds what begins with exactly this.
pub(super) fn beginning_with(prefix: &str) -> Vec<u8> {
    let mut pattern = Vec::with_capacity(prefix.len() + 1);
    for byte in prefix.bytes() {
        if b"*?[]\\^".contains(&byte) {
            pattern.push(b'\\');
        }
        pattern.push(byte);
    }
    pattern.push(b'*');
    pattern
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_keys_are_those_of_the_library() {
        let keys = Keys::new(Layout::Released, "video");
        let declared = keys.declared();
        let shown: Vec<_> = declared
            .iter()
            .map(|key| str::from_utf8(key).unwrap())
            .collect();
        assert_eq!(
            shown[..7],
            [
                "blueque_pending_tasks_video",
                "blueque_scheduled_tasks_video",
                "blueque_started_tasks_video",
                "blueque_complete_tasks_video",
                "blueque_failed_tasks_video",
                "blueque_listeners_video",
                "blueque_queues",
            ]
        );
        assert_eq!(
            keys.reserved("host_7"),
            "blueque_reserved_tasks_video_host_7"
        );
        assert_eq!(task(Layout::Released, "1"), "blueque_task_1");
        assert_eq!(task(Layout::Document, "1"), "bluequeue_task_1");
    }

    #[test]
    fn a_pattern_means_no_more_than_the_name() {
        assert_eq!(beginning_with("a[b]*?"), br"a\[b\]\*\?*");
    }
}
