//! One operation of a run: a call with its arguments, so that it can run on both stores and be repeated.

use std::time::Duration;

use windlass_core::store::{
    Completion, Failure, Fingerprint, Fraction, GroupChange, GroupName, Heartbeat, NewWorker,
    Refill, Run, ScheduleChange, Setting, SnoozeScope, WorkerCommand,
};
use windlass_core::{
    BootId, Change, ClaimRequest, Due, Filter, JobId, JobLease, LeaseTime, ManualClock, NewJob,
    QueueName, Renewal, Result, Schedule, ScheduleName, Store, Target,
};

use super::reply::Reply;
use crate::paging;

/// An operation.
#[derive(Debug, Clone)]
pub(super) enum Operation {
    Clock(Movement),
    Enqueue(QueueName, Vec<NewJob>),
    Claim(QueueName, ClaimRequest),
    Accept(QueueName, JobLease, LeaseTime),
    Renew(QueueName, Renewal, LeaseTime),
    Progress(QueueName, JobLease, Fraction, Option<String>),
    Complete(QueueName, Vec<Completion>, Option<ClaimRequest>),
    Fail(QueueName, Vec<Failure>),
    Release(QueueName, Vec<JobLease>),
    Snooze(QueueName, Vec<JobLease>, Due, SnoozeScope),
    Change(QueueName, Change, Target),
    Purge(QueueName),
    DeleteQueue(QueueName),
    Maintain(QueueName, usize),
    Audit(QueueName),
    SetPaused(QueueName, bool),
    PutSchedule(QueueName, Box<Schedule>, Option<bool>),
    Refill(QueueName, Vec<Refill>),
    RunSchedule(QueueName, ScheduleName, Run),
    ChangeSchedule(QueueName, ScheduleName, ScheduleChange),
    Schedule(QueueName, ScheduleName),
    Schedules(QueueName, usize),
    SetGroup(QueueName, GroupName, GroupChange),
    Group(QueueName, GroupName),
    Groups(QueueName, usize),
    Errors(QueueName),
    ClearError(QueueName, Fingerprint),
    Set(QueueName, Setting),
    Settings(QueueName),
    Stats(QueueName),
    History(QueueName, u32),
    Get(QueueName, JobId),
    Explain(QueueName, JobId),
    List(QueueName, Filter, usize),
    Queues,
    Register(NewWorker),
    Heartbeat(Heartbeat),
    Leave(BootId, Option<QueueName>),
    FailWorker(BootId),
    Command(BootId, WorkerCommand),
    Workers,
}

/// A movement of the clock.
#[derive(Debug, Clone, Copy)]
pub(super) enum Movement {
    Forward(Duration),
    Back(Duration),
}

impl Movement {
    pub(super) fn apply(self, clock: &ManualClock) {
        match self {
            Self::Forward(by) => clock.advance(by),
            Self::Back(by) => clock.step_back(by),
        }
    }
}

impl Operation {
    /// Runs the operation. An error is a reply as well.
    pub(super) async fn apply(&self, store: &dyn Store) -> Reply {
        self.call(store)
            .await
            .unwrap_or_else(|error| Reply::Error(error.kind()))
    }

    async fn call(&self, store: &dyn Store) -> Result<Reply> {
        Ok(match self.clone() {
            Self::Enqueue(queue, jobs) => Reply::enqueued(store.enqueue(&queue, jobs).await?),
            Self::Claim(queue, request) => Reply::Claim(store.claim(&queue, request).await?),
            Self::Accept(queue, job_lease, lease) => {
                Reply::LeaseStatus(store.accept(&queue, job_lease, lease).await?)
            }
            Self::Renew(queue, renewal, lease) => {
                Reply::Renewed(store.renew(&queue, renewal, lease).await?)
            }
            Self::Progress(queue, lease, fraction, message) => {
                Reply::LeaseStatus(store.progress(&queue, lease, fraction, message).await?)
            }
            Self::Complete(queue, completions, next) => {
                Reply::Completed(store.complete(&queue, completions, next).await?)
            }
            Self::Fail(queue, failures) => {
                Reply::OutcomeStatus(store.fail(&queue, failures).await?)
            }
            Self::Release(queue, leases) => {
                Reply::OutcomeStatus(store.release(&queue, leases).await?)
            }
            Self::Snooze(queue, leases, due, scope) => {
                let snooze = |lease: JobLease| lease.snooze(due).scope(scope);
                let snoozes = leases.into_iter().map(snooze).collect();
                Reply::OutcomeStatus(store.snooze(&queue, snoozes).await?)
            }
            Self::Change(queue, change, target) => {
                change_all(store, &queue, change, &target).await?
            }
            other => return other.operate(store).await,
        })
    }

