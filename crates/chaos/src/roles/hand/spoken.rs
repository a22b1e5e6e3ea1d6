//! A store that says aloud what it hands out and how it answers; all else it passes on.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use windlass_core::{
    Audited, BootId, Changes, Claim, ClaimRequest, Completed, Completion, Cursor, Enqueued,
    Failure, Filter, Heartbeat, Job, JobId, JobLease, LeaseStatus, Limits, Maintained, NewJob,
    NewWorker, OutcomeStatus, Page, QueueName, Renewal, Renewed, Result, Setting, Settings, Snooze,
    Stats, Store, Target, Watch, WorkerCommand, WorkerRecord,
};

use crate::event::Event;
use crate::roles::voice::Voice;

/// The store of a hand.
#[derive(Debug)]
pub(super) struct Spoken {
    store: Arc<dyn Store>,
    voice: Voice,
    /// How long a completion is on its way.
    delay: Duration,
}

impl Spoken {
    pub(super) fn of(store: Arc<dyn Store>, voice: &Voice, delay: Duration) -> Arc<dyn Store> {
        let voice = voice.clone();
        Arc::new(Self {
            store,
            voice,
            delay,
        })
    }

    fn claimed(&self, claim: Option<&Claim>) {
        for (job, claim) in claim
            .iter()
            .flat_map(|c| c.jobs.iter().map(move |j| (j, c)))
        {
            let hold = JobLease::new(job.id.clone(), claim.token);
            self.voice.say(Event::Claimed(hold));
        }
    }

    fn told(&self, holds: Vec<JobLease>, settled: &[OutcomeStatus]) {
        for (hold, how) in holds.into_iter().zip(settled) {
            self.voice.say(Event::Told(*how, hold));
        }
    }

    fn heard<T>(&self, answer: Result<T>) -> Result<T> {
        if let Err(error) = &answer {
            self.voice.trouble(error);
        }
        answer
    }
}

fn holds<T>(items: &[T], hold: impl Fn(&T) -> &JobLease) -> Vec<JobLease> {
    items.iter().map(|item| hold(item).clone()).collect()
}

#[async_trait]
impl Store for Spoken {
    async fn claim(&self, queue: &QueueName, request: ClaimRequest) -> Result<Option<Claim>> {
        self.voice.say(Event::Claiming);
        let claim = self.heard(self.store.claim(queue, request).await)?;
        self.claimed(claim.as_ref());
        Ok(claim)
    }

    async fn claim_waiting(
        &self,
        queue: &QueueName,
        request: &mut ClaimRequest,
        wait: Duration,
    ) -> Result<Option<Claim>> {
        self.voice.say(Event::Claiming);
        let claim = self.heard(self.store.claim_waiting(queue, request, wait).await)?;
        self.claimed(claim.as_ref());
        Ok(claim)
    }

    async fn renew(&self, queue: &QueueName, renewal: Renewal, lease: Duration) -> Result<Renewed> {
        let tokens = match &renewal {
            Renewal::Worker { tokens, .. } => tokens.clone(),
            Renewal::Single { token } => vec![*token],
        };
        self.voice.say(Event::Renewing);
        let renewed = self.heard(self.store.renew(queue, renewal, lease).await)?;
        let is_held = |token: &&_| renewed.until.is_some() && !renewed.lost.contains(token);
        for token in tokens.iter().filter(is_held) {
            self.voice.say(Event::Renewed(*token));
        }
        Ok(renewed)
    }

    async fn complete(
        &self,
        queue: &QueueName,
        completions: Vec<Completion>,
        next: Option<ClaimRequest>,
    ) -> Result<Completed> {
        let holds = holds(&completions, |item| &item.lease);
        if next.is_some() {
            self.voice.say(Event::Claiming);
        }
        if !self.delay.is_zero() {
            tokio::time::sleep(self.delay).await;
        }
        let completed = self.heard(self.store.complete(queue, completions, next).await)?;
        self.told(holds, &completed.statuses);
        self.claimed(completed.next.as_ref());
        Ok(completed)
    }

    async fn fail(&self, queue: &QueueName, failures: Vec<Failure>) -> Result<Vec<OutcomeStatus>> {
        let holds = holds(&failures, |item| &item.lease);
        let settled = self.heard(self.store.fail(queue, failures).await)?;
        self.told(holds, &settled);
        Ok(settled)
    }

    async fn release(&self, queue: &QueueName, items: Vec<JobLease>) -> Result<Vec<OutcomeStatus>> {
        let holds = items.clone();
        let settled = self.heard(self.store.release(queue, items).await)?;
        self.told(holds, &settled);
        Ok(settled)
    }

    async fn snooze(&self, queue: &QueueName, snoozes: Vec<Snooze>) -> Result<Vec<OutcomeStatus>> {
        let holds = holds(&snoozes, |item| &item.lease);
        let settled = self.heard(self.store.snooze(queue, snoozes).await)?;
        self.told(holds, &settled);
        Ok(settled)
    }

    async fn enqueue(&self, queue: &QueueName, jobs: Vec<NewJob>) -> Result<Vec<Enqueued>> {
        self.store.enqueue(queue, jobs).await
    }

    async fn accept(
        &self,
        queue: &QueueName,
        hold: JobLease,
        lease: Duration,
    ) -> Result<LeaseStatus> {
        self.store.accept(queue, hold, lease).await
    }

    async fn progress(
        &self,
        queue: &QueueName,
        hold: JobLease,
        fraction: f64,
        message: Option<String>,
    ) -> Result<LeaseStatus> {
        self.store.progress(queue, hold, fraction, message).await
    }

    async fn cancel(
        &self,
        queue: &QueueName,
        target: &Target,
        from: Option<Cursor>,
    ) -> Result<Changes> {
        self.store.cancel(queue, target, from).await
    }

    async fn retry(
        &self,
        queue: &QueueName,
        target: &Target,
        from: Option<Cursor>,
    ) -> Result<Changes> {
        self.store.retry(queue, target, from).await
    }

    async fn delete(
        &self,
        queue: &QueueName,
        target: &Target,
        from: Option<Cursor>,
    ) -> Result<Changes> {
        self.store.delete(queue, target, from).await
    }

    async fn promote(
        &self,
        queue: &QueueName,
        target: &Target,
        from: Option<Cursor>,
    ) -> Result<Changes> {
        self.store.promote(queue, target, from).await
    }

    async fn purge(&self, queue: &QueueName) -> Result<u64> {
        self.store.purge(queue).await
    }

    async fn maintain(&self, queue: &QueueName, limit: usize) -> Result<Maintained> {
        self.store.maintain(queue, limit).await
    }

    async fn audit(&self, queue: &QueueName, from: Option<Cursor>) -> Result<Audited> {
        self.store.audit(queue, from).await
    }

    async fn pause(&self, queue: &QueueName) -> Result<()> {
        self.store.pause(queue).await
    }

    async fn resume(&self, queue: &QueueName) -> Result<()> {
        self.store.resume(queue).await
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

    async fn get(&self, queue: &QueueName, id: &JobId) -> Result<Option<Job>> {
        self.store.get(queue, id).await
    }

    async fn list(
        &self,
        queue: &QueueName,
        filter: &Filter,
        from: Option<Cursor>,
        limit: usize,
    ) -> Result<Page<Job>> {
        self.store.list(queue, filter, from, limit).await
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
