//! The run without a scenario: enqueue and processing rates, and wait times.

use serde::Serialize;
use windlass::{NewJob, Result};

use crate::bare::Bare;
use crate::bench::Bench;
use crate::context::BenchContext;
use crate::error;
use crate::load::{enqueue_bulk, payload, process, run_paced};
use crate::measure::{Round, Spread, over, real};
use crate::progress::ProgressReport;

const JOBS_REDIS: u64 = 100_000;
const JOBS_SQLITE: u64 = 20_000;

/// The paced run takes about this many seconds, with at most as many jobs as the others.
const PACED_SECONDS: f64 = 2.0;

/// Medians over the rounds. Metrics that only Redis reports are `None` elsewhere.
#[derive(Debug, Clone, Serialize)]
pub struct QuickReport {
    /// Jobs enqueued per second, in batches.
    pub enqueue_per_s: f64,
    /// Jobs processed per second by the worker.
    pub process_per_s: f64,
    /// Wait times at half that rate.
    pub wait_ms: WaitTimes,
    /// Memory per waiting job.
    pub bytes_per_job: Option<f64>,
    /// Commands per job, for enqueue and processing.
    pub commands_per_job: Option<f64>,
    /// CPU time of Redis per job, for enqueue and processing.
    pub redis_cpu_us_per_job: Option<f64>,
    /// The bare engine in the same run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<Limit>,
    /// Windlass relative to the bare engine, per round.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ratio: Option<Ratio>,
}

/// Wait times in milliseconds.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct WaitTimes {
    /// The median.
    pub p50: f64,
    /// The 99th percentile.
    pub p99: f64,
}

/// Throughput of the bare engine with one caller.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Limit {
    /// Jobs enqueued per second into a bare list or table.
    pub enqueue_per_s: f64,
    /// Jobs finished and fetched per second.
    pub process_per_s: f64,
}

/// Windlass relative to the bare engine.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Ratio {
    /// Enqueue.
    pub enqueue: f64,
    /// Processing.
    pub process: f64,
}

impl Bench {
    /// Runs the quick benchmark on the first target.
    pub(crate) async fn quick(
        &self,
        with_limit: bool,
        progress: &dyn ProgressReport,
    ) -> Result<QuickReport> {
        let context = self.first(progress);
        let context = context.ok_or_else(|| error::internal("the bench has no target"))?;
        let mut rounds = Vec::new();
        for _ in 0..self.plan().rounds {
            rounds.push(Box::pin(round(&context, with_limit)).await?);
        }
        Ok(summarize(&rounds))
    }
}

async fn round(context: &BenchContext<'_>, with_limit: bool) -> Result<Round> {
    let jobs = context.jobs_or(JOBS_REDIS, JOBS_SQLITE);
    let mut round = Round::default();
    let url = context.target.fresh().await?;
    let mut limit = (None, None);
    if with_limit {
        context.progress.begin("the bare engine", jobs);
        let bare = Bare::open(context.target, context.plan, context.tasks).await?;
        let mut bare = bare.ok_or_else(no_limit)?;
        limit.0 = bare.enqueue(jobs, context.plan.batch, 1).await?;
        limit.1 = bare.drain(context.plan.batch, 1).await?;
        bare.clear().await?;
    }
    let probe = context.probe().await?;
    if let Some(server) = &probe.server {
        server.wait_until_freed().await?;
    }
    let client = context.client(&url).await?;
    let body = payload(context.plan.payload);
    context.progress.begin("enqueue", jobs);
    let before = probe.read().await?;
    let took = enqueue_bulk(context, &client, jobs, move |_| NewJob::new(body.clone())).await?;
    let into = probe.since(&before, jobs).await?;
    let enqueue = real(jobs) / took.as_secs_f64();
    context.progress.begin("process", jobs);
    let before = probe.read().await?;
    let took = process(context, &url, jobs).await?;
    let out = probe.since(&before, jobs).await?;
    let through = real(jobs) / took.as_secs_f64();

    let rate = context.plan.rate.map_or(through / 2.0, f64::from);
    let paced = jobs.min(to_count(rate * PACED_SECONDS)).max(1);
    context.progress.begin("at half the rate", paced);
    let waits = run_paced(context, &url, paced, rate).await?;

    round.record("enqueue", enqueue);
    round.record("process", through);
    waits.record_to(&mut round, "wait");
    round.record_some("bytes", into.bytes);
    let both = |a: Option<f64>, b: Option<f64>| a.zip(b).map(|(a, b)| a + b);
    round.record_some("commands", both(into.commands, out.commands));
    round.record_some("cpu", both(into.server_us, out.server_us));
    round.record_some("limit.enqueue", limit.0);
    round.record_some("limit.process", limit.1);
    round.record_some("ratio.enqueue", over(enqueue, limit.0));
    round.record_some("ratio.process", over(through, limit.1));
    Ok(round)
}

fn summarize(rounds: &[Round]) -> QuickReport {
    let median = |name: &str| {
        let spread = Spread::of(rounds.iter().filter_map(|round| round.get(name)));
        spread.map(|spread| spread.median)
    };
    let always = |name: &str| median(name).unwrap_or_default();
    let pair = |name: &str| {
        let of = |verb: &str| median(&format!("{name}.{verb}"));
        of("enqueue").zip(of("process"))
    };
    QuickReport {
        enqueue_per_s: always("enqueue"),
        process_per_s: always("process"),
        wait_ms: WaitTimes {
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
        "cannot measure the bare engine on a Cluster, with Sentinels or with TLS; it needs a \
         single server or file",
        "omit --limit, or use --store redis://HOST:PORT",
    )
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a rate of jobs is above 0 and far below 2^53"
)]
fn to_count(count: f64) -> u64 {
    count as u64
}
