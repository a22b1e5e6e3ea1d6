//! Conformance of the Redis store on a Cluster.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, LazyLock};

use windlass_core::ManualClock;
use windlass_store_redis::{Options, RedisStore};
use windlass_testkit::StoreUnderTest;
use windlass_testkit::redis::Cluster;

/// One Cluster for all cases of a test; it stops with the process.
static CLUSTER: LazyLock<Cluster> = LazyLock::new(Cluster::start);

/// Each case uses a separate prefix and thus a separate store.
static CASES: AtomicU32 = AtomicU32::new(0);

async fn open(clock: Arc<ManualClock>) -> StoreUnderTest {
    let case = CASES.fetch_add(1, Ordering::Relaxed);
    let options = Options {
        clock: Some(clock),
        ..Options::default()
    };
    let url = format!("{}?prefix=case{case}", CLUSTER.url());
    let store = RedisStore::open(&url, options).await;
    StoreUnderTest::new(store.expect("a new prefix can be opened"))
}

windlass_testkit::conformance_by_topic!(open);

mod differential {
    use windlass_testkit::differential;

    use super::open;

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn a_cluster_answers_like_the_specification() {
        let steps = differential::steps_from_env(5_000);

        let coverage = differential::run_all(open, &[1, 2, 3, 4, 7, 8], steps).await;

        println!("{coverage}");
    }
}
