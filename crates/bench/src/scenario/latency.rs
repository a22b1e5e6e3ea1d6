//! Time from enqueue to the start of the handler in an idle worker, compared with a blocking pop and a
//! PING on the same server.

use std::time::{Duration, Instant};

use windlass::Result;

use crate::bare::blocking_pop;
use crate::context::BenchContext;
use crate::error;
use crate::load::{QUEUE, RunningWorker, payload};
use crate::measure::{Latencies, Round, over};

const TIMES: u64 = 1_000;

/// Warm-up jobs that are not counted: the first ones open connections.
const WARM_UP: u64 = 20;

/// Long enough for the worker to wait again.
const PAUSE: Duration = Duration::from_millis(2);

pub(super) async fn round(context: &BenchContext<'_>) -> Result<Round> {
    let times = context.plan.jobs_or(TIMES);
    let url = context.target.fresh().await?;
    context.progress.begin("latency", times);
    let bare = blocking_pop(&url, times, context.tasks).await?;

    let (started, mut is_started) = tokio::sync::mpsc::unbounded_channel();
    // The producer and the worker share nothing but the store.
    let producer = context.client(&url).await?;
    let worker = RunningWorker::start(context, &url, times + WARM_UP, move |_| {
        let _ = started.send(Instant::now());
    })
    .await?;
    let pickups = Latencies::new();
    let body = payload(context.plan.payload);
    for time in 0..times + WARM_UP {
        tokio::time::sleep(PAUSE).await;
        let began = Instant::now();
        let enqueue = async { producer.enqueue_raw(QUEUE, body.clone()).await };
        let (enqueued, at) = tokio::join!(enqueue, is_started.recv());
        enqueued?;
        let at = at.ok_or_else(|| error::internal("the worker exited early"))?;
        if time >= WARM_UP {
            pickups.record(at.saturating_duration_since(began));
        }
        if time % 100 == 0 {
            context.progress.reached(time);
        }
    }
    worker.end().await?;

    let mut round = Round::default();
    pickups.record_to(&mut round, "pickup_ms");
    if let Some(bare) = bare {
        bare.pops.record_to(&mut round, "blpop_ms");
        bare.pings.record_to(&mut round, "ping_ms");
        let p50 = pickups.quantile_ms(0.5);
        round.record_some("ratio", over(p50, Some(bare.pops.quantile_ms(0.5))));
        round.record_some("ratio_ping", over(p50, Some(bare.pings.quantile_ms(0.5))));
    }
    Ok(round)
}
