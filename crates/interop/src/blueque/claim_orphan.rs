//! Claiming what a dead listener held, for a listener that goes on with it.

use bytes::Bytes;
use windlass_core::Result;

use super::clean::CleanOptions;
use super::listener::{Found, Listener, pid};
use super::{Task, scripts};

impl Listener {
    /// Takes over a task of a dead listener, the oldest first; nothing where none is lost. It is
    /// this listener's from then on, and found again should that one be lost too.
    ///
    /// Tasks that were started are taken over only with [`CleanOptions::retry_lost`]; by the design
    /// note these are all, since a task is started as it is popped.
    pub async fn claim_orphan(&mut self, options: &CleanOptions) -> Result<Option<Task>> {
        let lost = self.queue.lost(options).await?;
        for held in lost.tasks.iter().rev() {
            if held.status == "started" && !options.retry_lost {
                continue;
            }
            let mut args = held.as_seen();
            args.push(Bytes::from(self.name.clone()));
            args.push(pid());
            args.push(Bytes::from(self.ticket()?));
            let value = self.queue.run(&scripts::ADOPT, args).await?;
            if let Found::Task(task) = self.found(value)? {
                self.ticket_used();
                return Ok(Some(*task));
            }
        }
        Ok(None)
    }
}
