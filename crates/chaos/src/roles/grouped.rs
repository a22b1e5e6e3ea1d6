//! Runs short jobs of groups. An effect is logged while the job still holds its slot.

use std::time::Duration;

use clap::Args;
use tokio::time::sleep;
use windlass_core::store::Retry;
use windlass_core::{Claim, ClaimRequest, Clock, Due, JobLease, Result, SystemClock};

use crate::event::Event;
use crate::roles::stop::Stop;
use crate::roles::{ActorContext, drainer};

/// How long a claim waits.
const WAIT: Duration = Duration::from_millis(100);

/// How long a failed job waits for its retry.
const RETRY_AFTER: Duration = Duration::from_millis(20);

/// What the role does.
#[derive(Debug, Clone, Args)]
pub struct Arguments {
    /// Jobs per claim, at most
    #[arg(long, default_value_t = 4)]
    max: usize,

    /// The longest time a job takes, in milliseconds
    #[arg(long, default_value_t = 20)]
    work_ms: u64,

    /// Attempts that fail, in percent
    #[arg(long, default_value_t = 5)]
    fail: u8,

    /// Release jobs instead of failing them
    #[arg(long)]
    release: bool,
}

/// Works until asked to stop.
pub async fn run(context: ActorContext, arguments: Arguments, stop: &Stop) -> Result<()> {
    context.events.log(Event::Ready);
    while !stop.is_requested() {
        let max = fastrand::usize(1..=arguments.max);
        let mut request = ClaimRequest::single(max).lease(context.lease);
        let call = context
            .store
            .claim_waiting(&context.queue, &mut request, WAIT);
        if let Some(Some(claim)) = context.wait(WAIT, call).await? {
            run_jobs(&context, &arguments, claim).await?;
        }
    }
    Ok(())
}

async fn run_jobs(context: &ActorContext, arguments: &Arguments, claim: Claim) -> Result<()> {
    let leases = claim.jobs.into_iter().map(|job| job.id);
    let leases: Vec<_> = leases.map(|id| JobLease::new(id, claim.token)).collect();
    for lease in &leases {
        context.events.log(Event::Claimed(lease.clone()));
    }
    for lease in leases {
        sleep(Duration::from_micros(fastrand::u64(
            ..=arguments.work_ms * 1000,
        )))
        .await;
        let (store, queue) = (&context.store, &context.queue);
        if fastrand::u8(..100) >= arguments.fail {
            let now_us = SystemClock.now_us();
            context.events.log(Event::Effect(lease.clone(), now_us));
            drainer::complete(context, vec![lease]).await?;
        } else if arguments.release {
            let leases = vec![lease];
            context
                .retry(|| store.release(queue, leases.clone()))
                .await?;
        } else {
            let retry = Retry::At(Due::After(RETRY_AFTER));
            let failures = vec![lease.failure("it failed").retry(retry)];
            context
                .retry(|| store.fail(queue, failures.clone()))
                .await?;
        }
    }
    Ok(())
}
