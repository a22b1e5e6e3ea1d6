//! Compares the memory store with itself: two copies that get the same calls return the same replies.

use std::sync::Arc;

use windlass_core::ManualClock;
use windlass_store_memory::MemoryStore;
use windlass_testkit::{StoreUnderTest, differential};

async fn open(clock: Arc<ManualClock>) -> StoreUnderTest {
    StoreUnderTest::new(MemoryStore::new(clock))
}

#[tokio::test]
async fn the_specification_is_deterministic_and_sound() {
    let steps = differential::steps_from_env(5_000);

    let coverage = differential::run_all(open, &[1, 2, 3, 4, 5, 6], steps).await;

    println!("{coverage}");
}
