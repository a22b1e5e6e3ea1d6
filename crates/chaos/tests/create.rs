//! A process killed while it creates the store leaves a file that the next one can open.

use std::time::Duration;

use tokio::time::sleep;
use windlass_chaos::actor::Launcher;
use windlass_core::Store;
use windlass_store_sqlite::{Options, SqliteStore};

const PROGRAM: &str = env!("CARGO_BIN_EXE_windlass-actor");
const ROUNDS: u64 = 40;

/// Longer than it takes to start and create the file: some are killed before, some after.
const RUN_MAX: Duration = Duration::from_millis(40);

#[tokio::test]
async fn a_store_whose_creation_was_interrupted_can_be_opened() {
    let mut created = 0;
    for round in 0..ROUNDS {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("jobs.db");
        let launcher = Launcher::new(PROGRAM, &path);
        let mut creators = Vec::new();
        for name in ["creator-1", "creator-2"] {
            creators.push(launcher.start(name, &["drainer".to_owned()]).unwrap());
        }

        // Each round kills a little later.
        sleep(RUN_MAX * u32::try_from(round).unwrap() / u32::try_from(ROUNDS).unwrap()).await;
        for mut creator in creators {
            // It may have exited by itself.
            let _ = creator.start_kill();
            creator.wait_killed().await.unwrap();
        }

        created += usize::from(path.exists());
        let store = SqliteStore::open(&path, Options::default())
            .unwrap_or_else(|error| panic!("round {round}: {error:?}"));
        assert_eq!(store.queues().await.unwrap(), []);
        assert_eq!(store.check_file().await.unwrap(), [""; 0]);
    }
    println!("{ROUNDS} rounds, {created} with a file left behind");
}
