//! Conformance of the Redis store.

use std::sync::Arc;

use windlass_core::ManualClock;
use windlass_store_redis::{Options, RedisStore};
use windlass_testkit::StoreUnderTest;
use windlass_testkit::redis::Server;

async fn open(clock: Arc<ManualClock>) -> StoreUnderTest {
    let server = Server::start();
    let options = Options {
        clock: Some(clock),
        ..Options::default()
    };
    let store = RedisStore::open(&server.url(), options).await;
    StoreUnderTest::guarded(store.expect("a new server can be opened"), server)
}

windlass_testkit::conformance!(open);
