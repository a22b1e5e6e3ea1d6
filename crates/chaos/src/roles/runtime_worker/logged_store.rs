//! A store that logs claims, renewals and outcomes, and forwards every call.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use windlass_core::store::{
    Action, ActionRecord, Audited, Changes, Completed, Completion, Cursor, ErrorGroup, Explanation,
    Failure, Fingerprint, Fraction, GroupChange, GroupName, GroupRecord, Heartbeat, HistoryRow,
    JobPage, LeaseStatus, Limits, Maintained, NewWorker, Page, QueueDeletion, Ran, Refill, Renewed,
    Run, ScheduleChange, SchedulePut, ScheduleRecord, Setting, Settings, Snooze, Stats, Watch,
    WorkerCommand, WorkerRecord,
};
use windlass_core::{
    BootId, Change, Claim, ClaimRequest, Enqueued, Filter, Job, JobId, JobLease, LeaseTime, NewJob,
    OutcomeStatus, QueueName, Renewal, Result, Schedule, ScheduleName, Store, Target,
};

use crate::event::Event;
use crate::roles::event_log::EventLog;

/// The store of a runtime worker.
#[derive(Debug)]
pub(super) struct LoggedStore {
    store: Arc<dyn Store>,
    events: EventLog,
    /// The delay of completions.
    delay: Duration,
}

impl LoggedStore {
    pub(super) fn of(store: Arc<dyn Store>, events: &EventLog, delay: Duration) -> Arc<dyn Store> {
        let events = events.clone();
        Arc::new(Self {
            store,
            events,
            delay,
        })
    }

    fn log_claim(&self, claim: Option<&Claim>) {
        for (job, claim) in claim
            .iter()
            .flat_map(|c| c.jobs.iter().map(move |j| (j, c)))
        {
            let lease = JobLease::new(job.id.clone(), claim.token);
            self.events.log(Event::Claimed(lease));
        }
    }

    fn log_outcomes(&self, leases: Vec<JobLease>, statuses: &[OutcomeStatus]) {
        for (lease, status) in leases.into_iter().zip(statuses) {
            self.events.log(Event::Outcome(*status, lease));
        }
    }

    fn log_error<T>(&self, reply: Result<T>) -> Result<T> {
        if let Err(error) = &reply {
            self.events.store_error(error);
        }
        reply
    }
}

fn leases<T>(items: &[T], lease: impl Fn(&T) -> &JobLease) -> Vec<JobLease> {
    items.iter().map(|item| lease(item).clone()).collect()
}

#[async_trait]
impl Store for LoggedStore {
    async fn claim(&self, queue: &QueueName, request: ClaimRequest) -> Result<Option<Claim>> {
        self.events.log(Event::Claiming);
        let claim = self.log_error(self.store.claim(queue, request).await)?;
        self.log_claim(claim.as_ref());
        Ok(claim)
    }

    async fn claim_waiting(
        &self,
        queue: &QueueName,
        request: &mut ClaimRequest,
        wait: Duration,
    ) -> Result<Option<Claim>> {
        self.events.log(Event::Claiming);
        let claim = self.log_error(self.store.claim_waiting(queue, request, wait).await)?;
        self.log_claim(claim.as_ref());
        Ok(claim)
    }

    async fn renew(&self, queue: &QueueName, renewal: Renewal, time: LeaseTime) -> Result<Renewed> {
        let tokens = match &renewal {
            Renewal::Worker { tokens, .. } => tokens.clone(),
            Renewal::Single { token } => vec![*token],
        };
        self.events.log(Event::Renewing);
        let renewed = self.log_error(self.store.renew(queue, renewal, time).await)?;
        let unreached = renewed.unreached.as_deref().unwrap_or_default();
        let is_valid = |token: &&_| {
            let is_named = renewed.lost.contains(token) || unreached.contains(token);
            renewed.until.is_some() && !is_named
        };
        for token in tokens.iter().filter(is_valid) {
            self.events.log(Event::Renewed(*token));
        }
        Ok(renewed)
    }

