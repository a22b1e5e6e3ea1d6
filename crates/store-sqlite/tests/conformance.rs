//! The SQLite store keeps every promise.

use std::sync::Arc;

use windlass_core::ManualClock;
use windlass_store_sqlite::{Options, SqliteStore};
use windlass_testkit::StoreUnderTest;

async fn open(clock: Arc<ManualClock>) -> StoreUnderTest {
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let options = Options {
        clock,
        ..Options::default()
    };
    let store = SqliteStore::open(&folder.path().join("jobs.db"), options);
    StoreUnderTest::guarded(store.expect("a new file can be opened"), folder)
}

windlass_testkit::conformance!(open);
