//! One job per call, from 100 concurrent tasks, whose waiting calls the store batches, and from one task, which
//! waits for each reply.

use windlass::Result;

use crate::bare::Bare;
use crate::context::BenchContext;
use crate::load::{SINGLE_CALLERS, enqueue_singly};
use crate::measure::{Round, over, real};

const JOBS_REDIS: u64 = 100_000;
const JOBS_SQLITE: u64 = 20_000;

/// Limit for one caller, and for bare transactions on SQLite: each waits for the disk or the server.
const ALONE_MAX: u64 = 2_000;

pub(super) async fn round(context: &BenchContext<'_>) -> Result<Round> {
    let jobs = context.jobs_or(JOBS_REDIS, JOBS_SQLITE);
    let alone = jobs.min(ALONE_MAX);
    let url = context.target.fresh().await?;
    context.progress.begin("enqueue-one", jobs);
    let (mut limit, mut limit_alone) = (None, None);
    if let Some(mut bare) = Bare::open(context.target, context.plan, context.tasks).await? {
        limit_alone = Some(bare.enqueue_singly(alone, 1).await?);
        limit = if context.is_redis() {
            Some(bare.enqueue_singly(jobs, SINGLE_CALLERS).await?)
        } else {
            limit_alone
        };
        bare.clear().await?;
    }
    let client = context.client(&url).await?;
    let took_alone = enqueue_singly(context, &client, alone, 1).await?;
    let probe = context.probe().await?;
    let before = probe.read().await?;
    let took = enqueue_singly(context, &client, jobs, SINGLE_CALLERS).await?;
    let cost = probe.since(&before, jobs).await?;

    let mut round = Round::default();
    let mut compare = |name: &str, per_s: f64, limit: Option<f64>| {
        round.record(format!("{name}per_s"), per_s);
        round.record_some(format!("{name}limit"), limit);
        round.record_some(format!("{name}ratio"), over(per_s, limit));
    };
    compare("", real(jobs) / took.as_secs_f64(), limit);
    compare(
        "one_caller.",
        real(alone) / took_alone.as_secs_f64(),
        limit_alone,
    );
    cost.record_to(&mut round);
    Ok(round)
}
