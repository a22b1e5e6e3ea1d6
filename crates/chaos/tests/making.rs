//! A process killed while it makes the store leaves something the next one can open.

use std::time::Duration;

use tokio::time::sleep;
use windlass_chaos::actor::Stage;
use windlass_core::Store;
use windlass_store_sqlite::{Options, SqliteStore};

const PROGRAM: &str = env!("CARGO_BIN_EXE_windlass-actor");
const ROUNDS: u64 = 40;

/// Longer than it takes to start and to make the file: some are killed before, some after.
const LIFE_MAX: Duration = Duration::from_millis(40);

#[tokio::test]
async fn a_store_whose_making_was_cut_short_can_be_opened() {
    let mut made = 0;
    for round in 0..ROUNDS {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("jobs.db");
        let stage = Stage::new(PROGRAM, &path);
        let mut makers = Vec::new();
        for name in ["maker-1", "maker-2"] {
            makers.push(stage.start(name, &["drainer".to_owned()]).unwrap());
        }

        // The fault itself: every round strikes a little later.
        sleep(LIFE_MAX * u32::try_from(round).unwrap() / u32::try_from(ROUNDS).unwrap()).await;
        for mut maker in makers {
            // One that had ended by itself needs no blow.
            let _ = maker.strike();
            maker.bury().await.unwrap();
        }

        made += usize::from(path.exists());
        let store = SqliteStore::open(&path, Options::default())
            .unwrap_or_else(|error| panic!("round {round}: {error:?}"));
        assert_eq!(store.queues().await.unwrap(), []);
        assert_eq!(store.check_file().await.unwrap(), [""; 0]);
    }
    println!("{ROUNDS} rounds, {made} with a file left behind");
}
