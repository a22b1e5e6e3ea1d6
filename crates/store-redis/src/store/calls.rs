//! What the operations of the store share: deadlines, checks, and calls on several queues.

use std::sync::Arc;

use windlass_core::{BootId, OutcomeStatus, QueueName, Result};
use windlass_redis_link::deadline;

use crate::open::RedisStore;
use crate::outcome::EncodedOutcome;
use crate::partition::Partition;
use crate::queue::{Outcomes, all_done};
use crate::script::Script;
use crate::workers;

impl RedisStore {
    /// Runs a call with one deadline for all its script calls. Not for calls whose pages are as many as
    /// the store has, such as purge and leave: those make progress with each page.
    pub(super) fn within<T>(&self, call: impl Future<Output = T>) -> impl Future<Output = T> {
        self.sending(0, call)
    }

    /// Runs a call that sends this many bytes of payloads or results.
    pub(super) fn sending<T>(
        &self,
        bytes: usize,
        call: impl Future<Output = T>,
    ) -> impl Future<Output = T> {
        deadline::within(self.link().address().timeout, bytes, call)
    }

    /// Do not store jobs on a server that may evict keys.
    pub(super) fn check_health(&self) -> Result<()> {
        self.link().health().map_or(Ok(()), Err)
    }

    /// Reports outcomes of fail, release or snooze.
    pub(super) async fn report(
        &self,
        queue: &QueueName,
        script: &'static Script,
        outcomes: Vec<EncodedOutcome>,
    ) -> Result<Vec<OutcomeStatus>> {
        let queue = self.queue(queue);
        let reported = Box::pin(queue.report(Outcomes::Encoded(script, outcomes)));
        self.within(reported).await
    }

    pub(super) async fn partitions_of(&self, queues: &[QueueName]) -> Result<Vec<Arc<Partition>>> {
        let mut partitions = Vec::new();
        for name in queues {
            let queue = self.queue(name);
            queue.refresh().await?;
            partitions.extend(queue.partitions().iter().cloned());
        }
        Ok(partitions)
    }

    /// The queues of a worker; `None` if it is unknown.
    pub(super) async fn queues_of(&self, boot: &BootId) -> Result<Option<Vec<QueueName>>> {
        let script = &self.inner.shared.scripts.worker_find;
        workers::read_queues(self.registry(script, workers::find_args(boot)).await?)
    }

    /// Requeues a worker's jobs, then removes it from the registry. If this process ends in between, or a
    /// queue is unreachable, the call can be repeated.
    pub(super) async fn take_back(
        &self,
        boot: &BootId,
        queues: &[QueueName],
        left: Option<&QueueName>,
        is_lost: bool,
    ) -> Result<u64> {
        // The lease first, which takes one call: a stopping worker may not have time to scan all claims.
        let mut results = Vec::new();
        for name in queues {
            results.push(self.queue(name).take_back_lease(boot, is_lost).await);
        }
        for name in queues {
            results.push(self.queue(name).take_back_singles(boot, is_lost).await);
        }
        let taken = all_done(results)?.into_iter().sum();
        let script = &self.inner.shared.scripts.worker_leave;
        self.registry(script, workers::leave_args(boot, left))
            .await?;
        Ok(taken)
    }
}
