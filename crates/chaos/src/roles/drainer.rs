//! Claims and completes until every job has ended.

use std::time::Duration;

use crate::event::Event;
use tokio::time::timeout;
use windlass_core::{BootId, ClaimRequest, Filter, JobLease, JobState, LeaseTime, Result};

use crate::roles::ActorContext;

/// The longest wait before the next claim; expired leases send no notification.
const WAIT_MAX: Duration = Duration::from_millis(50);

/// Drains the queue.
pub async fn run(context: ActorContext) -> Result<()> {
    let boot = BootId::generate();
    context.events.log(Event::Boot(boot.clone()));
    let mut watch = context
        .retry(|| context.store.watch(std::slice::from_ref(&context.queue)))
        .await?;
    let mut seq = 0;
    loop {
        seq += 1;
        context.events.log(Event::Claiming);
        let request = ClaimRequest::worker(boot.clone(), seq, 100)
            .lease(LeaseTime::nearest(context.lease.get() * 10));
        let claim = context
            .retry(|| context.store.claim(&context.queue, request.clone()))
            .await?;
        let Some(claim) = claim else {
            if is_empty(&context).await? {
                return Ok(());
            }
            // A notification or a timeout: claim again in both cases.
            let _ = timeout(WAIT_MAX, watch.next()).await;
            continue;
        };
        let mut leases = Vec::new();
        for job in claim.jobs {
            let lease = JobLease::new(job.id.clone(), claim.token);
            context.claimed(lease.clone(), &job);
            leases.push(lease);
        }
        complete(&context, leases).await?;
    }
}

/// Completes jobs in one call, and logs it.
pub async fn complete(context: &ActorContext, leases: Vec<JobLease>) -> Result<()> {
    for lease in &leases {
        context.events.log(Event::Completing(lease.clone()));
    }
    let completions: Vec<_> = leases
        .iter()
        .map(|lease| lease.clone().completion())
        .collect();
    let completed = context
        .retry(|| {
            context
                .store
                .complete(&context.queue, completions.clone(), None)
        })
        .await?;
    for (status, lease) in completed.statuses.into_iter().zip(leases) {
        context.events.log(Event::Outcome(status, lease));
    }
    Ok(())
}

async fn is_empty(context: &ActorContext) -> Result<bool> {
    for state in [JobState::Scheduled, JobState::Ready, JobState::Running] {
        let filter = Filter {
            state: Some(state),
            ..Filter::default()
        };
        let page = context
            .retry(|| context.store.list(&context.queue, &filter, None, 1))
            .await?;
        if !page.items.is_empty() {
            return Ok(false);
        }
    }
    Ok(true)
}
