//! Implements [`Store`]: validates arguments and forwards calls to the queue.

mod calls;

use std::time::Duration;

use async_trait::async_trait;
use redis::Value;
use windlass_core::action;
use windlass_core::limits::{Limits, PAGE, SCAN_PAGE, truncate_message};
use windlass_core::store::{
    Action, ActionRecord, Audited, Changes, Completed, Completion, Cursor, ErrorGroup, Explanation,
    Failure, Fingerprint, Fraction, GroupChange, GroupName, GroupRecord, Heartbeat, HistoryRow,
    JobPage, LastWorker, LeaseStatus, Maintained, NewWorker, Page, QueueDeletion, Ran, Refill,
    Renewed, Run, ScheduleChange, SchedulePut, ScheduleRecord, Setting, Settings, Snooze, Stats,
    Watch, WorkerCommand, WorkerRecord,
};
use windlass_core::{
    BootId, Change, Claim, ClaimRequest, Enqueued, Filter, Job, JobId, JobLease, LeaseTime, NewJob,
    OutcomeStatus, QueueName, Renewal, Result, Schedule, ScheduleName, Store, Target,
};
use windlass_redis_link::reply::{self, Reply};

use crate::actions;
use crate::open::RedisStore;
use crate::outcome::EncodedOutcome;
use crate::queue::{result_bytes, weight};
use crate::watch::Notifier;
use crate::workers::{self, Workers};

#[async_trait]
impl Store for RedisStore {
    async fn enqueue(&self, queue: &QueueName, jobs: Vec<NewJob>) -> Result<Vec<Enqueued>> {
        self.inner.limits.check_batch(&jobs)?;
        self.check_health()?;
        let queue = self.queue(queue);
        let bytes = jobs.iter().map(weight).sum();
        self.sending(bytes, queue.enqueue(jobs)).await
    }

    async fn claim(&self, queue: &QueueName, request: ClaimRequest) -> Result<Option<Claim>> {
        request.check()?;
        self.queue(queue).claim(&request).await
    }

    async fn claim_waiting(
        &self,
        queue: &QueueName,
        request: &mut ClaimRequest,
        wait: Duration,
    ) -> Result<Option<Claim>> {
        request.check()?;
        self.queue(queue).claim_waiting(request, wait).await
    }

    async fn accept(
        &self,
        queue: &QueueName,
        lease: JobLease,
        time: LeaseTime,
    ) -> Result<LeaseStatus> {
        self.within(self.queue(queue).accept(&lease, time.get()))
            .await
    }

    async fn renew(&self, queue: &QueueName, renewal: Renewal, time: LeaseTime) -> Result<Renewed> {
        self.within(self.queue(queue).renew(renewal, time.get()))
            .await
    }

    async fn progress(
        &self,
        queue: &QueueName,
        lease: JobLease,
        fraction: Fraction,
        message: Option<String>,
    ) -> Result<LeaseStatus> {
        let message = message.as_deref().map(truncate_message);
        self.within(self.queue(queue).progress(&lease, fraction, message))
            .await
    }

    async fn complete(
        &self,
        queue: &QueueName,
        completions: Vec<Completion>,
        next: Option<ClaimRequest>,
    ) -> Result<Completed> {
        let limits = &self.inner.limits;
        limits.check_completions(&completions, next.as_ref())?;
        let queue = self.queue(queue);
        let bytes = completions.iter().map(result_bytes).sum();
        self.sending(bytes, queue.complete(completions, next)).await
    }

    async fn fail(&self, queue: &QueueName, failures: Vec<Failure>) -> Result<Vec<OutcomeStatus>> {
        failures.iter().try_for_each(Failure::check)?;
        let outcomes = failures.iter().map(EncodedOutcome::fail);
        let script = &self.inner.shared.scripts.fail;
        self.report(queue, script, outcomes.collect()).await
    }

    async fn release(
        &self,
        queue: &QueueName,
        leases: Vec<JobLease>,
    ) -> Result<Vec<OutcomeStatus>> {
        let outcomes = leases.iter().map(EncodedOutcome::release);
        let script = &self.inner.shared.scripts.release;
        self.report(queue, script, outcomes.collect()).await
    }

    async fn snooze(&self, queue: &QueueName, snoozes: Vec<Snooze>) -> Result<Vec<OutcomeStatus>> {
        snoozes.iter().try_for_each(Snooze::check)?;
        let outcomes = snoozes.iter().map(EncodedOutcome::snooze);
        let script = &self.inner.shared.scripts.snooze;
        self.report(queue, script, outcomes.collect()).await
    }

