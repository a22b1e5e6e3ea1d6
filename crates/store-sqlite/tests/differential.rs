//! Compares the SQLite store with the memory store: same calls, same replies, same state.

use std::sync::Arc;

use windlass_core::ManualClock;
use windlass_store_sqlite::{Options, SqliteStore, Synchronous};
use windlass_testkit::{StoreUnderTest, differential};

async fn open(clock: Arc<ManualClock>) -> StoreUnderTest {
    let folder = tempfile::tempdir().expect("create a temporary folder");
    let options = Options {
        clock,
        // This test does not check what survives a power loss.
        synchronous: Synchronous::Off,
        ..Options::default()
    };
    let store = SqliteStore::open(&folder.path().join("jobs.db"), options);
    StoreUnderTest::guarded(store.expect("open a new store"), folder)
}

#[tokio::test]
async fn the_store_answers_like_the_specification() {
    let steps = differential::steps_from_env(5_000);

    let coverage = differential::run_all(open, &[1, 2, 3, 4, 5, 6], steps).await;

    println!("{coverage}");
}
