//! Measures every operation of a job's life cycle, at fixed batch sizes.

use crate::MORE_WARM_UP;
use crate::budget::Row;
use crate::fixture::{DELAY, Fixture};

/// Jobs per call.
const BATCHES: [usize; 3] = [1, 10, 100];

/// The counters of a store.
pub(crate) trait Meter<const N: usize> {
    /// Starts counting.
    fn begin(&mut self);
    /// Returns what was counted since then, per job.
    fn per_job(&mut self, jobs: usize) -> [f64; N];
}

/// Measures the cost per job of each operation: `calls` calls on a separate store, after some that
/// create what is only created once.
pub(crate) async fn measure<const N: usize, M: Meter<N>>(
    calls: usize,
    open: impl AsyncFn() -> (Fixture, M),
) -> Vec<Row<N>> {
    let mut rows = Vec::new();
    for batch in BATCHES {
        let all = batch * (calls + 1);
        let costs = [
            ("enqueue", enqueue(batch, calls, open().await).await),
            ("schedule", schedule(batch, calls, open().await).await),
            ("replace", keyed(batch, calls, false, open().await).await),
            ("promote", promote(all, batch, open().await).await),
            ("fire", fire(batch, calls, open().await).await),
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

/// Jobs whose memory is measured: so many that the fixed overhead of a store does not matter.
pub(crate) const KEPT_JOBS: usize = 10_000;

/// Measures the bytes per waiting, scheduled and running job, each on a separate store.
pub(crate) async fn bytes<M>(
    open: impl AsyncFn() -> (Fixture, M),
    per_job: impl Fn(&mut M) -> f64,
) -> Vec<Row<1>> {
    let mut rows = Vec::new();
    let states = [
        "waiting",
        "waiting of a kind",
        "waiting in a group",
        "scheduled",
        "running",
    ];
    for what in states {
        let (mut fixture, mut meter) = open().await;
        if what == "waiting of a kind" {
            fixture = fixture.typed();
        } else if what == "waiting in a group" {
            fixture = fixture.in_groups(100);
        }
        let delay = (what == "scheduled").then_some(DELAY);
        fixture.fill(KEPT_JOBS, delay).await;
        if what == "running" {
            for _ in 0..KEPT_JOBS / 100 {
                fixture.claim(100).await;
            }
        }
        rows.push((what, 100, [per_job(&mut meter)]));
    }
    rows
}

pub(crate) fn typed<M>((fixture, meter): (Fixture, M)) -> (Fixture, M) {
    (fixture.typed(), meter)
}

pub(crate) async fn enqueue<const N: usize>(
    batch: usize,
    calls: usize,
    (mut fixture, mut meter): (Fixture, impl Meter<N>),
) -> [f64; N] {
    for _ in 0..=MORE_WARM_UP {
        fixture.enqueue(batch, None).await;
    }
    meter.begin();
    for _ in 0..calls {
        fixture.enqueue(batch, None).await;
    }
    meter.per_job(batch * calls)
}

async fn schedule<const N: usize>(
    batch: usize,
    calls: usize,
    (mut fixture, mut meter): (Fixture, impl Meter<N>),
) -> [f64; N] {
    fixture.enqueue(batch, Some(DELAY)).await;
    meter.begin();
    for _ in 0..calls {
        fixture.enqueue(batch, Some(DELAY)).await;
    }
    meter.per_job(batch * calls)
}

/// Each call stores jobs with new keys, or replaces the jobs of the first call.
pub(crate) async fn keyed<const N: usize>(
    batch: usize,
    calls: usize,
    are_keys_new: bool,
    (mut fixture, mut meter): (Fixture, impl Meter<N>),
) -> [f64; N] {
    for _ in 0..2 {
        fixture.enqueue_keyed(batch, are_keys_new).await;
    }
    meter.begin();
    for _ in 0..calls {
        fixture.enqueue_keyed(batch, are_keys_new).await;
    }
    meter.per_job(batch * calls)
}

async fn promote<const N: usize>(
    all: usize,
    batch: usize,
    (mut fixture, mut meter): (Fixture, impl Meter<N>),
) -> [f64; N] {
    fixture.fill(all, Some(DELAY)).await;
    fixture.outlast_delay();
    fixture.promote(batch).await;
    meter.begin();
    for _ in (batch..all).step_by(batch) {
        fixture.promote(batch).await;
    }
    meter.per_job(all - batch)
}

async fn fire<const N: usize>(
    batch: usize,
    calls: usize,
    (mut fixture, mut meter): (Fixture, impl Meter<N>),
) -> [f64; N] {
    fixture.put_schedules(batch).await;
    fixture.outlast_delay();
    fixture.fire(batch).await;
    meter.begin();
    for _ in 0..calls {
        fixture.outlast_delay();
        fixture.fire(batch).await;
    }
    meter.per_job(batch * calls)
}

pub(crate) async fn claim<const N: usize>(
    all: usize,
    batch: usize,
    (mut fixture, mut meter): (Fixture, impl Meter<N>),
) -> [f64; N] {
    fixture.fill(all + MORE_WARM_UP * batch, None).await;
    for _ in 0..=MORE_WARM_UP {
        fixture.claim(batch).await;
    }
    meter.begin();
    for _ in (batch..all).step_by(batch) {
        fixture.claim(batch).await;
    }
    meter.per_job(all - batch)
}

pub(crate) async fn exchange<const N: usize>(
    all: usize,
    batch: usize,
    (mut fixture, mut meter): (Fixture, impl Meter<N>),
) -> [f64; N] {
    fixture.fill(all + (MORE_WARM_UP + 1) * batch, None).await;
    let mut held = fixture.claim(batch).await;
    for _ in 0..=MORE_WARM_UP {
        held = fixture.exchange(&held).await;
    }
    meter.begin();
    for _ in (batch..all).step_by(batch) {
        held = fixture.exchange(&held).await;
    }
    meter.per_job(all - batch)
}

/// The most expensive case: each job in a separate claim.
async fn renew<const N: usize>(
    batch: usize,
    calls: usize,
    (mut fixture, mut meter): (Fixture, impl Meter<N>),
) -> [f64; N] {
    fixture.fill(batch, None).await;
    let mut held = Vec::new();
    for _ in 0..batch {
        held.push(fixture.claim(1).await);
    }
    fixture.renew(&held).await;
    meter.begin();
    for _ in 0..calls {
        fixture.renew(&held).await;
    }
    meter.per_job(batch * calls)
}
