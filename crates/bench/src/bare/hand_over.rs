//! A blocking pop that waits for a push on another connection, and a bare round trip.

use std::time::{Duration, Instant};

use windlass::{Result, StoreUrl};

use super::redis::ask;
use crate::connection::{connect, prefix};
use crate::fault;
use crate::measure::Latencies;
use crate::tasks::Tasks;

/// Long enough for the pop to be waiting again.
const REST: Duration = Duration::from_millis(2);

/// A pop waits no longer than this for its push.
const POP_WITHIN: u64 = 30;

/// What the bare engine takes.
#[derive(Debug)]
pub(crate) struct HandOver {
    pub(crate) pops: Latencies,
    pub(crate) pings: Latencies,
}

/// Hands over so many times; nothing where the place is not one plain server.
pub(crate) async fn hand_over(
    url: &StoreUrl,
    times: u64,
    tasks: &Tasks,
) -> Result<Option<HandOver>> {
    let (Some(popping), Some(pushing)) = (connect(url).await?, connect(url).await?) else {
        return Ok(None);
    };
    let key = format!("{}:{{bare}}:hand", prefix(url));
    let (popped, mut is_popped) = tokio::sync::mpsc::channel(1);
    let mut pop = ::redis::cmd("BLPOP");
    pop.arg(&key).arg(POP_WITHIN);
    let task = tasks.spawn(async move {
        for _ in 0..times {
            ask::<(String, String)>(&popping, &pop).await?;
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
        tokio::time::sleep(REST).await;
        let began = Instant::now();
        ask::<String>(&pushing, &::redis::cmd("PING")).await?;
        pings.record(began.elapsed());
        // From idle, as a worker that waits is.
        tokio::time::sleep(REST).await;
        let began = Instant::now();
        let (pushed, at) = tokio::join!(ask::<i64>(&pushing, &push), is_popped.recv());
        pushed?;
        let at = at.ok_or_else(|| fault::internal("the bare pop ended early"))?;
        pops.record(at - began);
    }
    task.join().await??;
    Ok(Some(HandOver { pops, pings }))
}
