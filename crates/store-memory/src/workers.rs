//! The worker registry: records, heartbeats and commands.

use std::collections::BTreeMap;
use std::time::Duration;

use windlass_core::limits::{WORKER_FORGET_AFTER, WORKER_SILENCE_MAX};
use windlass_core::store::{Heartbeat, NewWorker, WorkerCommand, WorkerRecord};
use windlass_core::time::Now;
use windlass_core::{BootId, QueueName, Timestamp};

/// The records of all workers.
#[derive(Debug, Default)]
pub(crate) struct Registry {
    records: BTreeMap<BootId, WorkerRecord>,
    mark_us: u64,
}

impl Registry {
    /// Starts a transaction and removes workers that have been silent for too long. If the clock was
    /// set back, no heartbeat is later than now.
    fn begin(&mut self, clock_us: u64) -> Timestamp {
        let now = Now::guard(self.mark_us, clock_us);
        self.mark_us = now.us;
        if now.stepped_back {
            for worker in self.records.values_mut() {
                worker.last_seen = worker.last_seen.min(now.ms());
            }
        }
        self.records
            .retain(|_, worker| now.ms().since(worker.last_seen) < WORKER_FORGET_AFTER);
        now.ms()
    }

    pub(crate) fn register(&mut self, clock_us: u64, new: NewWorker) {
        let now = self.begin(clock_us);
        let worker = WorkerRecord {
            running: Vec::new(),
            command: WorkerCommand::Continue,
            started_at: now,
            last_seen: now,
            silent_for: Duration::ZERO,
            new,
        };
        self.records.insert(worker.new.boot.clone(), worker);
    }

    pub(crate) fn heartbeat(&mut self, clock_us: u64, heartbeat: Heartbeat) -> WorkerCommand {
        let now = self.begin(clock_us);
        match self.records.get_mut(&heartbeat.boot) {
            Some(worker) if now.since(worker.last_seen) < WORKER_SILENCE_MAX => {
                worker.last_seen = now;
                worker.running = heartbeat.running;
                worker.command
            }
            _ => WorkerCommand::Reregister,
        }
    }

    pub(crate) fn command(&mut self, clock_us: u64, boot: &BootId, command: WorkerCommand) -> bool {
        self.begin(clock_us);
        self.records
            .get_mut(boot)
            .map(|worker| worker.command = command)
            .is_some()
    }

    /// Removes a worker from one queue or, with `None`, entirely. Returns the queues it left.
    pub(crate) fn leave(
        &mut self,
        clock_us: u64,
        boot: &BootId,
        queue: Option<&QueueName>,
    ) -> Vec<QueueName> {
        self.begin(clock_us);
        match queue {
            Some(queue) => {
                if let Some(worker) = self.records.get_mut(boot) {
                    worker.new.queues.retain(|name| name != queue);
                }
                vec![queue.clone()]
            }
            None => self
                .records
                .remove(boot)
                .map(|worker| worker.new.queues)
                .unwrap_or_default(),
        }
    }

    pub(crate) fn is_known(&mut self, clock_us: u64, boot: &BootId) -> bool {
        self.begin(clock_us);
        self.records.contains_key(boot)
    }

    pub(crate) fn list(&self, clock_us: u64) -> Vec<WorkerRecord> {
        let now = Now::guard(self.mark_us, clock_us).ms();
        let is_recent = |worker: &&WorkerRecord| now.since(worker.last_seen) < WORKER_FORGET_AFTER;
        let record = |worker: &WorkerRecord| WorkerRecord {
            silent_for: now.since(worker.last_seen),
            ..worker.clone()
        };
        self.records
            .values()
            .filter(is_recent)
            .map(record)
            .collect()
    }
}
