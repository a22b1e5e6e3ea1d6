//! Reports outcomes of jobs, sometimes again with a token that is no longer valid.

use std::time::Duration;

use crate::event::Event;
use fastrand::Rng;
use windlass_core::{Due, JobLease, OutcomeStatus, Result, Retry};

use crate::roles::{ActorContext, drainer};

/// Reports a random outcome of one job, sometimes twice.
pub(super) async fn report(context: &ActorContext, rng: &mut Rng, lease: JobLease) -> Result<()> {
    match rng.u8(..20) {
        0 => fail(context, rng, &lease).await?,
        1 => release(context, &lease).await?,
        2 => snooze(context, rng, &lease).await?,
        _ => drainer::complete(context, vec![lease.clone()]).await?,
    }
    if rng.u8(..10) == 0 {
        // After a completion this is a repeat, after anything else the token is no longer valid.
        drainer::complete(context, vec![lease]).await?;
    }
    Ok(())
}

async fn fail(context: &ActorContext, rng: &mut Rng, lease: &JobLease) -> Result<()> {
    let failure = lease
        .clone()
        .failure("it did not work")
        .retry(Retry::At(shortly(rng)));
    let ActorContext { store, queue, .. } = context;
    let statuses = context
        .retry(|| store.fail(queue, vec![failure.clone()]))
        .await?;
    log(context, lease, &statuses);
    Ok(())
}

async fn release(context: &ActorContext, lease: &JobLease) -> Result<()> {
    let ActorContext { store, queue, .. } = context;
    let statuses = context
        .retry(|| store.release(queue, vec![lease.clone()]))
        .await?;
    log(context, lease, &statuses);
    Ok(())
}

async fn snooze(context: &ActorContext, rng: &mut Rng, lease: &JobLease) -> Result<()> {
    let snooze = lease.clone().snooze(shortly(rng));
    let ActorContext { store, queue, .. } = context;
    let statuses = context
        .retry(|| store.snooze(queue, vec![snooze.clone()]))
        .await?;
    log(context, lease, &statuses);
    Ok(())
}

fn log(context: &ActorContext, lease: &JobLease, statuses: &[OutcomeStatus]) {
    for status in statuses {
        context.events.log(Event::Outcome(*status, lease.clone()));
    }
}

fn shortly(rng: &mut Rng) -> Due {
    Due::After(Duration::from_millis(rng.u64(..100)))
}
