//! Fires and completes the jobs of schedules, and refills them, like a worker.

use std::time::Duration;

use tokio::time::Instant;
use windlass_core::limits::PAGE;
use windlass_core::{ClaimRequest, JobLease, Result};

use crate::event::Event;
use crate::roles::stop::Stop;
use crate::roles::{ActorContext, drainer};

/// How long a claim waits.
const WAIT: Duration = Duration::from_millis(100);

/// How often it does maintenance.
const MAINTAIN_EVERY: Duration = Duration::from_millis(250);

/// Works until asked to stop.
pub async fn run(context: ActorContext, stop: &Stop) -> Result<()> {
    context.events.log(Event::Ready);
    let mut maintain_at = Instant::now();
    while !stop.is_requested() {
        if Instant::now() >= maintain_at {
            maintain_at = Instant::now() + MAINTAIN_EVERY;
            let (store, queue) = (context.store.as_ref(), &context.queue);
            let call = windlass_schedule::maintain(store, queue, PAGE);
            context.once(call).await?;
        }
        let mut request = ClaimRequest::single(50).lease(context.lease);
        let call = context
            .store
            .claim_waiting(&context.queue, &mut request, WAIT);
        let Some(Some(claim)) = context.wait(WAIT, call).await? else {
            continue;
        };
        let mut leases = Vec::new();
        for job in claim.jobs {
            let created_ms = job.created_at.as_ms();
            context.events.log(Event::Fired(job.id.clone(), created_ms));
            leases.push(JobLease::new(job.id, claim.token));
        }
        drainer::complete(&context, leases).await?;
    }
    Ok(())
}
