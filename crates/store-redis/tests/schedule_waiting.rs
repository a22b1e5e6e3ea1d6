//! Idle workers hear of an instant that is earlier than the one they wait for.

use std::time::Duration;

use windlass_core::store::{Notification, Times};
use windlass_core::{Clock, Result, Store, SystemClock, Timestamp};
use windlass_store_redis::{Options, RedisStore};
use windlass_testkit::fixture::{every, queue};
use windlass_testkit::redis::Server;

/// The maximum time to wait for a notification.
const TIMEOUT: Duration = Duration::from_secs(20);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_earlier_instant_is_announced() -> Result<()> {
    let server = Server::start();
    let store = RedisStore::open(&server.url(), Options::default()).await?;
    let queue = queue("q");
    store.enqueue(&queue, Vec::new()).await?;
    let mut watch = store.watch(std::slice::from_ref(&queue)).await?;

    let now = SystemClock.now_us() / 1_000_000;
    for (name, seconds) in [("in a day", 86_399), ("in an hour", 3_600)] {
        let mut schedule = every(&name.replace(' ', "-"), 86_400);
        schedule.rule.times = Times::Every {
            period: Duration::from_secs(86_400),
            anchor: Timestamp::from_ms((now + seconds) * 1000),
        };
        windlass_schedule::put(&store, &queue, schedule, None).await?;

        let heard = tokio::time::timeout(TIMEOUT, watch.next()).await;
        let heard = heard.expect("it is announced");
        assert_eq!(heard, Some(Notification::Work(queue.clone())), "{name}");
    }
    Ok(())
}
