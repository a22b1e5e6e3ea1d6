//! Implements the `Store` trait: validates the request and runs the verb in one transaction.

use async_trait::async_trait;
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
    OutcomeStatus, QueueName, Renewal, Result, Schedule, ScheduleName, Store, Target, Timestamp,
};

use crate::MemoryStore;
use crate::queue::Queue;
use crate::read::ScanPosition;
use crate::reap::ReclaimReason;

#[async_trait]
impl Store for MemoryStore {
    async fn enqueue(&self, queue: &QueueName, jobs: Vec<NewJob>) -> Result<Vec<Enqueued>> {
        self.limits.check_batch(&jobs)?;
        Ok(self.on_created_queue(queue, |queue| queue.enqueue(jobs)))
    }

    async fn claim(&self, queue: &QueueName, request: ClaimRequest) -> Result<Option<Claim>> {
        request.check()?;
        self.on_queue(queue, |queue| {
            queue.settings.check_claim(request.mode)?;
            Ok(queue.claim(&request))
        })
    }

    async fn accept(
        &self,
        queue: &QueueName,
        lease: JobLease,
        time: LeaseTime,
    ) -> Result<LeaseStatus> {
        Ok(self.on_queue(queue, |queue| queue.accept(&lease, time.get())))
    }

    async fn renew(&self, queue: &QueueName, renewal: Renewal, time: LeaseTime) -> Result<Renewed> {
        Ok(self.on_queue(queue, |queue| queue.renew(&renewal, time.get())))
    }

    async fn progress(
        &self,
        queue: &QueueName,
        lease: JobLease,
        fraction: Fraction,
        message: Option<String>,
    ) -> Result<LeaseStatus> {
        let message = message.map(|message| truncate_message(&message).to_owned());
        Ok(self.on_queue(queue, |queue| queue.progress(&lease, fraction, message)))
    }

    async fn complete(
        &self,
        queue: &QueueName,
        completions: Vec<Completion>,
        next: Option<ClaimRequest>,
    ) -> Result<Completed> {
        self.limits.check_completions(&completions, next.as_ref())?;
        self.on_queue(queue, |queue| {
            let mode = next.as_ref().map(|next| next.mode);
            mode.map_or(Ok(()), |mode| queue.settings.check_claim(mode))?;
            Ok(queue.complete(completions, next.as_ref()))
        })
    }

    async fn fail(&self, queue: &QueueName, failures: Vec<Failure>) -> Result<Vec<OutcomeStatus>> {
        failures.iter().try_for_each(Failure::check)?;
        Ok(self.on_queue(queue, |queue| queue.fail(&failures)))
    }

    async fn release(
        &self,
        queue: &QueueName,
        leases: Vec<JobLease>,
    ) -> Result<Vec<OutcomeStatus>> {
        Ok(self.on_queue(queue, |queue| queue.release(&leases)))
    }

    async fn snooze(&self, queue: &QueueName, snoozes: Vec<Snooze>) -> Result<Vec<OutcomeStatus>> {
        snoozes.iter().try_for_each(Snooze::check)?;
        Ok(self.on_queue(queue, |queue| queue.snooze(&snoozes)))
    }

    async fn change(
        &self,
        queue: &QueueName,
        change: Change,
        target: &Target,
        from: Option<Cursor>,
    ) -> Result<Changes> {
        let target = change.target(target)?;
        let from = from.as_ref().map(ScanPosition::from_cursor).transpose()?;
        Ok(self.on_queue(queue, |queue| queue.change(change, &target, from.as_ref())))
    }

    async fn purge(&self, queue: &QueueName) -> Result<u64> {
        Ok(self.on_queue(queue, |queue| queue.purge()))
    }

    async fn maintain(&self, queue: &QueueName, limit: usize) -> Result<Maintained> {
        Ok(self.on_queue(queue, |queue| queue.maintain(limit)))
    }

    async fn audit(&self, queue: &QueueName, from: Option<Cursor>) -> Result<Audited> {
        let from = from.as_ref().map(ScanPosition::from_cursor).transpose()?;
        Ok(self.on_queue(queue, |queue| queue.audit(from.as_ref())))
    }

    async fn set_paused(&self, queue: &QueueName, is_paused: bool) -> Result<()> {
        self.on_created_queue(queue, |queue| {
            queue.is_paused = is_paused;
            if !is_paused {
                queue.resting_until = Timestamp::default();
                queue.announce_work();
            }
            queue.mark_changed();
        });
        Ok(())
    }

