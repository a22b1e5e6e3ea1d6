//! Compares the Redis store with the reference model: the same calls, replies and state.

use std::sync::Arc;

use windlass_core::ManualClock;
use windlass_store_redis::open::ScriptChoice;
use windlass_store_redis::{Options, RedisStore};
use windlass_testkit::redis::Server;
use windlass_testkit::{StoreUnderTest, differential};

async fn open(clock: Arc<ManualClock>, scripts: ScriptChoice) -> StoreUnderTest {
    let server = Server::start();
    let options = Options {
        clock: Some(clock),
        scripts,
        ..Options::default()
    };
    let store = RedisStore::open(&server.url(), options).await;
    StoreUnderTest::guarded(store.expect("a new server can be opened"), server)
}

#[tokio::test]
async fn the_store_answers_like_the_specification() {
    let steps = differential::steps_from_env(5_000);

    let open = |clock| open(clock, ScriptChoice::FastFirst);
    let coverage = differential::run_all(open, &[1, 2, 3, 4, 5, 6], steps).await;

    println!("{coverage}");
}

#[tokio::test]
async fn the_fast_and_the_full_scripts_can_take_turns() {
    let steps = differential::steps_from_env(5_000);
    fastrand::seed(1);

    let open = |clock| open(clock, ScriptChoice::Random);
    let coverage = differential::run_all(open, &[1, 2, 3, 4, 5, 6], steps).await;

    println!("{coverage}");
}
