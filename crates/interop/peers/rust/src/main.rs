//! The real redis-work-queue client for Rust, driven line by line from a test.
//!
//! A line is an operation and its arguments, separated by tabs. The reply is one line: `ok` with
//! the result, or `failed` with the error. Every operation uses a new connection, so that a lost one
//! affects only that operation.

use std::io::{BufRead, Write, stdin, stdout};
use std::time::Duration;

use redis::RedisResult;
use redis::aio::MultiplexedConnection;
use redis_work_queue::{Item, KeyPrefix, WorkQueue};

fn main() {
    let prefix = std::env::args().nth(1).expect("the first argument is the prefix");
    let queue = WorkQueue::new(KeyPrefix::new(prefix));
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime starts");
    for line in stdin().lock().lines() {
        let line = line.expect("lines are UTF-8");
        let args: Vec<&str> = line.split('\t').collect();
        let mut reply = vec!["ok".to_owned()];
        match runtime.block_on(perform(&queue, &args)) {
            Ok(result) => reply.extend(result),
            Err(error) => reply = vec!["failed".to_owned(), error.to_string().replace('\n', " ")],
        }
        println!("{}", reply.join("\t"));
        stdout().flush().expect("stdout is open");
    }
}

async fn perform(queue: &WorkQueue, args: &[&str]) -> RedisResult<Vec<String>> {
    let client = redis::Client::open(format!("redis://127.0.0.1:{}/", args[1]))?;
    let db = &mut client.get_multiplexed_async_connection().await?;
    Ok(match (args[0], &args[2..]) {
        ("add", [id, data]) => vec![queue.add_item(db, &item(id, data)).await?.to_string()],
        ("add-unique", [id, data]) => {
            queue.add_unique_item(db, &item(id, data)).await?;
            Vec::new()
        }
        ("add-many", [name, from, to]) => {
            for number in number(from)..number(to) {
                let id = format!("{name}{number}");
                queue
                    .add_item(db, &item(&id, &format!("data of {id}")))
                    .await?;
            }
            Vec::new()
        }
        ("lease", [lease]) => item_reply(queue.lease(db, Some(Duration::ZERO), secs(lease)).await?),
        ("lease-wait", [lease, wait]) => {
            item_reply(queue.lease(db, Some(secs(wait)), secs(lease)).await?)
        }
        ("complete", [id]) => vec![queue.complete(db, &item(id, "")).await?.to_string()],
        ("counts", []) => vec![
            queue.queue_len(db).await?.to_string(),
            queue.processing(db).await?.to_string(),
        ],
        ("work", [lease]) => work(queue, db, secs(lease)).await?,
        _ => panic!("unknown operation: {args:?}"),
    })
}

/// Leases and completes until both lists are empty.
async fn work(
    queue: &WorkQueue,
    db: &mut MultiplexedConnection,
    lease: Duration,
) -> RedisResult<Vec<String>> {
    let mut handled = Vec::new();
    loop {
        if let Some(item) = queue.lease(db, Some(Duration::from_secs(1)), lease).await? {
            let done = queue.complete(db, &item).await?;
            handled.push(format!("{}={}={done}", item.id, text(&item.data)));
        } else if queue.queue_len(db).await? == 0 && queue.processing(db).await? == 0 {
            return Ok(handled);
        }
    }
}

fn item_reply(item: Option<Item>) -> Vec<String> {
    match item {
        Some(item) => vec!["item".to_owned(), item.id, text(&item.data)],
        None => vec!["none".to_owned()],
    }
}

fn item(id: &str, data: &str) -> Item {
    Item {
        id: id.to_owned(),
        data: data.as_bytes().into(),
    }
}

fn text(data: &[u8]) -> String {
    String::from_utf8_lossy(data).into_owned()
}

fn number(text: &str) -> u64 {
    text.parse().expect("a number")
}

fn secs(text: &str) -> Duration {
    Duration::from_secs(number(text))
}
