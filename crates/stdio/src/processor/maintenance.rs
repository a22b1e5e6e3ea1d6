//! Maintenance: silent workers are expired, their jobs come back, and what waits is dispatched.

use std::collections::BTreeSet;

use serde::Serialize;
use windlass_api::Error;
use windlass_core::{BootId, QueueName, Result};

use super::{Outgoing, Processor};

/// What a tick did.
#[derive(Debug, Serialize)]
pub(super) struct Figures {
    workers_expired: usize,
    dispatched: usize,
}

impl Processor {
    /// Runs maintenance. Trouble is logged as well as answered: the next tick tries again.
    pub(super) async fn tick(&self) -> (Outgoing, Result<Figures, Error>) {
        let mut outgoing = Outgoing::default();
        let (queues, workers_expired) = match self.expire().await {
            Ok(expired) => expired,
            Err(error) => {
                let problem = Error::from(&error);
                self.complain(&format!(
                    "maintenance has to wait for the next tick: {}; {}",
                    problem.message, problem.help
                ));
                return (outgoing, Err(problem));
            }
        };
        for queue in &queues {
            outgoing.0.extend(self.dispatch(queue).await.0);
        }
        let figures = Figures {
            workers_expired,
            dispatched: outgoing.0.len(),
        };
        (outgoing, Ok(figures))
    }

    /// Fails silent workers; answers the queues to look after, and how many workers went. What they had
    /// accepted comes back with that, and counts as lost by them.
    async fn expire(&self) -> Result<(BTreeSet<QueueName>, usize)> {
        let mut expired = 0;
        let (workers, now) = self.group().await?;
        let mut queues = self.heard();
        for worker in workers {
            let boot = &worker.new.boot;
            if self.is_expired(&worker, now) && self.is_still_silent(boot).await? {
                self.store.fail_worker(boot).await?;
                self.warn(&format!("worker {boot} was silent for too long: it is taken off the record, and its jobs go back"));
                expired += 1;
            }
            queues.extend(worker.new.queues);
        }
        Ok((queues, expired))
    }

    /// Looks again: another processor may have heard of the worker since, and its jobs are safe then.
    async fn is_still_silent(&self, boot: &BootId) -> Result<bool> {
        let (workers, now) = self.group().await?;
        let same = workers.iter().find(|worker| worker.new.boot == *boot);
        Ok(same.is_some_and(|worker| self.is_expired(worker, now)))
    }
}
