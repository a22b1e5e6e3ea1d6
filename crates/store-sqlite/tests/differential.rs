//! The SQLite store against the specification: the same calls, the same answers, the same state.

use std::sync::Arc;

use windlass_core::ManualClock;
use windlass_store_sqlite::{Options, SqliteStore, Synchronous};
use windlass_testkit::{StoreUnderTest, differential};

async fn open(clock: Arc<ManualClock>) -> StoreUnderTest {
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let options = Options {
        clock,
        // What survives a loss of power is not asked here.
        synchronous: Synchronous::Off,
        ..Options::default()
    };
    let store = SqliteStore::open(&folder.path().join("jobs.db"), options);
    StoreUnderTest::guarded(store.expect("a new file can be opened"), folder)
}

#[tokio::test]
async fn the_store_answers_like_the_specification() {
    let steps = differential::steps_from_env(5_000);

    let coverage = differential::run_all(open, &[1, 2, 3, 4], steps).await;

    println!("{coverage}");
}
