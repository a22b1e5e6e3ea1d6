//! From enqueue to the start of the handler in an idle worker, beside a bare blocking pop and a bare
//! round trip on the same server.

use std::time::{Duration, Instant};

use windlass::Result;

use crate::bare::hand_over;
use crate::fault;
use crate::load::{QUEUE, Working, payload};
use crate::measure::{Latencies, Round, over};
use crate::stage::Stage;

const TIMES: u64 = 1_000;

/// Pickups that are not counted: the first ones open connections.
const WARMING: u64 = 20;

/// Long enough for the worker to be waiting again.
const REST: Duration = Duration::from_millis(2);

pub(super) async fn round(stage: &Stage<'_>) -> Result<Round> {
    let times = stage.plan.jobs_or(TIMES);
    let url = stage.place.fresh().await?;
    stage.progress.begin("latency", times);
    let bare = hand_over(&url, times, stage.tasks).await?;

    let (started, mut is_started) = tokio::sync::mpsc::unbounded_channel();
    // The producer and the worker have nothing in common but the store.
    let producer = stage.client(&url).await?;
    let working = Working::start(stage, &url, times + WARMING, move |_| {
        let _ = started.send(Instant::now());
    })
    .await?;
    let pickups = Latencies::new();
    let body = payload(stage.plan.payload);
    for time in 0..times + WARMING {
        tokio::time::sleep(REST).await;
        let began = Instant::now();
        let enqueue = async { producer.enqueue_raw(QUEUE, body.clone()).await };
        let (enqueued, at) = tokio::join!(enqueue, is_started.recv());
        enqueued?;
        let at = at.ok_or_else(|| fault::internal("the worker ended early"))?;
        if time >= WARMING {
            pickups.record(at.saturating_duration_since(began));
        }
        if time % 100 == 0 {
            stage.progress.reached(time);
        }
    }
    working.end().await?;

    let mut round = Round::default();
    pickups.note(&mut round, "pickup_ms");
    if let Some(bare) = bare {
        bare.pops.note(&mut round, "blpop_ms");
        bare.pings.note(&mut round, "ping_ms");
        let p50 = pickups.quantile_ms(0.5);
        round.note_some("ratio", over(p50, Some(bare.pops.quantile_ms(0.5))));
        round.note_some("ratio_ping", over(p50, Some(bare.pings.quantile_ms(0.5))));
    }
    Ok(round)
}
