//! The store: each method is one op of the HTTP API.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use windlass_api::request::{
    Accept, ActionReply, Actions, Audit, CommandWorker, EnqueueAll, FailWorker, Get,
    Heartbeat as HeartbeatRequest, History, Leave, Maintain, Pause, Progress, Purge, Queues,
    Register, RenewLeases, Resume, RunSchedule, RunScheduleReply, RunningJob, Set, ShowSettings,
    Stats as StatsRequest, Why, Workers,
};
use windlass_api::{ClaimReply, HistoryRowReply, JobReply, WhyReply};
use windlass_core::store::{
    Action, ActionRecord, Audited, Changes, Completed, Completion, Cursor, ErrorGroup, Explanation,
    Failure, Fingerprint, Fraction, GroupChange, GroupName, GroupRecord, Heartbeat, HistoryRow,
    JobPage, LeaseStatus, Limits, Maintained, NewWorker, Page, QueueDeletion, Ran, Refill, Renewed,
    Run, ScheduleChange, SchedulePut, ScheduleRecord, Setting, Settings, Snooze, Stats, Watch,
    WorkerCommand, WorkerRecord,
};
use windlass_core::{
    BootId, Change, Claim, ClaimRequest, Enqueued, Filter, Job, JobId, JobLease, LeaseTime, NewJob,
    OutcomeStatus, QueueName, Renewal, Result, Schedule, ScheduleName, Store, Target, duration,
};

use crate::parts::{after, encoded, parts};
use crate::remote::{RemoteStore, found, lease_status, unsupported};
use crate::schedules::server_refills;
use crate::watch::EventWatch;

/// The largest body of a batch of jobs, with room for its other fields. The server accepts 16 MiB.
const BATCH_BYTES_MAX: usize = 16_000_000;

#[async_trait]
impl Store for RemoteStore {
    async fn enqueue(&self, queue: &QueueName, jobs: Vec<NewJob>) -> Result<Vec<Enqueued>> {
        self.limits().check_batch(&jobs)?;
        let bytes = |job: &NewJob| encoded(job.payload.len()) + 6 * job.headers.bytes();
        let mut replies = Vec::with_capacity(jobs.len());
        for part in parts(jobs, BATCH_BYTES_MAX, bytes) {
            let jobs = part.into_iter().map(Into::into).collect();
            let reply = self.call(queue, EnqueueAll { jobs }).await;
            let reply = reply.map_err(|failed| after(replies.len(), failed.into()))?;
            for job in reply.jobs {
                replies.push(job.into_enqueued()?);
            }
        }
        Ok(replies)
    }

    async fn claim(&self, queue: &QueueName, request: ClaimRequest) -> Result<Option<Claim>> {
        request.check()?;
        let jobs = self
            .call(queue, windlass_api::request::Claim::from(&request))
            .await?;
        Ok(ClaimReply::into_claim(jobs)?.map(|(claim, _)| claim))
    }

    async fn claim_waiting(
        &self,
        queue: &QueueName,
        request: &mut ClaimRequest,
        wait: Duration,
    ) -> Result<Option<Claim>> {
        self.send_waiting_claim(queue, request, wait).await
    }

    async fn accept(
        &self,
        queue: &QueueName,
        lease: JobLease,
        time: LeaseTime,
    ) -> Result<LeaseStatus> {
        let request = Accept {
            id: lease.id.to_string(),
            token: lease.token.to_string(),
            lease: Some(duration::format(time.get())),
        };
        lease_status(self.call(queue, request).await)
    }

    async fn renew(&self, queue: &QueueName, renewal: Renewal, time: LeaseTime) -> Result<Renewed> {
        let request = RenewLeases::new(renewal, time);
        self.call(queue, request).await?.into_renewed()
    }

    async fn progress(
        &self,
        queue: &QueueName,
        lease: JobLease,
        fraction: Fraction,
        message: Option<String>,
    ) -> Result<LeaseStatus> {
        let truncated = windlass_core::limits::truncate_message;
        let request = Progress {
            id: lease.id.to_string(),
            token: lease.token.to_string(),
            fraction: fraction.get(),
            message: message.map(|message| truncated(&message).to_owned()),
        };
        lease_status(self.call(queue, request).await)
    }

    async fn complete(
        &self,
        queue: &QueueName,
        completions: Vec<Completion>,
        next: Option<ClaimRequest>,
    ) -> Result<Completed> {
        self.send_completions(queue, completions, next).await
    }

