//! Names of queues, workers and processes: what is refused, and why.

use windlass_core::{Error, Result};

use super::Worqr;
use super::keys::Layout;

/// Far more than anybody types; names are parts of keys and channels.
const NAME_MAX: usize = 1024;

/// What the document's layout calls its own keys: a queue cannot have these names.
const TAKEN: [&str; 2] = ["WorkMap_", "windlass_"];

impl Worqr {
    pub(super) fn check_queue(&self, queue: &str) -> Result<()> {
        check("name of the queue", queue)?;
        let is_taken = queue == "Workers" || TAKEN.iter().any(|taken| queue.starts_with(taken));
        if self.keys.layout() == Layout::Document && is_taken {
            return Err(Error::invalid(
                "name of the queue",
                format!("in the document's layout `{queue}` names something else"),
                "choose another name, or the released layout",
            ));
        }
        Ok(())
    }

    pub(super) fn check_worker(&self, worker: &str) -> Result<()> {
        check("id of the worker", worker)?;
        if self.keys.layout() == Layout::Document && worker.contains('_') {
            return Err(Error::invalid(
                "id of the worker",
                format!("`{worker}` has a `_`, so WORKER_QUEUE could mean two workers"),
                "choose an id without `_`, for example a UUID",
            ));
        }
        Ok(())
    }

    pub(super) fn check_process(process: &str) -> Result<()> {
        check("id of the process", process)
    }
}

fn check(part: &str, name: &str) -> Result<()> {
    let length = name.len();
    if length == 0 {
        return Err(Error::invalid(part, "it is empty", "name it"));
    }
    if length > NAME_MAX {
        let why = format!("it has {length} bytes, the limit is {NAME_MAX}");
        return Err(Error::invalid(part, why, "choose a shorter one"));
    }
    Ok(())
}
