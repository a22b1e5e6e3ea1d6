//! Runs the conformance suite on the memory store.

use std::sync::Arc;

use windlass_core::ManualClock;
use windlass_store_memory::MemoryStore;
use windlass_testkit::StoreUnderTest;

async fn open(clock: Arc<ManualClock>) -> StoreUnderTest {
    StoreUnderTest::new(MemoryStore::new(clock))
}

windlass_testkit::conformance!(open);