    async fn complete(
        &self,
        queue: &QueueName,
        completions: Vec<Completion>,
        next: Option<ClaimRequest>,
    ) -> Result<Completed> {
        let leases = leases(&completions, |item| &item.lease);
        if next.is_some() {
            self.events.log(Event::Claiming);
        }
        if !self.delay.is_zero() {
            tokio::time::sleep(self.delay).await;
        }
        let completed = self.log_error(self.store.complete(queue, completions, next).await)?;
        self.log_outcomes(leases, &completed.statuses);
        self.log_claim(completed.next.as_ref());
        Ok(completed)
    }

    async fn fail(&self, queue: &QueueName, failures: Vec<Failure>) -> Result<Vec<OutcomeStatus>> {
        let leases = leases(&failures, |item| &item.lease);
        let statuses = self.log_error(self.store.fail(queue, failures).await)?;
        self.log_outcomes(leases, &statuses);
        Ok(statuses)
    }

    async fn release(&self, queue: &QueueName, items: Vec<JobLease>) -> Result<Vec<OutcomeStatus>> {
        let leases = items.clone();
        let statuses = self.log_error(self.store.release(queue, items).await)?;
        self.log_outcomes(leases, &statuses);
        Ok(statuses)
    }

    async fn snooze(&self, queue: &QueueName, snoozes: Vec<Snooze>) -> Result<Vec<OutcomeStatus>> {
        let leases = leases(&snoozes, |item| &item.lease);
        let statuses = self.log_error(self.store.snooze(queue, snoozes).await)?;
        self.log_outcomes(leases, &statuses);
        Ok(statuses)
    }

    async fn enqueue(&self, queue: &QueueName, jobs: Vec<NewJob>) -> Result<Vec<Enqueued>> {
        self.store.enqueue(queue, jobs).await
    }

    async fn accept(
        &self,
        queue: &QueueName,
        lease: JobLease,
        time: LeaseTime,
    ) -> Result<LeaseStatus> {
        self.store.accept(queue, lease, time).await
    }

    async fn progress(
        &self,
        queue: &QueueName,
        lease: JobLease,
        fraction: Fraction,
        message: Option<String>,
    ) -> Result<LeaseStatus> {
        self.store.progress(queue, lease, fraction, message).await
    }

    async fn change(
        &self,
        queue: &QueueName,
        change: Change,
        target: &Target,
        from: Option<Cursor>,
    ) -> Result<Changes> {
        self.store.change(queue, change, target, from).await
    }

    async fn purge(&self, queue: &QueueName) -> Result<u64> {
        self.store.purge(queue).await
    }

    async fn delete_queue(&self, queue: &QueueName) -> Result<QueueDeletion> {
        self.store.delete_queue(queue).await
    }

    async fn maintain(&self, queue: &QueueName, limit: usize) -> Result<Maintained> {
        self.store.maintain(queue, limit).await
    }

    async fn audit(&self, queue: &QueueName, from: Option<Cursor>) -> Result<Audited> {
        self.store.audit(queue, from).await
    }

    async fn set_paused(&self, queue: &QueueName, is_paused: bool) -> Result<()> {
        self.store.set_paused(queue, is_paused).await
    }

    async fn settings(&self, queue: &QueueName) -> Result<Settings> {
        self.store.settings(queue).await
    }

    async fn set(&self, queue: &QueueName, settings: Vec<Setting>) -> Result<Settings> {
        self.store.set(queue, settings).await
    }

    async fn queues(&self) -> Result<Vec<QueueName>> {
        self.store.queues().await
    }

    async fn stats(&self, queue: &QueueName) -> Result<Option<Stats>> {
        self.store.stats(queue).await
    }

    async fn history(&self, queue: &QueueName, minutes: u32) -> Result<Vec<HistoryRow>> {
        self.store.history(queue, minutes).await
    }

    async fn get(&self, queue: &QueueName, id: &JobId) -> Result<Option<Job>> {
        self.store.get(queue, id).await
    }

