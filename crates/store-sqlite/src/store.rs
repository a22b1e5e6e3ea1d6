//! The contract's methods: check what comes in, run the verb as one step, hand back its answer.

use std::time::Duration;

use async_trait::async_trait;
use windlass_core::limits::{Limits, SCAN_PAGE, check_lease, truncate_message};
use windlass_core::{
    Audited, BootId, Changes, Claim, ClaimRequest, Completed, Completion, Cursor, Enqueued,
    Failure, Filter, Heartbeat, Job, JobId, JobLease, LeaseStatus, Maintained, NewJob, NewWorker,
    OutcomeStatus, Page, Progress, QueueName, Renewal, Renewed, Result, Setting, Settings, Snooze,
    Stats, Store, Target, Watch, WorkerCommand, WorkerRecord,
};

use crate::SqliteStore;
use crate::audit::{Miscount, Part};
use crate::change::Change;
use crate::fault::{Db, Fault};
use crate::look;
use crate::reap::Why;
use crate::room;
use crate::step::{Missing, QueueRow, Step, Tx};
use crate::workers;

#[async_trait]
impl Store for SqliteStore {
    async fn enqueue(&self, queue: &QueueName, jobs: Vec<NewJob>) -> Result<Vec<Enqueued>> {
        self.limits.check_batch(&jobs)?;
        let bytes: usize = jobs.iter().map(|job| job.payload.len()).sum();
        room::refuse_full(&self.path, bytes as u64)?;
        let (queue, clock, level) = (queue.clone(), self.clock.clone(), self.level);
        self.writer
            .write(bytes, move |tx| {
                let clock_us = clock.now_us();
                tx.step(&queue, Missing::Create, clock_us, |step| {
                    step.enqueue(&jobs, level)
                })
            })
            .await
    }

    async fn claim(&self, queue: &QueueName, request: ClaimRequest) -> Result<Option<Claim>> {
        request.check()?;
        self.step(queue, Missing::Pretend, move |step| step.claim(&request))
            .await
    }

    async fn accept(
        &self,
        queue: &QueueName,
        hold: JobLease,
        lease: Duration,
    ) -> Result<LeaseStatus> {
        check_lease(lease)?;
        self.step(queue, Missing::Pretend, move |step| {
            step.accept(&hold, lease)
        })
        .await
    }

    async fn renew(&self, queue: &QueueName, renewal: Renewal, lease: Duration) -> Result<Renewed> {
        check_lease(lease)?;
        self.step(queue, Missing::Pretend, move |step| {
            step.renew(&renewal, lease)
        })
        .await
    }

    async fn progress(
        &self,
        queue: &QueueName,
        hold: JobLease,
        fraction: f64,
        message: Option<String>,
    ) -> Result<LeaseStatus> {
        Progress::check(fraction)?;
        let message = message.map(|message| truncate_message(&message).to_owned());
        self.step(queue, Missing::Pretend, move |step| {
            step.progress(&hold, fraction, message.as_deref())
        })
        .await
    }

    async fn complete(
        &self,
        queue: &QueueName,
        completions: Vec<Completion>,
        next: Option<ClaimRequest>,
    ) -> Result<Completed> {
        self.limits.check_completions(&completions, next.as_ref())?;
        self.step(queue, Missing::Pretend, move |step| {
            step.complete(&completions, next.as_ref())
        })
        .await
    }

    async fn fail(&self, queue: &QueueName, failures: Vec<Failure>) -> Result<Vec<OutcomeStatus>> {
        failures.iter().try_for_each(Failure::check)?;
        self.step(queue, Missing::Pretend, move |step| step.fail(&failures))
            .await
    }

    async fn release(&self, queue: &QueueName, holds: Vec<JobLease>) -> Result<Vec<OutcomeStatus>> {
        self.step(queue, Missing::Pretend, move |step| step.release(&holds))
            .await
    }

    async fn snooze(&self, queue: &QueueName, snoozes: Vec<Snooze>) -> Result<Vec<OutcomeStatus>> {
        snoozes.iter().try_for_each(Snooze::check)?;
        self.step(queue, Missing::Pretend, move |step| step.snooze(&snoozes))
            .await
    }

