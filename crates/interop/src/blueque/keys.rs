//! Key names, identical to those of the original.

use bytes::Bytes;

use super::BluequeLayout;

/// The keys of one queue.
#[derive(Debug, Clone)]
pub(super) struct Keys {
    pub(super) layout: BluequeLayout,
    pub(super) queue: String,
    pub(super) pending: Bytes,
    pub(super) scheduled: Bytes,
    pub(super) started: Bytes,
    pub(super) complete: Bytes,
    pub(super) failed: Bytes,
    pub(super) listeners: Bytes,
    pub(super) heartbeats: Bytes,
}

impl Keys {
    pub(super) fn new(layout: BluequeLayout, queue: &str) -> Self {
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
            heartbeats: key("beats"),
        }
    }

    /// Returns the keys that every script declares, in the order of `layout.lua`.
    pub(super) fn declared(&self) -> Vec<Bytes> {
        vec![
            self.pending.clone(),
            self.scheduled.clone(),
            self.started.clone(),
            self.complete.clone(),
            self.failed.clone(),
            self.listeners.clone(),
            queues(self.layout),
            self.heartbeats.clone(),
        ]
    }

    /// Prepends the arguments that all scripts have.
    pub(super) fn args(&self, args: Vec<Bytes>) -> Vec<Bytes> {
        let first = [
            Bytes::from_static(self.layout.prefix().as_bytes()),
            Bytes::from(self.queue.clone()),
        ];
        first.into_iter().chain(args).collect()
    }

    /// Returns the prefix of the lists of held tasks.
    pub(super) fn reserved_prefix(&self) -> String {
        format!("{}_reserved_tasks_{}_", self.layout.prefix(), self.queue)
    }

    /// Returns the key of the list of tasks that a listener holds.
    pub(super) fn reserved(&self, listener: &str) -> Bytes {
        Bytes::from(format!("{}{listener}", self.reserved_prefix()))
    }

    /// Returns the channel on which the document layout announces work.
    pub(super) fn channel(&self) -> Bytes {
        Bytes::from(format!("{}_channel_{}", self.layout.prefix(), self.queue))
    }
}

/// Returns the key of a task's hash.
pub(super) fn task(layout: BluequeLayout, id: &str) -> Bytes {
    Bytes::from(format!("{}_task_{id}", layout.prefix()))
}

/// Returns the key of the table of queues: a sorted set of names and numbers of listeners.
pub(super) fn queues(layout: BluequeLayout) -> Bytes {
    Bytes::from(format!("{}_queues", layout.prefix()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_keys_are_those_of_the_library() {
        let keys = Keys::new(BluequeLayout::Released, "video");
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
        assert_eq!(task(BluequeLayout::Released, "1"), "blueque_task_1");
        assert_eq!(task(BluequeLayout::Document, "1"), "bluequeue_task_1");
    }
}
