//! Waits for jobs one by one, like an idle worker, alone or among many in one process.

use std::time::Duration;

use crate::event::Event;
use clap::Args;
use tokio::task::JoinSet;
use tokio::time::sleep;
use windlass_core::{ClaimRequest, Error, ErrorKind, JobLease, LeaseTime, Result};

use crate::roles::stop::Stop;
use crate::roles::{ActorContext, drainer};

/// Longer than any test, so that a wait ends only with a job.
const WAIT: Duration = Duration::from_secs(300);

/// How long one of many waits before it looks whether to stop.
const ROUND: Duration = Duration::from_millis(1_500);

/// The shortest lease of one of many. They do not renew, and one of hundreds may get no time on a busy
/// machine for longer than the lease of a worker: their jobs would die without a fault.
const LEASE_MIN: LeaseTime = LeaseTime::nearest(Duration::from_secs(3));

/// The longest that one of many works on a job.
const WORK_MAX_MS: u64 = 20;

/// Arguments of many waiters.
#[derive(Debug, Args)]
pub struct Arguments {
    /// How many wait at the same time
    #[arg(long)]
    pub count: usize,
}

/// Waits, completes, and waits again, until it is killed.
pub async fn run(context: ActorContext) -> Result<()> {
    loop {
        context.events.log(Event::Ready);
        let mut request = ClaimRequest::single(1);
        let claim = context
            .store
            .claim_waiting(&context.queue, &mut request, WAIT)
            .await?;
        let Some(claim) = claim else { continue };
        for job in claim.jobs {
            let lease = JobLease::new(job.id, claim.token);
            context.events.log(Event::Claimed(lease.clone()));
            drainer::complete(&context, vec![lease]).await?;
        }
    }
}

/// Waits `count` times at the same time, until asked to stop.
pub async fn many(context: ActorContext, arguments: Arguments, stop: &Stop) -> Result<()> {
    let mut waiters = JoinSet::new();
    for _ in 0..arguments.count {
        waiters.spawn(one_of_many(context.clone(), stop.clone()));
    }
    let lost =
        |error| Error::new(ErrorKind::Internal, "a waiter was lost", "report it").caused_by(error);
    while let Some(ended) = waiters.join_next().await {
        ended.map_err(lost)??;
    }
    Ok(())
}

async fn one_of_many(context: ActorContext, stop: Stop) -> Result<()> {
    let lease = context.lease.max(LEASE_MIN);
    while !stop.is_requested() {
        let mut request = ClaimRequest::single(1).lease(lease);
        let call = context
            .store
            .claim_waiting(&context.queue, &mut request, ROUND);
        let Some(Some(claim)) = context.wait(ROUND, call).await? else {
            continue;
        };
        for job in claim.jobs {
            let lease = JobLease::new(job.id.clone(), claim.token);
            context.claimed(lease.clone(), &job);
            sleep(Duration::from_millis(fastrand::u64(..WORK_MAX_MS))).await;
            drainer::complete(&context, vec![lease]).await?;
        }
    }
    Ok(())
}