    /// Operator and worker calls.
    async fn operate(self, store: &dyn Store) -> Result<Reply> {
        Ok(match self {
            Self::Purge(queue) => purge_all(store, &queue).await?,
            Self::DeleteQueue(queue) => Reply::Deletion(store.delete_queue(&queue).await?),
            Self::Maintain(queue, limit) => Reply::maintained(store.maintain(&queue, limit).await?),
            Self::Audit(queue) => {
                let (checked, repairs) = paging::audit(store, &queue).await?;
                Reply::Audited(checked, repairs)
            }
            Self::SetPaused(queue, is_paused) => {
                Reply::done(store.set_paused(&queue, is_paused).await?)
            }
            Self::SetGroup(queue, group, change) => {
                Reply::Groups(vec![store.set_group(&queue, &group, change).await?])
            }
            Self::Group(queue, group) => {
                Reply::Groups(store.group(&queue, &group).await?.into_iter().collect())
            }
            Self::Groups(queue, limit) => {
                Reply::Groups(paging::groups(store, &queue, limit).await?)
            }
            Self::Errors(queue) => Reply::Errors(store.error_groups(&queue).await?),
            Self::ClearError(queue, group) => {
                Reply::KnownClaim(store.clear_error_group(&queue, group).await?)
            }
            Self::Set(queue, setting) => Reply::Settings(store.set(&queue, vec![setting]).await?),
            Self::Settings(queue) => Reply::Settings(store.settings(&queue).await?),
            Self::Stats(queue) => Reply::stats(store.stats(&queue).await?),
            Self::History(queue, minutes) => Reply::History(store.history(&queue, minutes).await?),
            Self::Get(queue, id) => Reply::Job(store.get(&queue, &id).await?.map(Box::new)),
            Self::Explain(queue, id) => Reply::Explained(store.explain(&queue, &id).await?),
            Self::List(queue, filter, limit) => list_all(store, &queue, &filter, limit).await?,
            Self::Queues => Reply::Queues(store.queues().await?),
            Self::PutSchedule(queue, schedule, is_paused) => {
                Reply::Put(store.put_schedule(&queue, *schedule, is_paused).await?)
            }
            Self::Refill(queue, refills) => {
                Reply::done(store.refill_schedules(&queue, refills).await?)
            }
            Self::RunSchedule(queue, name, run) => {
                Reply::ran(store.run_schedule(&queue, &name, run).await?)
            }
            Self::ChangeSchedule(queue, name, change) => {
                Reply::KnownClaim(store.change_schedule(&queue, &name, change).await?)
            }
            Self::Schedule(queue, name) => {
                Reply::Schedules(store.schedule(&queue, &name).await?.into_iter().collect())
            }
            Self::Schedules(queue, limit) => {
                Reply::Schedules(paging::schedules(store, &queue, limit).await?)
            }
            Self::Register(worker) => Reply::done(store.register(worker).await?),
            Self::Heartbeat(heartbeat) => Reply::Command(store.heartbeat(heartbeat).await?),
            Self::Leave(boot, queue) => Reply::Count(store.leave(&boot, queue.as_ref()).await?),
            Self::FailWorker(boot) => Reply::Failed(store.fail_worker(&boot).await?),
            Self::Command(boot, command) => Reply::KnownClaim(store.command(&boot, command).await?),
            Self::Workers => Reply::Workers(store.workers().await?),
            _ => Reply::Nothing,
        })
    }
}

/// Purges all pages. Stores may choose different jobs for each page.
async fn purge_all(store: &dyn Store, queue: &QueueName) -> Result<Reply> {
    let mut removed = 0;
    loop {
        let page = store.purge(queue).await?;
        removed += page;
        if page == 0 {
            return Ok(Reply::Count(removed));
        }
    }
}

/// Changes all pages. Pages of different stores may end at different jobs.
async fn change_all(
    store: &dyn Store,
    queue: &QueueName,
    change: Change,
    target: &Target,
) -> Result<Reply> {
    let mut changes = Vec::new();
    let mut from = None;
    loop {
        let page = store.change(queue, change, target, from).await?;
        changes.extend(page.items);
        from = page.next;
        if from.is_none() {
            break;
        }
    }
    if !matches!(target, Target::Ids(_)) {
        changes.sort_by(|a, b| a.id.cmp(&b.id));
    }
    Ok(Reply::Changes(changes))
}

async fn list_all(
    store: &dyn Store,
    queue: &QueueName,
    filter: &Filter,
    limit: usize,
) -> Result<Reply> {
    let mut jobs = paging::list(store, queue, filter, limit).await?;
    jobs.sort_by(|a, b| a.id.cmp(&b.id));
    Ok(Reply::Jobs(jobs))
}
