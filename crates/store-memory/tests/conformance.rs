//! The memory store keeps every promise.

use std::sync::Arc;

use windlass_core::ManualClock;
use windlass_store_memory::MemoryStore;
use windlass_testkit::Opened;

async fn open(clock: Arc<ManualClock>) -> Opened {
    Opened::new(MemoryStore::new(clock))
}

windlass_testkit::conformance!(open);
