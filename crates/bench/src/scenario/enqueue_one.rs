//! One job per call from 100 concurrent tasks; the store batches waiting calls.

use windlass::Result;

use crate::bare::Bare;
use crate::context::BenchContext;
use crate::load::{SINGLE_CALLERS, enqueue_singly};
use crate::measure::{Round, over, real};

const JOBS_REDIS: u64 = 100_000;
const JOBS_SQLITE: u64 = 20_000;

/// Limit for bare transactions, each of which waits for the disk.
const BARE_SQLITE_MAX: u64 = 2_000;

pub(super) async fn round(context: &BenchContext<'_>) -> Result<Round> {
    let jobs = context.jobs_or(JOBS_REDIS, JOBS_SQLITE);
    let url = context.target.fresh().await?;
    context.progress.begin("enqueue-one", jobs);
    let limit = match Bare::open(context.target, context.plan, context.tasks).await? {
        Some(mut bare) => {
            let max = if context.is_redis() {
                jobs
            } else {
                BARE_SQLITE_MAX
            };
            let limit = bare.enqueue_singly(jobs.min(max), SINGLE_CALLERS).await?;
            bare.clear().await?;
            Some(limit)
        }
        None => None,
    };
    let client = context.client(&url).await?;
    let probe = context.probe().await?;
    let before = probe.read().await?;
    let took = enqueue_singly(context, &client, jobs).await?;
    let cost = probe.since(&before, jobs).await?;

    let per_s = real(jobs) / took.as_secs_f64();
    let mut round = Round::default();
    round.record("per_s", per_s);
    round.record_some("limit", limit);
    round.record_some("ratio", over(per_s, limit));
    cost.record_to(&mut round);
    Ok(round)
}