    async fn settings(&self, queue: &QueueName) -> Result<Settings> {
        let settings = self.read(queue, |queue, _| queue.settings.clone());
        Ok(settings.unwrap_or_default())
    }

    async fn set(&self, queue: &QueueName, settings: Vec<Setting>) -> Result<Settings> {
        self.on_created_queue(queue, |queue| {
            let mut new = queue.settings.clone();
            settings.iter().try_for_each(|setting| new.apply(setting))?;
            queue.remove_groups();
            let (has_jobs, has_groups) = (!queue.jobs.is_empty(), !queue.groups.is_empty());
            new.check_change(&queue.settings, has_jobs, has_groups)?;
            queue.change_settings(new);
            queue.mark_changed();
            Ok(queue.settings.clone())
        })
    }

    async fn delete_queue(&self, queue: &QueueName) -> Result<QueueDeletion> {
        let mut state = self.lock();
        let last_token = match state.queues.get(queue) {
            None => return Ok(QueueDeletion::NotFound),
            Some(found) if !found.jobs.is_empty() => return Ok(QueueDeletion::HasJobs),
            Some(found) if !found.schedules.is_empty() => return Ok(QueueDeletion::HasSchedules),
            Some(found) => found.last_token,
        };
        state.queues.remove(queue);
        state.deleted.insert(queue.clone(), last_token);
        Ok(QueueDeletion::Deleted)
    }

    async fn queues(&self) -> Result<Vec<QueueName>> {
        Ok(self.lock().queues.keys().cloned().collect())
    }

    async fn stats(&self, queue: &QueueName) -> Result<Option<Stats>> {
        Ok(self.read(queue, Queue::stats))
    }

    async fn history(&self, queue: &QueueName, minutes: u32) -> Result<Vec<HistoryRow>> {
        let rows = self.read(queue, |queue, now| queue.history(minutes, now));
        Ok(rows.unwrap_or_default())
    }

    async fn get(&self, queue: &QueueName, id: &JobId) -> Result<Option<Job>> {
        let job = self.read(queue, |queue, _| queue.get(id));
        Ok(job.flatten())
    }

    async fn explain(&self, queue: &QueueName, id: &JobId) -> Result<Option<Explanation>> {
        let facts = self.read(queue, |queue, now| queue.wait_facts(id, now));
        Ok(facts.flatten().map(|mut facts| {
            let workers = self.lock().workers.list(self.clock.now_us());
            facts.last_worker = LastWorker::of_queue(&workers, queue);
            facts.explain()
        }))
    }

    async fn list(
        &self,
        queue: &QueueName,
        filter: &Filter,
        from: Option<Cursor>,
        limit: usize,
    ) -> Result<JobPage<Job>> {
        filter.check()?;
        let from = from.as_ref().map(ScanPosition::from_cursor).transpose()?;
        let limit = limit.clamp(1, SCAN_PAGE);
        let page = self.read(queue, |queue, now| {
            queue.list(filter, from.as_ref(), limit, now.ms())
        });
        Ok(page.unwrap_or_default())
    }

    async fn put_schedule(
        &self,
        queue: &QueueName,
        schedule: Schedule,
        is_paused: Option<bool>,
    ) -> Result<SchedulePut> {
        schedule.check()?;
        self.on_created_queue(queue, |queue| queue.put_schedule(schedule, is_paused))
    }

    async fn refill_schedules(&self, queue: &QueueName, refills: Vec<Refill>) -> Result<()> {
        refills.iter().try_for_each(Refill::check)?;
        self.on_queue(queue, |queue| queue.refill_schedules(refills));
        Ok(())
    }

    async fn run_schedule(
        &self,
        queue: &QueueName,
        name: &ScheduleName,
        run: Run,
    ) -> Result<Option<Vec<Ran>>> {
        run.check(name)?;
        Ok(self.on_queue(queue, |queue| queue.run_schedule(name, run)))
    }

    async fn change_schedule(
        &self,
        queue: &QueueName,
        name: &ScheduleName,
        change: ScheduleChange,
    ) -> Result<bool> {
        Ok(self.on_queue(queue, |queue| queue.change_schedule(name, change)))
    }

    async fn error_groups(&self, queue: &QueueName) -> Result<Vec<ErrorGroup>> {
        Ok(self.read(queue, Queue::error_groups).unwrap_or_default())
    }