    async fn change(
        &self,
        queue: &QueueName,
        change: Change,
        target: &Target,
        from: Option<Cursor>,
    ) -> Result<Changes> {
        let target = change.target(target)?;
        let queue = self.queue(queue);
        self.within(queue.change(change, &target, from.as_ref()))
            .await
    }

    async fn purge(&self, queue: &QueueName) -> Result<u64> {
        self.queue(queue).purge().await
    }

    async fn maintain(&self, queue: &QueueName, limit: usize) -> Result<Maintained> {
        self.within(self.queue(queue).maintain(limit)).await
    }

    async fn audit(&self, queue: &QueueName, from: Option<Cursor>) -> Result<Audited> {
        self.queue(queue).audit(from.as_ref()).await
    }

    async fn set_paused(&self, queue: &QueueName, is_paused: bool) -> Result<()> {
        self.within(self.queue(queue).set_paused(is_paused)).await
    }

    async fn settings(&self, queue: &QueueName) -> Result<Settings> {
        self.queue(queue).settings().await
    }

    async fn set(&self, queue: &QueueName, settings: Vec<Setting>) -> Result<Settings> {
        self.queue(queue).set(&settings).await
    }

    async fn delete_queue(&self, queue: &QueueName) -> Result<QueueDeletion> {
        self.within(self.queue(queue).delete()).await
    }

    async fn queues(&self) -> Result<Vec<QueueName>> {
        let key = self.inner.registry.one("queues");
        let mut names = Vec::new();
        let mut cursor = "0".to_owned();
        loop {
            let mut scan = redis::cmd("SSCAN");
            scan.arg(&key[..]).arg(&cursor).arg("COUNT").arg(SCAN_PAGE);
            let Value::Array(mut page) = self.link().ask(&key, &scan).await? else {
                return Err(reply::unexpected_reply("it is not a page of queues"));
            };
            let members = page.pop().unwrap_or(Value::Nil);
            cursor = reply::text(page.pop().unwrap_or(Value::Nil))?;
            let mut members = Reply::list(members)?;
            while !members.is_empty() {
                names.push(QueueName::new(members.text()?)?);
            }
            if cursor == "0" {
                break;
            }
        }
        names.sort();
        names.dedup();
        Ok(names)
    }

    async fn stats(&self, queue: &QueueName) -> Result<Option<Stats>> {
        self.within(self.queue(queue).stats()).await
    }

    async fn history(&self, queue: &QueueName, minutes: u32) -> Result<Vec<HistoryRow>> {
        self.within(self.queue(queue).history(minutes)).await
    }

    async fn get(&self, queue: &QueueName, id: &JobId) -> Result<Option<Job>> {
        self.within(self.queue(queue).get(id)).await
    }

    async fn explain(&self, queue: &QueueName, id: &JobId) -> Result<Option<Explanation>> {
        let Some(mut facts) = self.queue(queue).wait_facts(id).await? else {
            return Ok(None);
        };
        // The registry is in another hash slot.
        if facts.job.state.is_waiting() {
            facts.last_worker = LastWorker::of_queue(&self.workers().await?, queue);
        }
        Ok(Some(facts.explain()))
    }

    async fn list(
        &self,
        queue: &QueueName,
        filter: &Filter,
        from: Option<Cursor>,
        limit: usize,
    ) -> Result<JobPage<Job>> {
        filter.check()?;
        let limit = limit.clamp(1, SCAN_PAGE);
        self.queue(queue).list(filter, from.as_ref(), limit).await
    }

    async fn put_schedule(
        &self,
        queue: &QueueName,
        schedule: Schedule,
        is_paused: Option<bool>,
    ) -> Result<SchedulePut> {
        schedule.check()?;
        self.check_health()?;
        let queue = self.queue(queue);
        let bytes = weight(&schedule.job);
        self.sending(bytes, queue.put_schedule(&schedule, is_paused))
            .await
    }

    async fn refill_schedules(&self, queue: &QueueName, refills: Vec<Refill>) -> Result<()> {
        refills.iter().try_for_each(Refill::check)?;
        self.within(self.queue(queue).refill_schedules(refills))
            .await
    }

    async fn run_schedule(
        &self,
        queue: &QueueName,
        name: &ScheduleName,
        run: Run,
    ) -> Result<Option<Vec<Ran>>> {
        run.check(name)?;
        self.check_health()?;
        self.within(self.queue(queue).run_schedule(name, &run))
            .await
    }

    async fn change_schedule(
        &self,
        queue: &QueueName,
        name: &ScheduleName,
        change: ScheduleChange,
    ) -> Result<bool> {
        self.within(self.queue(queue).change_schedule(name, change))
            .await
    }

