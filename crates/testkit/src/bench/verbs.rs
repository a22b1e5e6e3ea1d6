//! The verbs as cases mostly use them: one job, the case's queue, the default lease.

use windlass_core::limits::{LEASE_DEFAULT, PAGE};
use windlass_core::{
    BootId, Changed, ChangedJob, Claim, ClaimRequest, Completed, Due, Enqueued, Filter, Hold, Job,
    JobState, Maintained, NewJob, Renewal, Renewed, Result, Retry, Settings, Settled, Target,
    Token,
};

use super::{Bench, id, ids, named};
use crate::whole;

impl Bench {
    /// Enqueues one job.
    pub async fn enqueue(&self, job: NewJob) -> Result<Enqueued> {
        let mut answers = self.enqueue_all(vec![job]).await?;
        Ok(answers.remove(0))
    }

    /// Enqueues a batch; each job has its answer.
    pub async fn enqueue_all(&self, jobs: Vec<NewJob>) -> Result<Vec<Enqueued>> {
        let count = jobs.len();
        let answers = self.store.enqueue(&self.queue, jobs).await?;
        assert_eq!(answers.len(), count, "enqueue answers once per job");
        Ok(answers)
    }

    /// Enqueues jobs whose ids and payloads are their names.
    pub async fn fill(&self, names: &[&str]) -> Result<()> {
        let answers = self
            .enqueue_all(names.iter().copied().map(named).collect())
            .await?;
        assert!(
            answers.iter().all(|answer| !answer.is_duplicate()),
            "{answers:?}"
        );
        Ok(())
    }

    /// Claims under a lease of its own.
    pub async fn claim(&self, max: usize) -> Result<Option<Claim>> {
        self.store
            .claim(&self.queue, ClaimRequest::single(max))
            .await
    }

    /// Claims as a worker.
    pub async fn claim_as(&self, boot: &BootId, seq: u64, max: usize) -> Result<Option<Claim>> {
        self.store
            .claim(&self.queue, ClaimRequest::worker(boot.clone(), seq, max))
            .await
    }

    /// Claims under a lease of its own, where there is something to claim.
    pub async fn take(&self, max: usize) -> Result<Claim> {
        Ok(self
            .claim(max)
            .await?
            .expect("the queue has a job to hand out"))
    }

    /// Claims as a worker, where there is something to claim.
    pub async fn take_as(&self, boot: &BootId, seq: u64, max: usize) -> Result<Claim> {
        Ok(self
            .claim_as(boot, seq, max)
            .await?
            .expect("the queue has a job to hand out"))
    }

    /// The ids that one claim hands out.
    pub async fn next(&self, max: usize) -> Result<Vec<String>> {
        let claim = self.claim(max).await?;
        Ok(claim.map_or_else(Vec::new, |claim| {
            ids(&claim).into_iter().map(str::to_owned).collect()
        }))
    }

    /// Completes one job without a result.
    pub async fn complete(&self, hold: Hold) -> Result<Settled> {
        let answer = self.complete_all(vec![hold]).await?;
        Ok(answer.settled[0])
    }

    /// Completes jobs without results.
    pub async fn complete_all(&self, holds: Vec<Hold>) -> Result<Completed> {
        let completions = holds.into_iter().map(Hold::completion).collect();
        self.store.complete(&self.queue, completions, None).await
    }

    /// Completes one job that leaves `result`.
    pub async fn complete_with(&self, hold: Hold, result: &'static str) -> Result<Settled> {
        let completions = vec![hold.completion().result(result)];
        Ok(self
            .store
            .complete(&self.queue, completions, None)
            .await?
            .settled[0])
    }

    /// Fails one job.
    pub async fn fail(&self, hold: Hold, retry: Retry) -> Result<Settled> {
        let failures = vec![hold.failure("it broke").retry(retry)];
        Ok(self.store.fail(&self.queue, failures).await?[0])
    }

    /// Releases one job.
    pub async fn release(&self, hold: Hold) -> Result<Settled> {
        Ok(self.store.release(&self.queue, vec![hold]).await?[0])
    }

    /// Snoozes one job.
    pub async fn snooze(&self, hold: Hold, due: Due) -> Result<Settled> {
        Ok(self
            .store
            .snooze(&self.queue, vec![hold.snooze(due)])
            .await?[0])
    }

    /// Renews the lease that a token is under.
    pub async fn renew(&self, token: Token) -> Result<Renewed> {
        self.store
            .renew(&self.queue, Renewal::Single { token }, LEASE_DEFAULT)
            .await
    }

    /// Renews what a worker knows of.
    pub async fn renew_as(&self, boot: &BootId, tokens: &[Token], settled: u64) -> Result<Renewed> {
        let renewal = Renewal::Worker {
            boot: boot.clone(),
            tokens: tokens.to_vec(),
            settled,
        };
        self.store.renew(&self.queue, renewal, LEASE_DEFAULT).await
    }

    /// One light clean of a whole page.
    pub async fn maintain(&self) -> Result<Maintained> {
        self.store.maintain(&self.queue, PAGE).await
    }

    /// Changes a setting, written `name=value`.
    pub async fn set(&self, setting: &str) -> Result<Settings> {
        self.store.set(&self.queue, vec![setting.parse()?]).await
    }

    /// Cancels the job `name`.
    pub async fn cancel(&self, name: &str) -> Result<Changed> {
        let changes = self.store.cancel(&self.queue, &one(name), None).await?;
        Ok(only(changes.items))
    }

    /// Retries the job `name`.
    pub async fn retry(&self, name: &str) -> Result<Changed> {
        let changes = self.store.retry(&self.queue, &one(name), None).await?;
        Ok(only(changes.items))
    }

    /// Deletes the job `name`.
    pub async fn delete(&self, name: &str) -> Result<Changed> {
        let changes = self.store.delete(&self.queue, &one(name), None).await?;
        Ok(only(changes.items))
    }

    /// Promotes the job `name`.
    pub async fn promote(&self, name: &str) -> Result<Changed> {
        let changes = self.store.promote(&self.queue, &one(name), None).await?;
        Ok(only(changes.items))
    }

    /// What is known of the job `name`.
    pub async fn get(&self, name: &str) -> Result<Option<Job>> {
        self.store.get(&self.queue, &id(name)).await
    }

    /// What is known of the job `name`, which is stored.
    pub async fn job(&self, name: &str) -> Result<Job> {
        let job = self.get(name).await?;
        Ok(job.unwrap_or_else(|| panic!("{name} is stored")))
    }

    /// The state of the job `name`, where it is stored.
    pub async fn state(&self, name: &str) -> Result<Option<JobState>> {
        Ok(self.get(name).await?.map(|job| job.state))
    }

    /// Every job a filter matches, over as many pages of `limit` as it takes.
    pub async fn list(&self, filter: &Filter, limit: usize) -> Result<Vec<Job>> {
        whole::list(self.store.as_ref(), &self.queue, filter, limit).await
    }

    /// Brings a fresh job `name` to its death by a permanent failure; the queue holds no other
    /// job that could be claimed.
    pub async fn kill(&self, job: NewJob) -> Result<()> {
        self.enqueue(job).await?;
        let claim = self.take(1).await?;
        let settled = self.fail(super::hold(&claim, 0), Retry::Permanent).await?;
        assert_eq!(settled, Settled::Dead);
        Ok(())
    }
}

fn one(name: &str) -> Target {
    Target::Ids(vec![id(name)])
}

fn only(mut items: Vec<ChangedJob>) -> Changed {
    assert_eq!(items.len(), 1, "one id has one answer: {items:?}");
    items.remove(0).changed
}
