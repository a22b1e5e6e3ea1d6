//! Implements `Store`: validates the request and runs the verb in one transaction.

use std::time::Duration;

use async_trait::async_trait;
use windlass_core::action;
use windlass_core::limits::{Limits, SCAN_PAGE, truncate_message};
use windlass_core::store::{
    Action, ActionRecord, Audited, Changes, Completed, Completion, Cursor, ErrorGroup, Explanation,
    Failure, Fingerprint, Fraction, GroupChange, GroupName, GroupRecord, Heartbeat, HistoryRow,
    JobPage, LeaseStatus, Maintained, NewWorker, Page, QueueDeletion, Ran, Refill, Renewed, Run,
    ScheduleChange, SchedulePut, ScheduleRecord, Setting, Settings, Snooze, Stats, Watch,
    WorkerCommand, WorkerRecord,
};
use windlass_core::wait;
use windlass_core::{
    BootId, Change, Claim, ClaimRequest, Enqueued, Filter, Job, JobId, JobLease, LeaseTime, NewJob,
    OutcomeStatus, QueueName, Renewal, Result, Schedule, ScheduleName, Store, Target,
};

use crate::SqliteStore;
use crate::actions;
use crate::audit::AuditStage;
use crate::claim::ClaimStep;
use crate::errors;
use crate::explain;
use crate::group;
use crate::history;
use crate::read;
use crate::schedule;
use crate::transaction::QueueRow;
use crate::workers;

#[async_trait]
impl Store for SqliteStore {
    async fn enqueue(&self, queue: &QueueName, jobs: Vec<NewJob>) -> Result<Vec<Enqueued>> {
        self.options.limits.check_batch(&jobs)?;
        let bytes: usize = jobs.iter().map(|job| job.payload.len()).sum();
        self.refuse_full(bytes as u64).await?;
        let (queue, level) = (queue.clone(), self.options.synchronous.level());
        self.writer
            .write(bytes, move |tx| {
                tx.create_queue(&queue)?;
                tx.on_queue(&queue, |tx| tx.enqueue(&jobs, level))
            })
            .await
    }

    async fn claim(&self, queue: &QueueName, request: ClaimRequest) -> Result<Option<Claim>> {
        request.check()?;
        loop {
            let step = request.clone();
            let claim = self.on_queue(queue, move |tx| tx.checked_claim(&step));
            if let ClaimStep::Done(claim) = claim.await?? {
                return Ok(claim);
            }
        }
    }

    async fn claim_waiting(
        &self,
        queue: &QueueName,
        request: &mut ClaimRequest,
        wait: Duration,
    ) -> Result<Option<Claim>> {
        if wait.is_zero() {
            return self.claim(queue, request.clone()).await;
        }
        let watch = self.wakeups.watch(std::slice::from_ref(queue));
        wait::claim_watching(self, queue, request, wait, watch).await
    }

    async fn accept(
        &self,
        queue: &QueueName,
        lease: JobLease,
        time: LeaseTime,
    ) -> Result<LeaseStatus> {
        self.on_queue(queue, move |tx| tx.accept(&lease, time.get()))
            .await
    }

    async fn renew(&self, queue: &QueueName, renewal: Renewal, time: LeaseTime) -> Result<Renewed> {
        self.on_queue(queue, move |tx| tx.renew(&renewal, time.get()))
            .await
    }

    async fn progress(
        &self,
        queue: &QueueName,
        lease: JobLease,
        fraction: Fraction,
        message: Option<String>,
    ) -> Result<LeaseStatus> {
        let message = message.map(|message| truncate_message(&message).to_owned());
        self.on_queue(queue, move |tx| {
            tx.progress(&lease, fraction, message.as_deref())
        })
        .await
    }

    async fn complete(
        &self,
        queue: &QueueName,
        completions: Vec<Completion>,
        next: Option<ClaimRequest>,
    ) -> Result<Completed> {
        let limits = &self.options.limits;
        limits.check_completions(&completions, next.as_ref())?;
        let request = next.clone();
        let completed = self.on_queue(queue, move |tx| tx.complete(&completions, request.as_ref()));
        let (statuses, step) = completed.await??;
        let next = match (step, next) {
            (ClaimStep::Done(claim), _) => claim,
            (ClaimStep::Again, Some(request)) => self.claim(queue, request).await?,
            (ClaimStep::Again, None) => None,
        };
        Ok(Completed { statuses, next })
    }

    async fn fail(&self, queue: &QueueName, failures: Vec<Failure>) -> Result<Vec<OutcomeStatus>> {
        failures.iter().try_for_each(Failure::check)?;
        self.on_queue(queue, move |tx| tx.fail(&failures)).await
    }

