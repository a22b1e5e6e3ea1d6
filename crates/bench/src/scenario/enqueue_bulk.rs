//! Batches from several concurrent producers, and the memory per waiting job.

use windlass::{NewJob, Result};

use crate::bare::{Bare, PIPELINED};
use crate::context::BenchContext;
use crate::load::{enqueue_bulk, payload};
use crate::measure::{Round, real};

const JOBS_REDIS: u64 = 200_000;
const JOBS_SQLITE: u64 = 50_000;

pub(super) async fn round(context: &BenchContext<'_>) -> Result<Round> {
    let jobs = context.jobs_or(JOBS_REDIS, JOBS_SQLITE);
    let url = context.target.fresh().await?;
    context.progress.begin("enqueue-bulk", jobs);
    let (mut one, mut four) = (None, None);
    if let Some(mut bare) = Bare::open(context.target, context.plan, context.tasks).await? {
        one = bare.enqueue(jobs, context.plan.batch, 1).await?;
        bare.clear().await?;
        four = bare.enqueue(jobs, context.plan.batch, PIPELINED).await?;
        bare.clear().await?;
    }
    let client = context.client(&url).await?;
    let probe = context.probe().await?;
    if let Some(server) = &probe.server {
        server.wait_until_freed().await?;
    }
    let before = probe.read().await?;
    let body = payload(context.plan.payload);
    let took = enqueue_bulk(context, &client, jobs, move |_| NewJob::new(body.clone())).await?;
    let cost = probe.since(&before, jobs).await?;

    let mut round = Round::compared(real(jobs) / took.as_secs_f64(), one, four);
    cost.record_to(&mut round);
    round.record_some("bytes_per_job", cost.bytes);
    Ok(round)
}
