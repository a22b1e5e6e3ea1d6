//! The run without a named scenario: jobs go in, jobs come out, and how long they wait meanwhile.

use serde::Serialize;
use windlass::{NewJob, Result};

use crate::bare::Bare;
use crate::bench::Bench;
use crate::fault;
use crate::load::{enqueue_bulk, payload, process, run_paced};
use crate::measure::{Round, Spread, over, real};
use crate::progress::Progress;
use crate::stage::Stage;

const JOBS_REDIS: u64 = 100_000;
const JOBS_SQLITE: u64 = 20_000;

/// The paced run takes about as long as this many seconds, and never more jobs than the others.
const PACED_SECONDS: f64 = 2.0;

/// What was found: medians over the rounds. What only Redis tells is absent elsewhere.
#[derive(Debug, Clone, Serialize)]
pub struct Quick {
    /// Jobs a second into the queue, in batches.
    pub enqueue_per_s: f64,
    /// Jobs a second through the worker.
    pub process_per_s: f64,
    /// How long jobs wait at half of that pace.
    pub wait_ms: Waits,
    /// Memory of a waiting job.
    pub bytes_per_job: Option<f64>,
    /// Commands sent per job, in and out.
    pub commands_per_job: Option<f64>,
    /// CPU of Redis per job, in and out.
    pub redis_cpu_us_per_job: Option<f64>,
    /// The bare engine in the same run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<Limit>,
    /// Ours over the bare engine, round by round.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ratio: Option<Ratio>,
}

/// How long jobs wait, in milliseconds.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Waits {
    /// Half wait no longer.
    pub p50: f64,
    /// 99 in 100 wait no longer.
    pub p99: f64,
}

/// What the bare engine does, by one caller.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Limit {
    /// Jobs a second into a bare list or table.
    pub enqueue_per_s: f64,
    /// Jobs a second finished and taken.
    pub process_per_s: f64,
}

/// Ours over the bare engine.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Ratio {
    /// Into the queue.
    pub enqueue: f64,
    /// Through the worker.
    pub process: f64,
}

impl Bench {
    /// Runs it on the first place.
    pub async fn quick(&self, with_limit: bool, progress: &dyn Progress) -> Result<Quick> {
        let stage = self.first(progress);
        let stage = stage.ok_or_else(|| fault::internal("a bench has no place"))?;
        let mut rounds = Vec::new();
        for _ in 0..self.plan().rounds {
            rounds.push(Box::pin(round(&stage, with_limit)).await?);
        }
        Ok(summed_up(&rounds))
    }
}

async fn round(stage: &Stage<'_>, with_limit: bool) -> Result<Round> {
    let jobs = stage.jobs_or(JOBS_REDIS, JOBS_SQLITE);
    let mut round = Round::default();
    let url = stage.place.fresh().await?;
    let mut limit = (None, None);
    if with_limit {
        stage.progress.begin("the bare engine", jobs);
        let bare = Bare::open(stage.place, stage.plan, stage.tasks).await?;
        let mut bare = bare.ok_or_else(no_limit)?;
        limit.0 = bare.enqueue(jobs, stage.plan.batch, 1).await?;
        limit.1 = bare.drain(stage.plan.batch, 1).await?;
        bare.clear().await?;
    }
    let probe = stage.probe().await?;
    if let Some(server) = &probe.server {
        server.settle().await?;
    }
    let client = stage.client(&url).await?;
    let body = payload(stage.plan.payload);
    stage.progress.begin("enqueue", jobs);
    let before = probe.read().await?;
    let took = enqueue_bulk(stage, &client, jobs, move |_| NewJob::new(body.clone())).await?;
    let into = probe.since(&before, jobs).await?;
    let enqueue = real(jobs) / took.as_secs_f64();
    stage.progress.begin("process", jobs);
    let before = probe.read().await?;
    let took = process(stage, &url, jobs).await?;
    let out = probe.since(&before, jobs).await?;
    let through = real(jobs) / took.as_secs_f64();

    let rate = stage.plan.rate.unwrap_or(through / 2.0);
    let paced = jobs.min(whole(rate * PACED_SECONDS)).max(1);
    stage.progress.begin("at half the pace", paced);
    let waits = run_paced(stage, &url, paced, rate).await?.waits;

    round.note("enqueue", enqueue);
    round.note("process", through);
    waits.note(&mut round, "wait");
    round.note_some("bytes", into.bytes);
    let both = |a: Option<f64>, b: Option<f64>| a.zip(b).map(|(a, b)| a + b);
    round.note_some("commands", both(into.commands, out.commands));
    round.note_some("cpu", both(into.server_us, out.server_us));
    round.note_some("limit.enqueue", limit.0);
    round.note_some("limit.process", limit.1);
    round.note_some("ratio.enqueue", over(enqueue, limit.0));
    round.note_some("ratio.process", over(through, limit.1));
    Ok(round)
}

fn summed_up(rounds: &[Round]) -> Quick {
    let median = |name: &str| {
        let values: Vec<f64> = rounds.iter().filter_map(|round| round.get(name)).collect();
        (!values.is_empty()).then(|| Spread::of(&values).median)
    };
    let always = |name: &str| median(name).unwrap_or_default();
    let pair = |name: &str| {
        let part = |part: &str| median(&format!("{name}.{part}"));
        part("enqueue").zip(part("process"))
    };
    Quick {
        enqueue_per_s: always("enqueue"),
        process_per_s: always("process"),
        wait_ms: Waits {
            p50: always("wait.p50"),
            p99: always("wait.p99"),
        },
        bytes_per_job: median("bytes"),
        commands_per_job: median("commands"),
        redis_cpu_us_per_job: median("cpu"),
        limit: pair("limit").map(|(enqueue_per_s, process_per_s)| Limit {
            enqueue_per_s,
            process_per_s,
        }),
        ratio: pair("ratio").map(|(enqueue, process)| Ratio { enqueue, process }),
    }
}

fn no_limit() -> windlass::Error {
    windlass::Error::new(
        windlass::ErrorKind::Invalid,
        "the bare engine is measured on one plain server or file, not on a Cluster, behind \
         Sentinels or behind TLS",
        "leave --limit out, or name one server with --store redis://HOST:PORT, or add --private",
    )
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a rate of jobs is above 0 and far below 2^53"
)]
fn whole(count: f64) -> u64 {
    count as u64
}