    async fn release(
        &self,
        queue: &QueueName,
        leases: Vec<JobLease>,
    ) -> Result<Vec<OutcomeStatus>> {
        self.on_queue(queue, move |tx| tx.release(&leases)).await
    }

    async fn snooze(&self, queue: &QueueName, snoozes: Vec<Snooze>) -> Result<Vec<OutcomeStatus>> {
        snoozes.iter().try_for_each(Snooze::check)?;
        self.on_queue(queue, move |tx| tx.snooze(&snoozes)).await
    }

    async fn change(
        &self,
        queue: &QueueName,
        change: Change,
        target: &Target,
        from: Option<Cursor>,
    ) -> Result<Changes> {
        let target = change.target(target)?;
        self.on_queue(queue, move |tx| tx.change(change, &target, from.as_ref()))
            .await
    }

    async fn purge(&self, queue: &QueueName) -> Result<u64> {
        self.on_queue(queue, |tx| tx.purge()).await
    }

    async fn maintain(&self, queue: &QueueName, limit: usize) -> Result<Maintained> {
        let queue = queue.clone();
        self.write(move |tx| {
            let maintained = tx.on_queue(&queue, |tx| tx.maintain(limit))?;
            tx.give_back_pages()?;
            Ok(maintained)
        })
        .await
    }

    async fn audit(&self, queue: &QueueName, from: Option<Cursor>) -> Result<Audited> {
        let stage = AuditStage::read(from.as_ref())?;
        if !matches!(stage, AuditStage::Stats) {
            return self.on_queue(queue, move |tx| tx.audit(&stage)).await;
        }
        self.audit_stats(queue).await
    }

    async fn set_paused(&self, queue: &QueueName, is_paused: bool) -> Result<()> {
        self.on_created_queue(queue, move |tx| {
            tx.queue.is_paused = is_paused;
            if !is_paused {
                tx.queue.counters.resting_until = 0;
                tx.announce_work();
            }
            tx.changed();
            Ok(())
        })
        .await
    }

    async fn settings(&self, queue: &QueueName) -> Result<Settings> {
        let found = self.read_queue(queue, |db, name, _| QueueRow::find(db, name));
        let found = found.await?;
        Ok(found.map(|queue| queue.settings).unwrap_or_default())
    }

    async fn set(&self, queue: &QueueName, settings: Vec<Setting>) -> Result<Settings> {
        self.on_created_queue(queue, move |tx| tx.set(&settings))
            .await
    }

    async fn delete_queue(&self, queue: &QueueName) -> Result<QueueDeletion> {
        let queue = queue.clone();
        self.write(move |tx| tx.delete_queue(&queue)).await
    }

    async fn queues(&self) -> Result<Vec<QueueName>> {
        self.reader.read(read::queues).await
    }

    async fn stats(&self, queue: &QueueName) -> Result<Option<Stats>> {
        let path = self.path.clone();
        self.read_queue(queue, move |db, name, at| read::stats(db, &path, name, at))
            .await
    }

    async fn history(&self, queue: &QueueName, minutes: u32) -> Result<Vec<HistoryRow>> {
        self.read_queue(queue, move |db, name, at| {
            history::read(db, name, minutes, at)
        })
        .await
    }

    async fn get(&self, queue: &QueueName, id: &JobId) -> Result<Option<Job>> {
        let id = id.clone();
        self.read_queue(queue, move |db, name, _| read::get(db, name, &id))
            .await
    }

    async fn explain(&self, queue: &QueueName, id: &JobId) -> Result<Option<Explanation>> {
        let id = id.clone();
        self.read_queue(queue, move |db, name, at| {
            explain::explain(db, name, &id, at)
        })
        .await
    }

    async fn list(
        &self,
        queue: &QueueName,
        filter: &Filter,
        from: Option<Cursor>,
        limit: usize,
    ) -> Result<JobPage<Job>> {
        filter.check()?;
        let (filter, limit) = (filter.clone(), limit.clamp(1, SCAN_PAGE));
        let list =
            move |db: &_, name: &_, at| read::list(db, name, &filter, from.as_ref(), limit, at);
        self.read_queue(queue, list).await
    }

    async fn put_schedule(
        &self,
        queue: &QueueName,
        schedule: Schedule,
        is_paused: Option<bool>,
    ) -> Result<SchedulePut> {
        schedule.check()?;
        self.refuse_full(schedule.job.payload.len() as u64).await?;
        self.on_created_queue(queue, move |tx| tx.put_schedule(&schedule, is_paused))
            .await
    }

    async fn refill_schedules(&self, queue: &QueueName, refills: Vec<Refill>) -> Result<()> {
        refills.iter().try_for_each(Refill::check)?;
        self.on_queue(queue, move |tx| tx.refill_schedules(&refills))
            .await
    }

