//! Measures a blocking pop that waits for a push on another connection, and a PING round trip.

use std::time::{Duration, Instant};

use windlass::{Result, StoreUrl};

use super::redis::query;
use crate::connection::{connect, prefix};
use crate::error;
use crate::measure::Latencies;
use crate::tasks::Tasks;

/// Long enough for the pop to wait again.
const PAUSE: Duration = Duration::from_millis(2);

/// Timeout of a pop in seconds.
const POP_TIMEOUT_S: u64 = 30;

/// Latencies of the bare engine.
#[derive(Debug)]
pub(crate) struct BareLatencies {
    pub(crate) pops: Latencies,
    pub(crate) pings: Latencies,
}

/// Measures `times` pops; `None` if the target is not a single plain server.
pub(crate) async fn blocking_pop(
    url: &StoreUrl,
    times: u64,
    tasks: &Tasks,
) -> Result<Option<BareLatencies>> {
    let (Some(popping), Some(pushing)) = (connect(url).await?, connect(url).await?) else {
        return Ok(None);
    };
    let key = format!("{}:{{bare}}:pop", prefix(url));
    let (popped, mut is_popped) = tokio::sync::mpsc::channel(1);
    let mut pop = ::redis::cmd("BLPOP");
    pop.arg(&key).arg(POP_TIMEOUT_S);
    let task = tasks.spawn(async move {
        for _ in 0..times {
            query::<(String, String)>(&popping, &pop).await?;
            if popped.send(Instant::now()).await.is_err() {
                break;
            }
        }
        Ok::<(), windlass::Error>(())
    });
    let mut push = ::redis::cmd("RPUSH");
    push.arg(&key).arg("x");
    let (pops, pings) = (Latencies::new(), Latencies::new());
    for _ in 0..times {
        tokio::time::sleep(PAUSE).await;
        let began = Instant::now();
        query::<String>(&pushing, &::redis::cmd("PING")).await?;
        pings.record(began.elapsed());
        // Start from idle, like a waiting worker.
        tokio::time::sleep(PAUSE).await;
        let began = Instant::now();
        let (pushed, at) = tokio::join!(query::<i64>(&pushing, &push), is_popped.recv());
        pushed?;
        let at = at.ok_or_else(|| error::internal("the blocking pop ended early"))?;
        pops.record(at - began);
    }
    task.join().await??;
    Ok(Some(BareLatencies { pops, pings }))
}
