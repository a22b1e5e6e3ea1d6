//! Implements [`Store`]: validates arguments and forwards calls to the queue.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use redis::Value;
use windlass_core::limits::{Limits, SCAN_PAGE, truncate_message};
use windlass_core::store::{
    Audited, Changes, Completed, Completion, Cursor, Failure, Fraction, Heartbeat, LeaseStatus,
    Maintained, NewWorker, Page, QueueDeletion, Renewed, Setting, Settings, Snooze, Stats, Watch,
    WorkerCommand, WorkerRecord,
};
use windlass_core::{
    BootId, Change, Claim, ClaimRequest, Enqueued, Filter, Job, JobId, JobLease, LeaseTime, NewJob,
    OutcomeStatus, QueueName, Renewal, Result, Store, Target,
};
use windlass_redis_link::deadline;
use windlass_redis_link::reply::{self, Reply};

use crate::open::RedisStore;
use crate::outcome::EncodedOutcome;
use crate::partition::Partition;
use crate::queue::{Outcomes, all_done, result_bytes, weight};
use crate::script::Script;
use crate::watch::Notifier;
use crate::workers::{self, Workers};

#[async_trait]
impl Store for RedisStore {
    async fn enqueue(&self, queue: &QueueName, jobs: Vec<NewJob>) -> Result<Vec<Enqueued>> {
        self.inner.limits.check_batch(&jobs)?;
        // Do not store jobs on a server that may evict keys.
        if let Some(error) = self.link().health() {
            return Err(error);
        }
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
        let queue = self.queue(queue);
        self.within(queue.accept(&lease, time.get())).await
    }

    async fn renew(&self, queue: &QueueName, renewal: Renewal, time: LeaseTime) -> Result<Renewed> {
        let queue = self.queue(queue);
        self.within(queue.renew(renewal, time.get())).await
    }

    async fn progress(
        &self,
        queue: &QueueName,
        lease: JobLease,
        fraction: Fraction,
        message: Option<String>,
    ) -> Result<LeaseStatus> {
        let message = message.as_deref().map(truncate_message);
        let queue = self.queue(queue);
        self.within(queue.progress(&lease, fraction, message)).await
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
        let queue = self.queue(queue);
        self.within(queue.maintain(limit)).await
    }

    async fn audit(&self, queue: &QueueName, from: Option<Cursor>) -> Result<Audited> {
        self.queue(queue).audit(from.as_ref()).await
    }

    async fn set_paused(&self, queue: &QueueName, is_paused: bool) -> Result<()> {
        let queue = self.queue(queue);
        self.within(queue.set_paused(is_paused)).await
    }

    async fn settings(&self, queue: &QueueName) -> Result<Settings> {
        self.queue(queue).settings().await
    }

    async fn set(&self, queue: &QueueName, settings: Vec<Setting>) -> Result<Settings> {
        self.queue(queue).set(&settings).await
    }

    async fn delete_queue(&self, queue: &QueueName) -> Result<QueueDeletion> {
        let queue = self.queue(queue);
        self.within(queue.delete()).await
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
        let queue = self.queue(queue);
        self.within(queue.stats()).await
    }

    async fn get(&self, queue: &QueueName, id: &JobId) -> Result<Option<Job>> {
        let queue = self.queue(queue);
        self.within(queue.get(id)).await
    }

    async fn list(
        &self,
        queue: &QueueName,
        filter: &Filter,
        from: Option<Cursor>,
        limit: usize,
    ) -> Result<Page<Job>> {
        let limit = limit.clamp(1, SCAN_PAGE);
        self.queue(queue).list(filter, from.as_ref(), limit).await
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

impl RedisStore {
    /// Runs a call with one deadline for all its script calls. Not for calls whose pages are as many as
    /// the store has, such as purge and leave: those make progress with each page.
    fn within<T>(&self, call: impl Future<Output = T>) -> impl Future<Output = T> {
        self.sending(0, call)
    }

    /// Runs a call that sends this many bytes of payloads or results.
    fn sending<T>(&self, bytes: usize, call: impl Future<Output = T>) -> impl Future<Output = T> {
        deadline::within(self.link().address().timeout, bytes, call)
    }

    /// Reports outcomes of fail, release or snooze.
    async fn report(
        &self,
        queue: &QueueName,
        script: &'static Script,
        outcomes: Vec<EncodedOutcome>,
    ) -> Result<Vec<OutcomeStatus>> {
        let queue = self.queue(queue);
        let reported = Box::pin(queue.report(Outcomes::Encoded(script, outcomes)));
        self.within(reported).await
    }

    async fn partitions_of(&self, queues: &[QueueName]) -> Result<Vec<Arc<Partition>>> {
        let mut partitions = Vec::new();
        for name in queues {
            let queue = self.queue(name);
            queue.refresh().await?;
            partitions.extend(queue.partitions().iter().cloned());
        }
        Ok(partitions)
    }

    /// The queues of a worker; `None` if it is unknown.
    async fn queues_of(&self, boot: &BootId) -> Result<Option<Vec<QueueName>>> {
        let script = &self.inner.shared.scripts.worker_find;
        workers::read_queues(self.registry(script, workers::find_args(boot)).await?)
    }

    /// Requeues a worker's jobs, then removes it from the registry. If this process ends in between, or a
    /// queue is unreachable, the call can be repeated.
    async fn take_back(
        &self,
        boot: &BootId,
        queues: &[QueueName],
        left: Option<&QueueName>,
        is_lost: bool,
    ) -> Result<u64> {
        // The lease first, which takes one call: a stopping worker may not have time to scan all claims.
        let mut results = Vec::new();
        for name in queues {
            results.push(self.queue(name).take_back_lease(boot, is_lost).await);
        }
        for name in queues {
            results.push(self.queue(name).take_back_singles(boot, is_lost).await);
        }
        let taken = all_done(results)?.into_iter().sum();
        let script = &self.inner.shared.scripts.worker_leave;
        self.registry(script, workers::leave_args(boot, left))
            .await?;
        Ok(taken)
    }
}