    async fn clear_error_group(&self, queue: &QueueName, group: Fingerprint) -> Result<bool> {
        Ok(self.on_queue(queue, |queue| queue.clear_error_group(group)))
    }

    async fn schedule(
        &self,
        queue: &QueueName,
        name: &ScheduleName,
    ) -> Result<Option<ScheduleRecord>> {
        let record = self.read(queue, |queue, _| queue.schedules.get(name).cloned());
        Ok(record.flatten())
    }

    async fn schedules(
        &self,
        queue: &QueueName,
        from: Option<Cursor>,
        limit: usize,
    ) -> Result<Page<ScheduleRecord>> {
        let from = from.map(|from| ScheduleName::new(from.0)).transpose()?;
        let limit = limit.clamp(1, PAGE);
        let page = self.read(queue, |queue, _| queue.list_schedules(from.as_ref(), limit));
        Ok(page.unwrap_or(Page {
            items: Vec::new(),
            next: None,
        }))
    }

    async fn set_group(
        &self,
        queue: &QueueName,
        group: &GroupName,
        change: GroupChange,
    ) -> Result<GroupRecord> {
        self.on_created_queue(queue, |queue| queue.set_group(group, change))
    }

    async fn group(&self, queue: &QueueName, group: &GroupName) -> Result<Option<GroupRecord>> {
        let record = self.read(queue, |queue, now| queue.group(group, now));
        Ok(record.flatten())
    }

    async fn groups(
        &self,
        queue: &QueueName,
        from: Option<Cursor>,
        limit: usize,
    ) -> Result<Page<GroupRecord>> {
        let from = from.map(|from| GroupName::new(from.0)).transpose()?;
        let limit = limit.clamp(1, PAGE);
        let page = self.read(queue, |queue, now| {
            queue.list_groups(from.as_ref(), limit, now)
        });
        Ok(page.unwrap_or(Page {
            items: Vec::new(),
            next: None,
        }))
    }

    async fn register(&self, worker: NewWorker) -> Result<()> {
        worker.check()?;
        let mut state = self.lock();
        for name in &worker.queues {
            state.create_queue(name);
        }
        state.workers.register(self.clock.now_us(), worker);
        Ok(())
    }

    async fn heartbeat(&self, heartbeat: Heartbeat) -> Result<WorkerCommand> {
        heartbeat.check()?;
        Ok(self
            .lock()
            .workers
            .heartbeat(self.clock.now_us(), heartbeat))
    }

    async fn leave(&self, boot: &BootId, queue: Option<&QueueName>) -> Result<u64> {
        Ok(self.reclaim(boot, queue, ReclaimReason::Returned))
    }

    async fn fail_worker(&self, boot: &BootId) -> Result<Option<u64>> {
        let is_known = self.lock().workers.is_known(self.clock.now_us(), boot);
        Ok(is_known.then(|| self.reclaim(boot, None, ReclaimReason::Expired)))
    }

    async fn command(&self, boot: &BootId, command: WorkerCommand) -> Result<bool> {
        Ok(self
            .lock()
            .workers
            .command(self.clock.now_us(), boot, command))
    }

    async fn workers(&self) -> Result<Vec<WorkerRecord>> {
        Ok(self.lock().workers.list(self.clock.now_us()))
    }

    async fn log_action(&self, action: Action) -> Result<()> {
        let clock_us = self.clock.now_us();
        self.lock().actions.log(clock_us, action);
        Ok(())
    }

    async fn actions(&self, from: Option<Cursor>, limit: usize) -> Result<Page<ActionRecord>> {
        let before = from.map(|from| action::read_cursor(&from.0)).transpose()?;
        let limit = limit.clamp(1, action::ACTIONS_PAGE);
        Ok(self.lock().actions.list(before, limit))
    }

    async fn watch(&self, queues: &[QueueName]) -> Result<Box<dyn Watch>> {
        Ok(self.notifier.watch(queues))
    }

    fn limits(&self) -> Limits {
        self.limits
    }
}

impl MemoryStore {
    /// Removes a worker, or one of its queues, and returns its jobs to the queue.
    fn reclaim(&self, boot: &BootId, queue: Option<&QueueName>, reason: ReclaimReason) -> u64 {
        let mut state = self.lock();
        let queues = state.workers.leave(self.clock.now_us(), boot, queue);
        let reclaim = |name: &QueueName| {
            self.on_queue_of(&mut state, name, |queue| queue.reclaim_all(boot, reason))
        };
        queues.iter().map(reclaim).sum()
    }
}