    async fn fail(&self, queue: &QueueName, failures: Vec<Failure>) -> Result<Vec<OutcomeStatus>> {
        self.send_failures(queue, failures).await
    }

    async fn release(
        &self,
        queue: &QueueName,
        leases: Vec<JobLease>,
    ) -> Result<Vec<OutcomeStatus>> {
        self.send_releases(queue, leases).await
    }

    async fn snooze(&self, queue: &QueueName, snoozes: Vec<Snooze>) -> Result<Vec<OutcomeStatus>> {
        self.send_snoozes(queue, snoozes).await
    }

    async fn change(
        &self,
        queue: &QueueName,
        change: Change,
        target: &Target,
        from: Option<Cursor>,
    ) -> Result<Changes> {
        self.send_change(queue, change, target, from).await
    }

    async fn purge(&self, queue: &QueueName) -> Result<u64> {
        Ok(self.call(queue, Purge::default()).await?.purged)
    }

    async fn delete_queue(&self, queue: &QueueName) -> Result<QueueDeletion> {
        self.send_delete_queue(queue).await
    }

    async fn maintain(&self, queue: &QueueName, limit: usize) -> Result<Maintained> {
        let limit = Some(limit);
        let reply = self.call(queue, Maintain { limit }).await?;
        Ok(reply.into_maintained())
    }

    async fn audit(&self, queue: &QueueName, from: Option<Cursor>) -> Result<Audited> {
        let cursor = from.map(|from| from.0);
        let reply = self.call(queue, Audit { cursor }).await?;
        Ok(Audited {
            next: reply.next.map(Cursor),
            ..reply.maintenance.into_audited()
        })
    }

    async fn set_paused(&self, queue: &QueueName, is_paused: bool) -> Result<()> {
        if is_paused {
            self.call(queue, Pause::default()).await?;
        } else {
            self.call(queue, Resume::default()).await?;
        }
        Ok(())
    }

    async fn settings(&self, queue: &QueueName) -> Result<Settings> {
        let reply = self.call(queue, ShowSettings::default()).await?;
        reply.into_settings()
    }

    async fn set(&self, queue: &QueueName, settings: Vec<Setting>) -> Result<Settings> {
        let pair = |setting: &Setting| (setting.name().to_owned(), setting.value().to_owned());
        let settings = settings.iter().map(pair).collect();
        let reply = self.call(queue, Set { settings }).await?;
        reply.into_settings()
    }

    async fn queues(&self) -> Result<Vec<QueueName>> {
        let queues = self.0.store(Queues::default()).await?;
        queues
            .into_iter()
            .map(|queue| QueueName::new(queue.queue))
            .collect()
    }

    async fn stats(&self, queue: &QueueName) -> Result<Option<Stats>> {
        let full = Some(true);
        let reply = found(self.call(queue, StatsRequest { full }).await)?;
        Ok(reply.map(|reply| reply.into_stats()))
    }

    async fn history(&self, queue: &QueueName, minutes: u32) -> Result<Vec<HistoryRow>> {
        let minutes = Some(minutes.max(1));
        let reply = found(self.call(queue, History { minutes }).await)?;
        let rows = reply.into_iter().flat_map(|reply| reply.rows);
        rows.map(HistoryRowReply::into_row).collect()
    }

    async fn get(&self, queue: &QueueName, id: &JobId) -> Result<Option<Job>> {
        let request = Get {
            id: id.to_string(),
            full: Some(true),
        };
        let reply = found(self.call(queue, request).await)?;
        reply.map(JobReply::into_job).transpose()
    }

    async fn explain(&self, queue: &QueueName, id: &JobId) -> Result<Option<Explanation>> {
        let id = id.to_string();
        let reply = found(self.call(queue, Why { id }).await)?;
        reply.map(WhyReply::into_explanation).transpose()
    }

    async fn list(
        &self,
        queue: &QueueName,
        filter: &Filter,
        from: Option<Cursor>,
        limit: usize,
    ) -> Result<JobPage<Job>> {
        self.read_jobs(queue, filter, from, limit).await
    }

    async fn put_schedule(
        &self,
        queue: &QueueName,
        schedule: Schedule,
        is_paused: Option<bool>,
    ) -> Result<SchedulePut> {
        self.send_schedule(queue, schedule, is_paused).await
    }

    /// The server computes the instants of its schedules, so it never asks for any.
    async fn refill_schedules(&self, _: &QueueName, _: Vec<Refill>) -> Result<()> {
        Err(server_refills())
    }