    async fn schedule(
        &self,
        queue: &QueueName,
        name: &ScheduleName,
    ) -> Result<Option<ScheduleRecord>> {
        self.within(self.queue(queue).schedule(name)).await
    }

    async fn schedules(
        &self,
        queue: &QueueName,
        from: Option<Cursor>,
        limit: usize,
    ) -> Result<Page<ScheduleRecord>> {
        let from = from.map(|from| ScheduleName::new(from.0)).transpose()?;
        let queue = self.queue(queue);
        self.within(queue.schedules(from, limit.clamp(1, PAGE)))
            .await
    }

    async fn set_group(
        &self,
        queue: &QueueName,
        group: &GroupName,
        change: GroupChange,
    ) -> Result<GroupRecord> {
        self.within(self.queue(queue).set_group(group, &change))
            .await
    }

    async fn group(&self, queue: &QueueName, group: &GroupName) -> Result<Option<GroupRecord>> {
        self.within(self.queue(queue).group(group)).await
    }

    async fn groups(
        &self,
        queue: &QueueName,
        from: Option<Cursor>,
        limit: usize,
    ) -> Result<Page<GroupRecord>> {
        let from = from.map(|from| GroupName::new(from.0)).transpose()?;
        self.within(self.queue(queue).groups(from, limit.clamp(1, PAGE)))
            .await
    }

    async fn error_groups(&self, queue: &QueueName) -> Result<Vec<ErrorGroup>> {
        self.within(self.queue(queue).error_groups()).await
    }

    async fn clear_error_group(&self, queue: &QueueName, group: Fingerprint) -> Result<bool> {
        self.within(self.queue(queue).clear_error_group(group))
            .await
    }

    async fn register(&self, worker: NewWorker) -> Result<()> {
        worker.check()?;
        for name in &worker.queues {
            self.queue(name).first().create().await?;
        }
        let script = &self.inner.shared.scripts.worker_register;
        self.registry(script, workers::register_args(&worker))
            .await?;
        Ok(())
    }

    async fn heartbeat(&self, heartbeat: Heartbeat) -> Result<WorkerCommand> {
        heartbeat.check()?;
        let script = &self.inner.shared.scripts.worker_heartbeat;
        workers::read_command(
            self.registry(script, workers::heartbeat_args(&heartbeat))
                .await?,
        )
    }

    async fn leave(&self, boot: &BootId, queue: Option<&QueueName>) -> Result<u64> {
        let queues = match queue {
            Some(queue) => vec![queue.clone()],
            None => self.queues_of(boot).await?.unwrap_or_default(),
        };
        self.take_back(boot, &queues, queue, false).await
    }

    async fn fail_worker(&self, boot: &BootId) -> Result<Option<u64>> {
        match self.queues_of(boot).await? {
            None => Ok(None),
            Some(queues) => self.take_back(boot, &queues, None, true).await.map(Some),
        }
    }

    async fn command(&self, boot: &BootId, command: WorkerCommand) -> Result<bool> {
        let script = &self.inner.shared.scripts.worker_command;
        workers::read_command_reply(
            self.registry(script, workers::command_args(boot, command))
                .await?,
        )
    }

    async fn workers(&self) -> Result<Vec<WorkerRecord>> {
        let script = &self.inner.shared.scripts.worker_list;
        let mut workers = Workers::default();
        while workers.add_page(self.registry(script, workers.page_args()).await?)? {}
        Ok(workers.into_vec())
    }

    async fn log_action(&self, action: Action) -> Result<()> {
        let script = &self.inner.shared.scripts.actions_log;
        let args = actions::log_args(&action.cleaned());
        self.registry(script, args).await?;
        Ok(())
    }

    async fn actions(&self, from: Option<Cursor>, limit: usize) -> Result<Page<ActionRecord>> {
        let before = from.map(|from| action::read_cursor(&from.0)).transpose()?;
        let limit = limit.clamp(1, action::ACTIONS_PAGE);
        let script = &self.inner.shared.scripts.actions_list;
        let args = actions::list_args(before, limit);
        actions::read_page(self.registry(script, args).await?, limit)
    }

    async fn watch(&self, queues: &[QueueName]) -> Result<Box<dyn Watch>> {
        let partitions = self.partitions_of(queues).await?;
        Ok(Box::new(Notifier::new(partitions).await?))
    }

    async fn watch_cancels(&self, queues: &[QueueName]) -> Result<Box<dyn Watch>> {
        let partitions = self.partitions_of(queues).await?;
        Ok(Box::new(Notifier::of_cancels(partitions).await?))
    }

    fn limits(&self) -> Limits {
        self.inner.limits
    }
}