    async fn explain(&self, queue: &QueueName, id: &JobId) -> Result<Option<Explanation>> {
        self.store.explain(queue, id).await
    }

    async fn list(
        &self,
        queue: &QueueName,
        filter: &Filter,
        from: Option<Cursor>,
        limit: usize,
    ) -> Result<JobPage<Job>> {
        self.store.list(queue, filter, from, limit).await
    }

    async fn put_schedule(
        &self,
        queue: &QueueName,
        schedule: Schedule,
        is_paused: Option<bool>,
    ) -> Result<SchedulePut> {
        self.store.put_schedule(queue, schedule, is_paused).await
    }

    async fn refill_schedules(&self, queue: &QueueName, refills: Vec<Refill>) -> Result<()> {
        self.store.refill_schedules(queue, refills).await
    }

    async fn run_schedule(
        &self,
        queue: &QueueName,
        name: &ScheduleName,
        run: Run,
    ) -> Result<Option<Vec<Ran>>> {
        self.store.run_schedule(queue, name, run).await
    }

    async fn change_schedule(
        &self,
        queue: &QueueName,
        name: &ScheduleName,
        change: ScheduleChange,
    ) -> Result<bool> {
        self.store.change_schedule(queue, name, change).await
    }

    async fn schedule(
        &self,
        queue: &QueueName,
        name: &ScheduleName,
    ) -> Result<Option<ScheduleRecord>> {
        self.store.schedule(queue, name).await
    }

    async fn schedules(
        &self,
        queue: &QueueName,
        from: Option<Cursor>,
        limit: usize,
    ) -> Result<Page<ScheduleRecord>> {
        self.store.schedules(queue, from, limit).await
    }

    async fn set_group(
        &self,
        queue: &QueueName,
        group: &GroupName,
        change: GroupChange,
    ) -> Result<GroupRecord> {
        self.store.set_group(queue, group, change).await
    }

    async fn group(&self, queue: &QueueName, group: &GroupName) -> Result<Option<GroupRecord>> {
        self.store.group(queue, group).await
    }

    async fn groups(
        &self,
        queue: &QueueName,
        from: Option<Cursor>,
        limit: usize,
    ) -> Result<Page<GroupRecord>> {
        self.store.groups(queue, from, limit).await
    }

    async fn error_groups(&self, queue: &QueueName) -> Result<Vec<ErrorGroup>> {
        self.store.error_groups(queue).await
    }

    async fn clear_error_group(&self, queue: &QueueName, group: Fingerprint) -> Result<bool> {
        self.store.clear_error_group(queue, group).await
    }

    async fn register(&self, worker: NewWorker) -> Result<()> {
        self.store.register(worker).await
    }

    async fn heartbeat(&self, heartbeat: Heartbeat) -> Result<WorkerCommand> {
        self.store.heartbeat(heartbeat).await
    }

    async fn leave(&self, boot: &BootId, queue: Option<&QueueName>) -> Result<u64> {
        self.store.leave(boot, queue).await
    }

    async fn fail_worker(&self, boot: &BootId) -> Result<Option<u64>> {
        self.store.fail_worker(boot).await
    }

    async fn command(&self, boot: &BootId, command: WorkerCommand) -> Result<bool> {
        self.store.command(boot, command).await
    }

    async fn workers(&self) -> Result<Vec<WorkerRecord>> {
        self.store.workers().await
    }

    async fn log_action(&self, action: Action) -> Result<()> {
        self.store.log_action(action).await
    }

    async fn actions(&self, from: Option<Cursor>, limit: usize) -> Result<Page<ActionRecord>> {
        self.store.actions(from, limit).await
    }

    async fn watch(&self, queues: &[QueueName]) -> Result<Box<dyn Watch>> {
        self.store.watch(queues).await
    }

    async fn watch_cancels(&self, queues: &[QueueName]) -> Result<Box<dyn Watch>> {
        self.store.watch_cancels(queues).await
    }

    fn limits(&self) -> Limits {
        self.store.limits()
    }
}