    async fn run_schedule(
        &self,
        queue: &QueueName,
        name: &ScheduleName,
        run: Run,
    ) -> Result<Option<Vec<Ran>>> {
        run.check(name)?;
        self.refuse_full(0).await?;
        let (name, level) = (name.clone(), self.options.synchronous.level());
        self.on_queue(queue, move |tx| tx.run_schedule(&name, &run, level))
            .await
    }

    async fn change_schedule(
        &self,
        queue: &QueueName,
        name: &ScheduleName,
        change: ScheduleChange,
    ) -> Result<bool> {
        let name = name.clone();
        self.on_queue(queue, move |tx| tx.change_schedule(&name, change))
            .await
    }

    async fn schedule(
        &self,
        queue: &QueueName,
        name: &ScheduleName,
    ) -> Result<Option<ScheduleRecord>> {
        let name = name.clone();
        self.read_queue(queue, move |db, queue, _| schedule::get(db, queue, &name))
            .await
    }

    async fn schedules(
        &self,
        queue: &QueueName,
        from: Option<Cursor>,
        limit: usize,
    ) -> Result<Page<ScheduleRecord>> {
        let list = move |db: &_, name: &_, _| schedule::list(db, name, from.as_ref(), limit);
        self.read_queue(queue, list).await
    }

    async fn set_group(
        &self,
        queue: &QueueName,
        group: &GroupName,
        change: GroupChange,
    ) -> Result<GroupRecord> {
        let group = group.clone();
        self.on_created_queue(queue, move |tx| tx.set_group(&group, change))
            .await?
    }

    async fn group(&self, queue: &QueueName, group: &GroupName) -> Result<Option<GroupRecord>> {
        let group = group.clone();
        self.read_queue(queue, move |db, name, at| group::get(db, name, &group, at))
            .await
    }

    async fn groups(
        &self,
        queue: &QueueName,
        from: Option<Cursor>,
        limit: usize,
    ) -> Result<Page<GroupRecord>> {
        let from = from.map(|from| GroupName::new(from.0)).transpose()?;
        let list = move |db: &_, name: &_, at| group::list(db, name, from.as_ref(), limit, at);
        self.read_queue(queue, list).await
    }

    async fn error_groups(&self, queue: &QueueName) -> Result<Vec<ErrorGroup>> {
        self.read_queue(queue, errors::groups).await
    }

    async fn clear_error_group(&self, queue: &QueueName, group: Fingerprint) -> Result<bool> {
        self.on_queue(queue, move |tx| tx.clear_error_group(group))
            .await
    }

    async fn register(&self, worker: NewWorker) -> Result<()> {
        worker.check()?;
        self.write(move |tx| tx.register(&worker)).await
    }

    async fn heartbeat(&self, heartbeat: Heartbeat) -> Result<WorkerCommand> {
        heartbeat.check()?;
        self.write(move |tx| tx.heartbeat(&heartbeat)).await
    }

    async fn leave(&self, boot: &BootId, queue: Option<&QueueName>) -> Result<u64> {
        let (boot, queue) = (boot.clone(), queue.cloned());
        self.write(move |tx| tx.leave(&boot, queue.as_ref())).await
    }

    async fn fail_worker(&self, boot: &BootId) -> Result<Option<u64>> {
        let boot = boot.clone();
        self.write(move |tx| tx.fail_worker(&boot)).await
    }

    async fn command(&self, boot: &BootId, command: WorkerCommand) -> Result<bool> {
        let boot = boot.clone();
        self.write(move |tx| tx.command(&boot, command)).await
    }

    async fn workers(&self) -> Result<Vec<WorkerRecord>> {
        let clock_us = self.options.clock.now_us();
        let list = self.reader.read(move |db| workers::list(db, clock_us));
        list.await
    }

    async fn log_action(&self, action: Action) -> Result<()> {
        let action = action.cleaned();
        self.write(move |tx| tx.log_action(&action)).await
    }

    async fn actions(&self, from: Option<Cursor>, limit: usize) -> Result<Page<ActionRecord>> {
        let before = from.map(|from| action::read_cursor(&from.0)).transpose()?;
        let limit = limit.clamp(1, action::ACTIONS_PAGE);
        let list = self.reader.read(move |db| actions::list(db, before, limit));
        list.await
    }

    async fn watch(&self, queues: &[QueueName]) -> Result<Box<dyn Watch>> {
        Ok(self.wakeups.watch(queues))
    }

    async fn watch_cancels(&self, queues: &[QueueName]) -> Result<Box<dyn Watch>> {
        Ok(self.wakeups.watch_cancels(queues))
    }

    fn limits(&self) -> Limits {
        self.options.limits
    }
}
