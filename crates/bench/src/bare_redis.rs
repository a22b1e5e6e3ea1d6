//! The bare engine on Redis: packed strings in a list, one script that finishes a batch and takes
//! the next, and a blocking pop. No ids, leases, tokens or retries.

use std::time::{Duration, Instant};

use redis::aio::MultiplexedConnection;
use windlass_testkit::redis::Server;

use crate::sample::Sample;

const BATCH: usize = 100;
const CALLERS: usize = 4;

async fn connect(server: &Server) -> MultiplexedConnection {
    let client = redis::Client::open(format!("redis://127.0.0.1:{}/", server.port()))
        .expect("the address is right");
    let config =
        redis::AsyncConnectionConfig::new().set_response_timeout(Some(Duration::from_secs(60)));
    client
        .get_multiplexed_async_connection_with_config(&config)
        .await
        .expect("the server is there")
}

/// Fills a list with jobs.
pub(crate) async fn fill(server: &Server, jobs: usize) {
    let mut connection = connect(server).await;
    let packed = [b'x'; 126];
    for _ in 0..jobs / BATCH {
        let mut push = redis::cmd("RPUSH");
        push.arg("bare");
        for _ in 0..BATCH {
            push.arg(&packed[..]);
        }
        let _: i64 = push.query_async(&mut connection).await.expect("pushed");
    }
}

/// Finishes and takes until the list is empty; jobs a second.
pub(crate) async fn drain(server: &Server, jobs: usize) -> f64 {
    let script = "redis.call('DEL', KEYS[2]) local jobs = redis.call('LPOP', KEYS[1], 100) \
                  if jobs then redis.call('RPUSH', KEYS[2], unpack(jobs)) end return jobs";
    let connection = connect(server).await;
    let began = Instant::now();
    let callers = (0..CALLERS).map(|number| {
        let mut connection = connection.clone();
        tokio::spawn(async move {
            loop {
                let mut take = redis::cmd("EVAL");
                take.arg(script)
                    .arg(2)
                    .arg("bare")
                    .arg(format!("held{number}"));
                let taken: Option<Vec<Vec<u8>>> =
                    take.query_async(&mut connection).await.expect("taken");
                if taken.is_none() {
                    break;
                }
            }
        })
    });
    for caller in callers.collect::<Vec<_>>() {
        caller.await.expect("a caller ends well");
    }
    jobs as f64 / began.elapsed().as_secs_f64()
}

/// Milliseconds from a push to the pop that waited for it on another connection, and of a ping.
pub(crate) async fn hand_over(server: &Server, rounds: usize) -> (Sample, Sample) {
    let (mut popping, mut pushing) = (connect(server).await, connect(server).await);
    let (popped, mut is_popped) = tokio::sync::mpsc::channel(1);
    tokio::spawn(async move {
        for _ in 0..rounds {
            let _: (String, String) = redis::cmd("BLPOP")
                .arg("hand")
                .arg(0)
                .query_async(&mut popping)
                .await
                .expect("popped");
            popped.send(Instant::now()).await.expect("heard");
        }
    });
    let (mut pops, mut pings) = (Sample::default(), Sample::default());
    for _ in 0..rounds {
        // Long enough for the pop to be waiting again.
        tokio::time::sleep(Duration::from_millis(2)).await;
        let began = Instant::now();
        let _: String = redis::cmd("PING")
            .query_async(&mut pushing)
            .await
            .expect("answered");
        pings.push(began.elapsed().as_secs_f64() * 1e3);
        let began = Instant::now();
        let push = async {
            let _: i64 = redis::cmd("RPUSH")
                .arg("hand")
                .arg("x")
                .query_async(&mut pushing)
                .await
                .expect("pushed");
        };
        let ((), at) = tokio::join!(push, is_popped.recv());
        let at = at.expect("the pop goes on");
        pops.push((at - began).as_secs_f64() * 1e3);
        tokio::time::sleep(Duration::from_millis(2)).await;
        let began = Instant::now();
        let _: String = redis::cmd("PING")
            .query_async(&mut pushing)
            .await
            .expect("answered");
        pings.push(began.elapsed().as_secs_f64() * 1e3);
    }
    (pops, pings)
}
