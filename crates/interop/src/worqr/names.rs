//! Validates the names of queues, workers and processes.

use windlass_core::{Error, Result};

use super::Worqr;
use super::keys::WorqrLayout;

/// Maximum length: names are parts of keys and channels.
const NAME_MAX: usize = 1024;

/// Prefixes of other keys in the document layout, which queues cannot have.
const RESERVED: [&str; 2] = ["WorkMap_", "windlass_"];

impl Worqr {
    pub(super) fn check_queue(&self, queue: &str) -> Result<()> {
        check("queue name", queue)?;
        let is_reserved =
            queue == "Workers" || RESERVED.iter().any(|prefix| queue.starts_with(prefix));
        if self.keys.layout() == WorqrLayout::Document && is_reserved {
            return Err(Error::invalid(
                "queue name",
                format!("`{queue}` is reserved in the document layout"),
                "use another name, or --layout released",
            ));
        }
        Ok(())
    }

    pub(super) fn check_worker(&self, worker: &str) -> Result<()> {
        check("worker id", worker)?;
        if self.keys.layout() == WorqrLayout::Document && worker.contains('_') {
            return Err(Error::invalid(
                "worker id",
                format!("`{worker}` contains `_`, which makes the key WORKER_QUEUE ambiguous"),
                "use an id without `_`, for example a UUID",
            ));
        }
        Ok(())
    }

    pub(super) fn check_process(process: &str) -> Result<()> {
        check("process id", process)
    }
}

fn check(part: &str, name: &str) -> Result<()> {
    let length = name.len();
    if length == 0 {
        return Err(Error::invalid(part, "must not be empty", "set a name"));
    }
    if length > NAME_MAX {
        let why = format!("too long: {length} bytes, the maximum is {NAME_MAX}");
        return Err(Error::invalid(part, why, "use a shorter name"));
    }
    Ok(())
}
