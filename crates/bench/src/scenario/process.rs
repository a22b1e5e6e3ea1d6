//! No-op jobs through the real worker, compared with the bare engine.

use windlass::Result;

use crate::bare::{Bare, PIPELINED};
use crate::context::BenchContext;
use crate::load::process;
use crate::measure::{Round, real};

const JOBS_REDIS: u64 = 200_000;
const JOBS_SQLITE: u64 = 50_000;

pub(super) async fn round(context: &BenchContext<'_>) -> Result<Round> {
    let jobs = context.jobs_or(JOBS_REDIS, JOBS_SQLITE);
    let url = context.target.fresh().await?;
    context.progress.begin("process", jobs);
    let (mut one, mut four) = (None, None);
    if let Some(mut bare) = Bare::open(context.target, context.plan, context.tasks).await? {
        bare.enqueue(jobs, context.plan.batch, 1).await?;
        one = bare.drain(context.plan.batch, 1).await?;
        if context.is_redis() {
            bare.enqueue(jobs, context.plan.batch, 1).await?;
            four = bare.drain(context.plan.batch, PIPELINED).await?;
        }
        bare.clear().await?;
    }
    context.fill(&url, jobs).await?;
    let probe = context.probe().await?;
    let before = probe.read().await?;
    let took = process(context, &url, jobs).await?;
    let cost = probe.since(&before, jobs).await?;

    let mut round = Round::compared(real(jobs) / took.as_secs_f64(), one, four);
    cost.record_to(&mut round);
    Ok(round)
}
