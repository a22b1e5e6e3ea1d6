//! Producers at a fixed rate and a worker at the same time.

use windlass::Result;

use crate::context::BenchContext;
use crate::load::{process, run_paced};
use crate::measure::{Round, real};

const JOBS_REDIS: u64 = 100_000;
const JOBS_SQLITE: u64 = 20_000;

pub(super) async fn round(context: &BenchContext<'_>) -> Result<Round> {
    let jobs = context.jobs_or(JOBS_REDIS, JOBS_SQLITE);
    let rate = match context.plan.rate {
        Some(rate) => rate.into(),
        None => default_rate(context, jobs).await?,
    };
    let url = context.target.fresh().await?;
    let probe = context.probe().await?;
    context.progress.begin("end-to-end", jobs);
    let before = probe.read().await?;
    let waits = run_paced(context, &url, jobs, rate).await?;
    let cost = probe.since(&before, jobs).await?;
    let mut round = Round::default();
    round.record("rate_per_s", rate);
    waits.record_to(&mut round, "wait_ms");
    cost.record_to(&mut round);
    Ok(round)
}

/// Half the throughput of the worker without concurrent enqueues.
async fn default_rate(context: &BenchContext<'_>, jobs: u64) -> Result<f64> {
    let url = context.target.fresh().await?;
    context.progress.begin("measuring the rate", jobs);
    context.fill(&url, jobs).await?;
    let took = process(context, &url, jobs).await?;
    Ok(real(jobs) / took.as_secs_f64() / 2.0)
}