    async fn run_schedule(
        &self,
        queue: &QueueName,
        name: &ScheduleName,
        run: Run,
    ) -> Result<Option<Vec<Ran>>> {
        run.check(name)?;
        let reply = found(self.call(queue, RunSchedule::new(name, run)).await)?;
        reply.map(RunScheduleReply::into_ran).transpose()
    }

    async fn change_schedule(
        &self,
        queue: &QueueName,
        name: &ScheduleName,
        change: ScheduleChange,
    ) -> Result<bool> {
        self.send_schedule_change(queue, name, change).await
    }

    async fn schedule(
        &self,
        queue: &QueueName,
        name: &ScheduleName,
    ) -> Result<Option<ScheduleRecord>> {
        self.read_schedule(queue, name).await
    }

    async fn schedules(
        &self,
        queue: &QueueName,
        from: Option<Cursor>,
        limit: usize,
    ) -> Result<Page<ScheduleRecord>> {
        self.read_schedules(queue, from, limit).await
    }

    async fn set_group(
        &self,
        queue: &QueueName,
        group: &GroupName,
        change: GroupChange,
    ) -> Result<GroupRecord> {
        self.send_group(queue, group, change).await
    }

    async fn group(&self, queue: &QueueName, group: &GroupName) -> Result<Option<GroupRecord>> {
        self.read_group(queue, group).await
    }

    async fn groups(
        &self,
        queue: &QueueName,
        from: Option<Cursor>,
        limit: usize,
    ) -> Result<Page<GroupRecord>> {
        self.read_groups(queue, from, limit).await
    }

    async fn error_groups(&self, queue: &QueueName) -> Result<Vec<ErrorGroup>> {
        self.read_errors(queue).await
    }

    async fn clear_error_group(&self, queue: &QueueName, group: Fingerprint) -> Result<bool> {
        self.clear_error(queue, group).await
    }

    async fn register(&self, worker: NewWorker) -> Result<()> {
        worker.check()?;
        self.0.store(Register::from(worker)).await?;
        Ok(())
    }

    async fn heartbeat(&self, heartbeat: Heartbeat) -> Result<WorkerCommand> {
        heartbeat.check()?;
        let running = |(queue, id): &(QueueName, JobId)| RunningJob {
            queue: queue.to_string(),
            id: id.to_string(),
            token: None,
        };
        let request = HeartbeatRequest {
            worker: heartbeat.boot.to_string(),
            running: heartbeat.running.iter().map(running).collect(),
            lease: None,
        };
        let reply = self.0.store(request).await?;
        WorkerCommand::from_text(reply.command).ok_or_else(unsupported)
    }

    async fn leave(&self, boot: &BootId, queue: Option<&QueueName>) -> Result<u64> {
        let request = Leave {
            worker: boot.to_string(),
            queue_left: queue.map(ToString::to_string),
        };
        Ok(self.0.store(request).await?.released)
    }

    async fn fail_worker(&self, boot: &BootId) -> Result<Option<u64>> {
        let worker = boot.to_string();
        let reply = found(self.0.store(FailWorker { worker }).await)?;
        Ok(reply.map(|reply| reply.rescued))
    }

    async fn command(&self, boot: &BootId, command: WorkerCommand) -> Result<bool> {
        let request = CommandWorker {
            worker: boot.to_string(),
            command: command.as_str().to_owned(),
        };
        Ok(found(self.0.store(request).await)?.is_some())
    }

    async fn workers(&self) -> Result<Vec<WorkerRecord>> {
        let workers = self.0.store(Workers::default()).await?;
        workers
            .into_iter()
            .map(|worker| worker.into_record())
            .collect()
    }

    async fn log_action(&self, action: Action) -> Result<()> {
        // The server logs the requests it gets, by the name of their token.
        drop(action);
        Ok(())
    }

    async fn actions(&self, from: Option<Cursor>, limit: usize) -> Result<Page<ActionRecord>> {
        let request = Actions {
            limit: Some(limit),
            cursor: from.map(|from| from.0),
        };
        let reply = self.0.store(request).await?;
        let items = reply.actions.into_iter().map(ActionReply::into_record);
        Ok(Page {
            items: items.collect::<Result<_>>()?,
            next: reply.next.map(Cursor),
        })
    }

    async fn watch(&self, queues: &[QueueName]) -> Result<Box<dyn Watch>> {
        let watch = EventWatch::open(Arc::clone(&self.0), queues).await?;
        Ok(Box::new(watch))
    }

    /// The limits of a store with default settings. The server checks its own.
    fn limits(&self) -> Limits {
        Limits::default()
    }
}
