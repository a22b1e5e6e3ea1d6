//! Reports outcomes of jobs, sometimes again with a token that is no longer valid.

use std::time::Duration;

use crate::event::Event;
use fastrand::Rng;
use windlass_core::store::Retry;
use windlass_core::{Due, JobLease, OutcomeStatus, Result};

use crate::roles::{ActorContext, drainer};

/// Reports a random outcome of one job, sometimes twice.
pub(super) async fn report(context: &ActorContext, rng: &mut Rng, lease: JobLease) -> Result<()> {
    let ActorContext { store, queue, .. } = context;
    let again = || lease.clone();
    match rng.u8(..20) {
        0 => {
            let retry = Retry::At(shortly(rng));
            let failure = again().failure("it did not work").retry(retry);
            logged(context, &lease, || store.fail(queue, vec![failure.clone()])).await?;
        }
        1 => logged(context, &lease, || store.release(queue, vec![again()])).await?,
        2 => {
            let snooze = again().snooze(shortly(rng));
            logged(context, &lease, || {
                store.snooze(queue, vec![snooze.clone()])
            })
            .await?;
        }
        _ => drainer::complete(context, vec![again()]).await?,
    }
    if rng.u8(..10) == 0 {
        // After a completion this is a repeat, after anything else the token is no longer valid.
        drainer::complete(context, vec![lease]).await?;
    }
    Ok(())
}

/// Reports an outcome and logs its status.
async fn logged<F>(context: &ActorContext, lease: &JobLease, call: impl Fn() -> F) -> Result<()>
where
    F: Future<Output = Result<Vec<OutcomeStatus>>>,
{
    for status in context.retry(call).await? {
        context.events.log(Event::Outcome(status, lease.clone()));
    }
    Ok(())
}

fn shortly(rng: &mut Rng) -> Due {
    Due::After(Duration::from_millis(rng.u64(..100)))
}
