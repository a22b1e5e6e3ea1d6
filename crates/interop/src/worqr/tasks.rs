//! Puts tasks into queues, and cancels them.

use std::fmt::Write as _;

use bytes::Bytes;
use md5::{Digest, Md5};
use windlass_core::{Error, Result};

use super::queues::amount;
use super::{Worqr, arg, scripts};

/// How many tasks go into a queue in one step; no other step of the server is longer.
const MANY_MAX: usize = 10_000;

/// What came of a unique task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Enqueued {
    /// It waits.
    Added,
    /// The same task waits already or is in progress, in whatever queue.
    Duplicate,
}

impl Worqr {
    /// Puts a task into a queue and tells the workers (`enqueue`).
    pub async fn enqueue(&self, queue: &str, task: impl Into<Bytes>) -> Result<()> {
        self.enqueue_many(queue, [task]).await?;
        Ok(())
    }

    /// Puts tasks into a queue in their order, all or none, and tells the workers how many; answers
    /// how many that were.
    pub async fn enqueue_many<T: Into<Bytes>>(
        &self,
        queue: &str,
        tasks: impl IntoIterator<Item = T>,
    ) -> Result<u64> {
        self.check_queue(queue)?;
        let mut args = vec![arg(queue), Bytes::new()];
        let fixed = args.len();
        args.extend(tasks.into_iter().map(Into::into));
        let count = args.len() - fixed;
        if count == 0 {
            return Err(Error::invalid("list of tasks", "it is empty", "add a task"));
        }
        if count > MANY_MAX {
            let why = format!("it has {count} tasks, the limit is {MANY_MAX}");
            let help = "enqueue them in several calls";
            return Err(Error::invalid("list of tasks", why, help));
        }
        amount(&self.run(&scripts::ENQUEUE, args).await?)
    }

    /// Puts a task into a queue unless the same waits or is in progress anywhere (`enqueue` with
    /// `unique`). The lock is by the task's bytes, over all queues of the prefix, as the original's
    /// clients know it: the end of any task with these bytes frees it.
    pub async fn enqueue_unique(&self, queue: &str, task: impl Into<Bytes>) -> Result<Enqueued> {
        self.check_queue(queue)?;
        let task = task.into();
        let args = vec![arg(queue), arg(&digest(&task)), task];
        match amount(&self.run(&scripts::ENQUEUE, args).await?)? {
            0 => Ok(Enqueued::Duplicate),
            _ => Ok(Enqueued::Added),
        }
    }

    /// Takes every copy of a task out of a queue and tells the workers that may be at it
    /// (`cancelTasks`); answers how many copies waited. With the last of them goes the lock.
    pub async fn cancel_tasks(&self, queue: &str, task: impl Into<Bytes>) -> Result<u64> {
        self.check_queue(queue)?;
        let task = task.into();
        let args = vec![arg(queue), arg(&digest(&task)), task];
        amount(&self.run(&scripts::CANCEL, args).await?)
    }
}

/// The name of a task's lock: its MD5 as hexadecimal digits.
pub(super) fn digest(task: &[u8]) -> String {
    let mut text = String::with_capacity(32);
    for byte in Md5::digest(task) {
        // Writing to a string cannot fail.
        let _ = write!(text, "{byte:02x}");
    }
    text
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_name_of_a_lock_is_the_md5_of_the_task() {
        assert_eq!(super::digest(b"abc"), "900150983cd24fb0d6963f7d28e17f72");
    }
}
