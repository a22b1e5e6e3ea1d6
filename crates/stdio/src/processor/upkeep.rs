//! Maintenance: silent workers are expired, their jobs come back, and what waits is dispatched.

use std::collections::BTreeSet;

use serde::Serialize;
use windlass_api::Problem;
use windlass_core::{QueueName, Result};

use super::{Outgoing, Processor};

/// What a tick did.
#[derive(Debug, Serialize)]
pub(super) struct Figures {
    workers_expired: usize,
    dispatched: usize,
}

impl Processor {
    /// Runs maintenance. Trouble is logged as well as answered: the next tick tries again.
    pub(super) async fn tick(&self) -> (Outgoing, Result<Figures, Problem>) {
        let mut outgoing = Outgoing::default();
        let (queues, workers_expired) = match self.expire().await {
            Ok(expired) => expired,
            Err(error) => {
                let problem = Problem::from(&error);
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

    /// Takes silent workers off the record; answers the queues to look after, and how many workers
    /// went. The lease of what they had accepted ends with their silence, so the store brings it back.
    async fn expire(&self) -> Result<(BTreeSet<QueueName>, usize)> {
        let mut expired = 0;
        let (workers, now) = self.group().await?;
        let mut queues = self.heard();
        for worker in workers {
            let boot = &worker.new.boot;
            if self.is_expired(&worker, now) {
                self.store.leave(boot, None).await?;
                self.warn(&format!("worker {boot} was silent for too long: it is taken off the record, and its jobs go back"));
                expired += 1;
            }
            queues.extend(worker.new.queues);
        }
        Ok((queues, expired))
    }
}