    async fn cancel(
        &self,
        queue: &QueueName,
        target: &Target,
        from: Option<Cursor>,
    ) -> Result<Changes> {
        self.change(queue, |step, id| step.cancel(id), target.clone(), from)
            .await
    }

    async fn retry(
        &self,
        queue: &QueueName,
        target: &Target,
        from: Option<Cursor>,
    ) -> Result<Changes> {
        let target = target.for_retry()?;
        self.change(queue, |step, id| step.retry(id), target, from)
            .await
    }

    async fn delete(
        &self,
        queue: &QueueName,
        target: &Target,
        from: Option<Cursor>,
    ) -> Result<Changes> {
        let target = target.for_delete()?;
        self.change(queue, |step, id| step.delete(id), target, from)
            .await
    }

    async fn promote(
        &self,
        queue: &QueueName,
        target: &Target,
        from: Option<Cursor>,
    ) -> Result<Changes> {
        let target = target.for_promote()?;
        self.change(queue, |step, id| step.promote(id), target, from)
            .await
    }

    async fn purge(&self, queue: &QueueName) -> Result<u64> {
        self.step(queue, Missing::Pretend, |step| step.purge())
            .await
    }

    async fn maintain(&self, queue: &QueueName, limit: usize) -> Result<Maintained> {
        self.step(queue, Missing::Pretend, move |step| step.maintain(limit))
            .await
    }

    async fn audit(&self, queue: &QueueName, from: Option<Cursor>) -> Result<Audited> {
        let part = Part::read(from.as_ref()).map_err(|fault| fault.into_error(&self.path))?;
        if !matches!(part, Part::Figures) {
            return self
                .step(queue, Missing::Pretend, move |step| step.audit(&part))
                .await;
        }
        let name = queue.clone();
        let mut audited = Audited::default();
        if let Some(found) = self.long_look(move |db| Miscount::find(db, &name)).await? {
            let mend = move |step: &mut Step<'_>| {
                step.mend_figures(&found);
                Ok(())
            };
            self.step(queue, Missing::Pretend, mend).await?;
            audited.repairs.push(Miscount::repair());
        }
        Ok(audited)
    }

    async fn pause(&self, queue: &QueueName) -> Result<()> {
        self.set_paused(queue, true).await
    }

    async fn resume(&self, queue: &QueueName) -> Result<()> {
        self.set_paused(queue, false).await
    }

    async fn settings(&self, queue: &QueueName) -> Result<Settings> {
        let name = queue.clone();
        let found = self
            .reader
            .read(move |db| QueueRow::find(db, &name))
            .await?;
        Ok(found.map(|queue| queue.settings).unwrap_or_default())
    }

    async fn set(&self, queue: &QueueName, settings: Vec<Setting>) -> Result<Settings> {
        self.step(queue, Missing::Create, move |step| {
            step.queue.apply(&settings).map_err(Fault::Refused)?;
            step.changed();
            Ok(step.queue.settings.clone())
        })
        .await
    }

    async fn queues(&self) -> Result<Vec<QueueName>> {
        self.reader
            .read(|db| {
                let mut statement = db.prepare_cached("SELECT name FROM queue ORDER BY name")?;
                let rows = statement.query_map([], |row| row.get::<_, String>(0))?;
                let read = |name: String| {
                    QueueName::new(&name).map_err(|_| Fault::unreadable("queue name", name))
                };
                rows.map(|name| read(name?)).collect()
            })
            .await
    }

    async fn stats(&self, queue: &QueueName) -> Result<Option<Stats>> {
        let (name, clock_us) = (queue.clone(), self.clock.now_us());
        self.reader
            .read(move |db| look::stats(db, &name, clock_us))
            .await
    }

    async fn get(&self, queue: &QueueName, id: &JobId) -> Result<Option<Job>> {
        let (name, id) = (queue.clone(), id.clone());
        self.reader.read(move |db| look::get(db, &name, &id)).await
    }

    async fn list(
        &self,
        queue: &QueueName,
        filter: &Filter,
        from: Option<Cursor>,
        limit: usize,
    ) -> Result<Page<Job>> {
        let (name, filter) = (queue.clone(), filter.clone());
        let limit = limit.clamp(1, SCAN_PAGE);
        self.reader
            .read(move |db| look::list(db, &name, &filter, from.as_ref(), limit))
            .await
    }

    async fn register(&self, worker: NewWorker) -> Result<()> {
        worker.check()?;
        self.write(move |tx, clock_us| tx.register(clock_us, &worker))
            .await
    }

    async fn heartbeat(&self, heartbeat: Heartbeat) -> Result<WorkerCommand> {
        heartbeat.check()?;
        self.write(move |tx, clock_us| tx.heartbeat(clock_us, &heartbeat))
            .await
    }

    async fn leave(&self, boot: &BootId, queue: Option<&QueueName>) -> Result<u64> {
        let (boot, queue) = (boot.clone(), queue.cloned());
        self.write(move |tx, clock_us| {
            let known = tx.leave(clock_us, &boot, queue.as_ref())?;
            let queues = queue
                .clone()
                .map(|queue| vec![queue])
                .or(known)
                .unwrap_or_default();
            take_back(tx, clock_us, &boot, &queues, Why::GivenUp)
        })
        .await
    }

    async fn fail_worker(&self, boot: &BootId) -> Result<Option<u64>> {
        let boot = boot.clone();
        self.write(move |tx, clock_us| {
            let queues = tx.leave(clock_us, &boot, None)?;
            let taken = queues.map(|queues| take_back(tx, clock_us, &boot, &queues, Why::Expired));
            taken.transpose()
        })
        .await
    }

    async fn command(&self, boot: &BootId, command: WorkerCommand) -> Result<bool> {
        let boot = boot.clone();
        self.write(move |tx, clock_us| tx.command(clock_us, &boot, command))
            .await
    }

    async fn workers(&self) -> Result<Vec<WorkerRecord>> {
        let clock_us = self.clock.now_us();
        self.reader
            .read(move |db| workers::list(db, clock_us))
            .await
    }

    async fn watch(&self, queues: &[QueueName]) -> Result<Box<dyn Watch>> {
        Ok(self.bell.watch(queues))
    }

    fn limits(&self) -> Limits {
        self.limits
    }
}

