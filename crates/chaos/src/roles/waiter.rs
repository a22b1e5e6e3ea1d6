//! Waits for jobs one by one, like an idle worker, until it is killed.

use std::time::Duration;

use crate::event::Event;
use windlass_core::{ClaimRequest, JobLease, Result};

use crate::roles::{ActorContext, drainer};

/// Longer than any test, so that a wait ends only with a job.
const WAIT: Duration = Duration::from_secs(300);

/// Waits, completes, and waits again.
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
