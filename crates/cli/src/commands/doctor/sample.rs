//! A sample worker record for the tests of the doctor.

use windlass::Timestamp;
use windlass::store::{
    BootId, {NewWorker, WorkerCommand, WorkerRecord},
};

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