impl SqliteStore {
    /// Runs a verb in a transaction, with one reading of the clock made inside it.
    async fn write<T: Send + 'static>(
        &self,
        mut verb: impl FnMut(&mut Tx<'_>, u64) -> Db<T> + Send + 'static,
    ) -> Result<T> {
        let clock = self.clock.clone();
        self.writer
            .write(0, move |tx| verb(tx, clock.now_us()))
            .await
    }

    /// Runs a verb on one queue as one step.
    async fn step<T: Send + 'static>(
        &self,
        queue: &QueueName,
        missing: Missing,
        mut verb: impl FnMut(&mut Step<'_>) -> Db<T> + Send + 'static,
    ) -> Result<T> {
        let queue = queue.clone();
        self.write(move |tx, clock_us| tx.step(&queue, missing, clock_us, &mut verb))
            .await
    }

    async fn change(
        &self,
        queue: &QueueName,
        change: Change,
        target: Target,
        from: Option<Cursor>,
    ) -> Result<Changes> {
        self.step(queue, Missing::Pretend, move |step| {
            step.change(change, &target, from.as_ref())
        })
        .await
    }

    async fn set_paused(&self, queue: &QueueName, is_paused: bool) -> Result<()> {
        self.step(queue, Missing::Create, move |step| {
            step.queue.is_paused = is_paused;
            if !is_paused {
                step.announce_work();
            }
            step.changed();
            Ok(())
        })
        .await
    }
}

/// Takes back what a worker holds in some queues.
fn take_back(
    tx: &mut Tx<'_>,
    clock_us: u64,
    boot: &BootId,
    queues: &[QueueName],
    why: Why,
) -> Db<u64> {
    let mut taken = 0;
    for queue in queues {
        taken += tx.step(queue, Missing::Pretend, clock_us, |step| {
            step.take_back_all(boot, why)
        })?;
    }
    Ok(taken)
}
