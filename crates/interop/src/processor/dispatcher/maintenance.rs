//! Maintenance: expires silent workers, requeues their jobs, and dispatches waiting jobs.

use std::collections::BTreeSet;

use serde::Serialize;
use windlass_api::Error;
use windlass_core::{BootId, QueueName, Result};

use super::{Outgoing, Processor};

/// The result of a tick.
#[derive(Debug, Serialize)]
pub(super) struct TickStats {
    workers_expired: usize,
    dispatched: usize,
}

impl Processor {
    /// Runs maintenance. Errors are logged and returned; the next tick retries.
    pub(super) async fn tick(&self) -> (Outgoing, Result<TickStats, Error>) {
        let mut outgoing = Outgoing::default();
        let (queues, workers_expired) = match self.expire().await {
            Ok(expired) => expired,
            Err(error) => {
                let error = Error::from(&error);
                self.error(&format!(
                    "maintenance failed, will retry at the next tick: {}; {}",
                    error.message, error.help
                ));
                return (outgoing, Err(error));
            }
        };
        for queue in &queues {
            outgoing.0.extend(self.dispatch(queue).await.0);
        }
        let stats = TickStats {
            workers_expired,
            dispatched: outgoing.0.len(),
        };
        (outgoing, Ok(stats))
    }

    /// Expires silent workers. Their accepted jobs are requeued and count as lost attempts. Returns the
    /// queues to dispatch and the number of expired workers.
    async fn expire(&self) -> Result<(BTreeSet<QueueName>, usize)> {
        let mut expired = 0;
        let (workers, now) = self.workers_and_time().await?;
        let mut queues = self.known_queues();
        for worker in workers {
            let boot = &worker.new.boot;
            if self.is_expired(&worker, now) && self.is_still_silent(boot).await? {
                self.store.fail_worker(boot).await?;
                self.warn(&format!(
                    "worker {boot} expired: it was silent for too long; its jobs are requeued"
                ));
                expired += 1;
            }
            queues.extend(worker.new.queues);
        }
        Ok((queues, expired))
    }

    /// Checks again: another processor may have received a message of the worker in the meantime.
    async fn is_still_silent(&self, boot: &BootId) -> Result<bool> {
        let (workers, now) = self.workers_and_time().await?;
        let same = workers.iter().find(|worker| worker.new.boot == *boot);
        Ok(same.is_some_and(|worker| self.is_expired(worker, now)))
    }
}
