//! Producers at a fixed pace and a worker at the same time.

use windlass::{NewJob, Result};

use crate::load::{enqueue_bulk, payload, process, run_paced};
use crate::measure::{Round, real};
use crate::stage::Stage;

const JOBS_REDIS: u64 = 100_000;
const JOBS_SQLITE: u64 = 20_000;

pub(super) async fn round(stage: &Stage<'_>) -> Result<Round> {
    let jobs = stage.jobs_or(JOBS_REDIS, JOBS_SQLITE);
    let rate = match stage.plan.rate {
        Some(rate) => rate,
        None => usual_rate(stage, jobs).await?,
    };
    let url = stage.place.fresh().await?;
    let probe = stage.probe().await?;
    stage.progress.begin("end-to-end", jobs);
    let before = probe.read().await?;
    let paced = run_paced(stage, &url, jobs, rate).await?;
    let cost = probe.since(&before, jobs).await?;
    let mut round = Round::default();
    round.note("rate_per_s", rate);
    paced.waits.note(&mut round, "wait_ms");
    cost.note(&mut round);
    Ok(round)
}

/// Half of what the worker does when nobody enqueues meanwhile.
async fn usual_rate(stage: &Stage<'_>, jobs: u64) -> Result<f64> {
    let url = stage.place.fresh().await?;
    let client = stage.client(&url).await?;
    stage.progress.begin("measuring the pace", jobs);
    let body = payload(stage.plan.payload);
    enqueue_bulk(stage, &client, jobs, move |_| NewJob::new(body.clone())).await?;
    let took = process(stage, &url, jobs).await?;
    Ok(real(jobs) / took.as_secs_f64() / 2.0)
}
