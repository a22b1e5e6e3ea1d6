//! No-op jobs through the real worker, beside the bare engine that finishes and takes.

use windlass::{NewJob, Result};

use crate::bare::{Bare, PIPELINED};
use crate::load::{enqueue_bulk, payload, process};
use crate::measure::{Round, real};
use crate::stage::Stage;

const JOBS_REDIS: u64 = 200_000;
const JOBS_SQLITE: u64 = 50_000;

pub(super) async fn round(stage: &Stage<'_>) -> Result<Round> {
    let jobs = stage.jobs_or(JOBS_REDIS, JOBS_SQLITE);
    let url = stage.place.fresh().await?;
    stage.progress.begin("process", jobs);
    let (mut one, mut four) = (None, None);
    if let Some(mut bare) = Bare::open(stage.place, stage.plan, stage.tasks).await? {
        bare.enqueue(jobs, stage.plan.batch, 1).await?;
        one = bare.drain(stage.plan.batch, 1).await?;
        if stage.is_redis() {
            bare.enqueue(jobs, stage.plan.batch, 1).await?;
            four = bare.drain(stage.plan.batch, PIPELINED).await?;
        }
        bare.clear().await?;
    }
    let client = stage.client(&url).await?;
    let body = payload(stage.plan.payload);
    enqueue_bulk(stage, &client, jobs, move |_| NewJob::new(body.clone())).await?;
    let probe = stage.probe().await?;
    let before = probe.read().await?;
    let took = process(stage, &url, jobs).await?;
    let cost = probe.since(&before, jobs).await?;

    let mut round = Round::beside(real(jobs) / took.as_secs_f64(), one, four);
    cost.note(&mut round);
    Ok(round)
}
