//! Enqueues and cancels tasks.

use bytes::Bytes;
use md5::{Digest, Md5};
use windlass_core::{Error, Result};

use super::{Worqr, arg, scripts};
use crate::id::hex;
use crate::reply::count;

/// Maximum number of tasks per call, which limits how long the script blocks the server.
const ENQUEUE_MAX: usize = 10_000;

/// Result of enqueuing a unique task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UniqueEnqueued {
    /// The task was added.
    Added,
    /// The same task is waiting or in progress, in any queue.
    Duplicate,
}

impl Worqr {
    /// Enqueues a task and notifies the workers (`enqueue`).
    pub async fn enqueue(&self, queue: &str, task: impl Into<Bytes>) -> Result<()> {
        self.enqueue_many(queue, [task]).await?;
        Ok(())
    }

    /// Enqueues tasks in order, all or none, and notifies the workers. Returns their number.
    pub async fn enqueue_many<T: Into<Bytes>>(
        &self,
        queue: &str,
        tasks: impl IntoIterator<Item = T>,
    ) -> Result<u64> {
        self.check_queue(queue)?;
        let mut args = vec![arg(queue), Bytes::new()];
        let fixed = args.len();
        args.extend(tasks.into_iter().map(Into::into));
        let added = args.len() - fixed;
        if added == 0 {
            return Err(Error::invalid("tasks", "must not be empty", "add a task"));
        }
        if added > ENQUEUE_MAX {
            let why = format!("{added} tasks are too many, the maximum is {ENQUEUE_MAX}");
            let help = "enqueue them in several calls";
            return Err(Error::invalid("tasks", why, help));
        }
        count(&self.run(&scripts::ENQUEUE, args).await?)
    }

    /// Enqueues a task unless the same task is waiting or in progress in any queue (`enqueue` with
    /// `unique`). As in the original, the lock is on the task's bytes, across all queues of the prefix,
    /// and the end of any task with these bytes frees it.
    pub async fn enqueue_unique(
        &self,
        queue: &str,
        task: impl Into<Bytes>,
    ) -> Result<UniqueEnqueued> {
        self.check_queue(queue)?;
        let task = task.into();
        let args = vec![arg(queue), arg(&digest(&task)), task];
        match count(&self.run(&scripts::ENQUEUE, args).await?)? {
            0 => Ok(UniqueEnqueued::Duplicate),
            _ => Ok(UniqueEnqueued::Added),
        }
    }

    /// Removes every copy of a task from a queue and notifies the workers that may be running it
    /// (`cancelTasks`). Returns the number of copies removed. The lock is freed if there were any.
    pub async fn cancel_tasks(&self, queue: &str, task: impl Into<Bytes>) -> Result<u64> {
        self.check_queue(queue)?;
        let task = task.into();
        let args = vec![arg(queue), arg(&digest(&task)), task];
        count(&self.run(&scripts::CANCEL, args).await?)
    }
}

/// Returns the name of a task's lock: its MD5 in hexadecimal.
pub(super) fn digest(task: &[u8]) -> String {
    hex(&Md5::digest(task))
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_name_of_a_lock_is_the_md5_of_the_task() {
        assert_eq!(super::digest(b"abc"), "900150983cd24fb0d6963f7d28e17f72");
    }
}
