//! Runs the conformance suite on the SQLite store.

use std::sync::Arc;

use windlass_core::ManualClock;
use windlass_store_sqlite::{Options, SqliteStore};
use windlass_testkit::StoreUnderTest;

async fn open(clock: Arc<ManualClock>) -> StoreUnderTest {
    let folder = tempfile::tempdir().expect("create a temporary folder");
    let options = Options {
        clock,
        ..Options::default()
    };
    let store = SqliteStore::open(&folder.path().join("jobs.db"), options);
    StoreUnderTest::guarded(store.expect("open a new store"), folder)
}

windlass_testkit::conformance!(open);
