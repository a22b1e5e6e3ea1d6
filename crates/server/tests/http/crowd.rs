//! Slow clients and idle streams do not stop a normal client.
//!
//! `WINDLASS_SLOW_CLIENTS=2000` makes the crowd as large as it should be and asks for the speed that
//! is promised: run it alone, on a quiet machine, with `ulimit -n 8192`.

use std::time::Duration;

use axum::body::Body;
use axum::http::Request;
use serde_json::json;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio::time::Instant;

use crate::fixture::{Caller, LONG, Scene};

const CONNECTIONS: &str = "windlass_http_connections";

/// The crowd that was asked for.
fn asked() -> Option<usize> {
    let said = std::env::var("WINDLASS_SLOW_CLIENTS").ok();
    said.and_then(|text| text.parse().ok())
}

/// The crowd's size; the full one needs more open files than many systems allow by default.
fn crowd() -> usize {
    asked().unwrap_or(200)
}

/// What 99 of 100 requests may take. Beside other tests nothing is measured: it is enough that the
/// client is not stopped.
fn bound() -> Duration {
    asked().map_or(LONG, |_| Duration::from_millis(100))
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

#[tokio::test(flavor = "multi_thread")]
async fn slow_clients_do_not_stop_a_normal_one() {
    // None of the crowd is cut off before all of it is there.
    let scene = Scene::with(|options| options.waits.header = LONG * 2).await;
    let slow: Vec<_> = (0..crowd())
        .map(|_| tokio::spawn(crawl(scene.address().to_owned())))
        .collect();
    let mut caller = scene.client().await;
    caller.wait_for(CONNECTIONS, |count| count > crowd()).await;

    let took = p99(&mut caller).await;

    for slow in slow {
        slow.abort();
    }
    assert!(took < bound(), "{took:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn idle_streams_of_events_do_not_stop_a_normal_client() {
    let scene = Scene::with(|options| options.streams_max = crowd()).await;
    let mut streams = Vec::new();
    for _ in 0..crowd() {
        let mut reader = scene.client().await;
        let request = Request::get("/v1/events").body(Body::empty()).unwrap();
        let stream = reader.0.open(request).await.unwrap();
        assert_eq!(stream.status(), 200);
        streams.push((reader, stream));
    }
    let mut caller = scene.client().await;

    let took = p99(&mut caller).await;

    assert!(caller.figure(CONNECTIONS).await > crowd());
    assert!(took < bound(), "{took:?}");
}

/// What 99 of 100 requests take at most.
async fn p99(caller: &mut Caller) -> Duration {
    // A machine may be busy with other things for a moment; a crowd is there all the time.
    let mut best = Duration::MAX;
    for _ in 0..3 {
        let mut took = Vec::new();
        for _ in 0..200 {
            let began = Instant::now();
            let job = json!({"payload":"x"});
            Caller::json(&caller.post("/v1/queues/q/jobs", job).await, 201);
            took.push(began.elapsed());
        }
        took.sort_unstable();
        best = best.min(took[took.len() * 99 / 100]);
    }
    best
}
