//! Slow clients do not stop a normal one.

use std::time::Duration;

use serde_json::json;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio::time::Instant;

use crate::scene::{Caller, Scene};

/// The crowd's size; the full one needs more open files than many systems allow by default.
fn slow_clients() -> usize {
    let said = std::env::var("WINDLASS_SLOW_CLIENTS").ok();
    said.and_then(|text| text.parse().ok()).unwrap_or(300)
}

/// A client that sends a byte now and then, until the server has had enough of it.
async fn crawl(address: String) {
    let Ok(mut stream) = TcpStream::connect(&address).await else {
        return;
    };
    for byte in
        b"POST /v1/queues/q/jobs HTTP/1.1\r\nhost: localhost\r\ncontent-length: 9000\r\n\r\n"
    {
        if stream.write_all(&[*byte]).await.is_err() {
            return;
        }
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
}

/// How many connections the server counts.
async fn connections(caller: &mut Caller) -> usize {
    let metrics = caller.get("/metrics").await;
    let metrics = String::from_utf8_lossy(&metrics.body).into_owned();
    let mut lines = metrics.lines();
    let count = lines.find_map(|line| line.strip_prefix("windlass_http_connections "));
    count.unwrap().parse().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn slow_clients_do_not_stop_a_normal_one() {
    let scene = Scene::new().await;
    let crowd: Vec<_> = (0..slow_clients())
        .map(|_| tokio::spawn(crawl(scene.address().to_owned())))
        .collect();
    let mut caller = scene.client().await;
    // All of them are there before anything is measured.
    while connections(&mut caller).await <= slow_clients() {
        tokio::task::yield_now().await;
    }
    // A machine may be busy with other things for a moment; slow clients are there all the time.
    let mut best = Duration::MAX;
    for _ in 0..3 {
        best = best.min(p99(&mut caller).await);
    }

    for slow in crowd {
        slow.abort();
    }
    assert!(best < Duration::from_millis(100), "{best:?}");
}

/// What 99 of 100 requests take at most.
async fn p99(caller: &mut Caller) -> Duration {
    let mut took = Vec::new();
    for _ in 0..300 {
        let began = Instant::now();
        let job = json!({"payload":"x"});
        Caller::json(&caller.post("/v1/queues/q/jobs", job).await, 201);
        took.push(began.elapsed());
    }
    took.sort_unstable();
    took[took.len() * 99 / 100]
}
