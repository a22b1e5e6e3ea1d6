//! Claims tasks of dead listeners.

use bytes::Bytes;
use windlass_core::Result;

use super::clean::CleanOptions;
use super::listener::{BluequeListener, TakeReply, pid};
use super::{Task, scripts};

impl BluequeListener {
    /// Claims a task of a dead listener, the oldest first. Returns `None` if no task is lost. The task
    /// then belongs to this listener, and can be claimed again if this listener dies too.
    ///
    /// Started tasks are claimed only with [`CleanOptions::retry_lost`]. In the document layout these
    /// are all tasks, because a task is started as it is popped.
    pub async fn claim_orphan(&mut self, options: &CleanOptions) -> Result<Option<Task>> {
        let lost = self.queue.find_lost(options).await?;
        for task in lost.tasks.iter().rev() {
            if task.status == "started" && !options.retry_lost {
                continue;
            }
            let mut args = task.expected_args();
            args.push(Bytes::from(self.name.clone()));
            args.push(pid());
            args.push(Bytes::from(self.ticket()?));
            let value = self.queue.run(&scripts::CLAIM_ORPHAN, args).await?;
            if let TakeReply::Task(task) = self.parse_take(value)? {
                self.clear_ticket();
                return Ok(Some(*task));
            }
        }
        Ok(None)
    }
}
