//! A sample worker record for tests of the checks.

use windlass_core::store::{NewWorker, WorkerCommand, WorkerRecord};
use windlass_core::{BootId, Timestamp};

/// A live worker without queues.
pub(super) fn worker(name: &str) -> WorkerRecord {
    WorkerRecord {
        new: NewWorker {
            boot: BootId::new(name).unwrap(),
            name: name.to_owned(),
            host: String::new(),
            pid: 1,
            version: String::new(),
            queues: Vec::new(),
        },
        running: Vec::new(),
        command: WorkerCommand::Continue,
        started_at: Timestamp::default(),
        last_seen: Timestamp::default(),
        silent_for: std::time::Duration::ZERO,
    }
}
