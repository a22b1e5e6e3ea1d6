//! Every verb that a job meets, at fixed sizes of a call, on a store whose counters can be read.

use crate::budget::Row;
use crate::fixture::{DELAY, Site};

/// Jobs in one call.
const BATCHES: [usize; 3] = [1, 10, 100];

/// The counters of a store.
pub(crate) trait Meter<const N: usize> {
    /// Counts from here.
    fn begin(&mut self);
    /// What was counted since the beginning, for each of so many jobs.
    fn per_job(&mut self, jobs: usize) -> [f64; N];
}

/// What one job costs, verb by verb: each does its work `calls` times on a store of its own, after
/// one that makes whatever is made but once.
pub(crate) async fn measure<const N: usize, M: Meter<N>>(
    calls: usize,
    open: impl AsyncFn() -> (Site, M),
) -> Vec<Row<N>> {
    let mut rows = Vec::new();
    for batch in BATCHES {
        let all = batch * (calls + 1);
        let costs = [
            ("enqueue", enqueue(batch, calls, open().await).await),
            ("schedule", schedule(batch, calls, open().await).await),
            ("promote", promote(all, batch, open().await).await),
            ("claim", claim(all, batch, open().await).await),
            (
                "complete and claim",
                exchange(all, batch, open().await).await,
            ),
            ("renew", renew(batch, calls, open().await).await),
            (
                "enqueue of a kind",
                enqueue(batch, calls, typed(open().await)).await,
            ),
            (
                "complete and claim of a kind",
                exchange(all, batch, typed(open().await)).await,
            ),
        ];
        rows.extend(costs.map(|(what, cost)| (what, batch, cost)));
    }
    rows
}

/// Jobs whose bytes are measured: so many that the fixed part of a store is lost among them.
pub(crate) const KEPT_JOBS: usize = 10_000;

/// The bytes that a job takes while it waits, is scheduled or runs, each on a store of its own.
pub(crate) async fn bytes<M>(
    open: impl AsyncFn() -> (Site, M),
    per_job: impl Fn(&mut M) -> f64,
) -> Vec<Row<1>> {
    let mut rows = Vec::new();
    for what in ["waiting", "scheduled", "running"] {
        let (mut site, mut meter) = open().await;
        let delay = (what == "scheduled").then_some(DELAY);
        site.fill(KEPT_JOBS, delay).await;
        if what == "running" {
            for _ in 0..KEPT_JOBS / 100 {
                site.claim(100).await;
            }
        }
        rows.push((what, 100, [per_job(&mut meter)]));
    }
    rows
}

fn typed<M>((site, meter): (Site, M)) -> (Site, M) {
    (site.typed(), meter)
}

async fn enqueue<const N: usize>(
    batch: usize,
    calls: usize,
    (mut site, mut meter): (Site, impl Meter<N>),
) -> [f64; N] {
    site.enqueue(batch, None).await;
    meter.begin();
    for _ in 0..calls {
        site.enqueue(batch, None).await;
    }
    meter.per_job(batch * calls)
}

async fn schedule<const N: usize>(
    batch: usize,
    calls: usize,
    (mut site, mut meter): (Site, impl Meter<N>),
) -> [f64; N] {
    site.enqueue(batch, Some(DELAY)).await;
    meter.begin();
    for _ in 0..calls {
        site.enqueue(batch, Some(DELAY)).await;
    }
    meter.per_job(batch * calls)
}

async fn promote<const N: usize>(
    all: usize,
    batch: usize,
    (mut site, mut meter): (Site, impl Meter<N>),
) -> [f64; N] {
    site.fill(all, Some(DELAY)).await;
    site.outlast_delay();
    site.promote(batch).await;
    meter.begin();
    for _ in (batch..all).step_by(batch) {
        site.promote(batch).await;
    }
    meter.per_job(all - batch)
}

async fn claim<const N: usize>(
    all: usize,
    batch: usize,
    (mut site, mut meter): (Site, impl Meter<N>),
) -> [f64; N] {
    site.fill(all, None).await;
    site.claim(batch).await;
    meter.begin();
    for _ in (batch..all).step_by(batch) {
        site.claim(batch).await;
    }
    meter.per_job(all - batch)
}

async fn exchange<const N: usize>(
    all: usize,
    batch: usize,
    (mut site, mut meter): (Site, impl Meter<N>),
) -> [f64; N] {
    site.fill(all + batch, None).await;
    let mut held = site.claim(batch).await;
    held = site.exchange(&held).await;
    meter.begin();
    for _ in (batch..all).step_by(batch) {
        held = site.exchange(&held).await;
    }
    meter.per_job(all - batch)
}

/// The dearest way to hold jobs: each in a claim of its own.
async fn renew<const N: usize>(
    batch: usize,
    calls: usize,
    (mut site, mut meter): (Site, impl Meter<N>),
) -> [f64; N] {
    site.fill(batch, None).await;
    let mut held = Vec::new();
    for _ in 0..batch {
        held.push(site.claim(1).await);
    }
    site.renew(&held).await;
    meter.begin();
    for _ in 0..calls {
        site.renew(&held).await;
    }
    meter.per_job(batch * calls)
}
