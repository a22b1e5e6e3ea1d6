//! One job per call, by a hundred tasks at once; the store gathers calls that wait.

use windlass::Result;

use crate::bare::Bare;
use crate::load::{SINGLE_CALLERS, enqueue_singly};
use crate::measure::{Round, over, real};
use crate::stage::Stage;

const JOBS_REDIS: u64 = 100_000;
const JOBS_SQLITE: u64 = 20_000;

/// A bare transaction waits for the disk: so many tell enough.
const BARE_SQLITE_MAX: u64 = 2_000;

pub(super) async fn round(stage: &Stage<'_>) -> Result<Round> {
    let jobs = stage.jobs_or(JOBS_REDIS, JOBS_SQLITE);
    let url = stage.place.fresh().await?;
    stage.progress.begin("enqueue-one", jobs);
    let limit = match Bare::open(stage.place, stage.plan, stage.tasks).await? {
        Some(mut bare) => {
            let most = if stage.is_redis() {
                jobs
            } else {
                BARE_SQLITE_MAX
            };
            let limit = bare.enqueue_singly(jobs.min(most), SINGLE_CALLERS).await?;
            bare.clear().await?;
            Some(limit)
        }
        None => None,
    };
    let client = stage.client(&url).await?;
    let probe = stage.probe().await?;
    let before = probe.read().await?;
    let took = enqueue_singly(stage, &client, jobs).await?;
    let cost = probe.since(&before, jobs).await?;

    let per_s = real(jobs) / took.as_secs_f64();
    let mut round = Round::default();
    round.note("per_s", per_s);
    round.note_some("limit", limit);
    round.note_some("ratio", over(per_s, limit));
    cost.note(&mut round);
    Ok(round)
}
