//! `cargo xtask chaos`: the crash tests of a store and of workers on it at length, in release, with
//! their plans printed; on Redis also servers that die, move and run full.

use std::path::Path;
use std::process::ExitCode;

use crate::cargo::cargo;

const KILLS: u64 = 200;

/// How many times as long as in every check the tests of workers and the faults of Redis last.
const ROUNDS: u64 = 10;

/// Which store is put to the test.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Store {
    Sqlite,
    Redis,
}

/// How long a run is, and which.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Extent {
    store: Store,
    kills: u64,
    rounds: u64,
    /// Drawn by the test when nobody chose it.
    seed: Option<u64>,
}

impl Extent {
    /// Reads `--store NAME`, `--kills N`, `--rounds N` and `--seed N`; nothing when they cannot be
    /// read.
    pub(crate) fn read(options: &[&str]) -> Option<Self> {
        let mut extent = Self {
            store: Store::Sqlite,
            kills: KILLS,
            rounds: ROUNDS,
            seed: None,
        };
        for option in options.chunks(2) {
            match option {
                ["--store", "sqlite"] => extent.store = Store::Sqlite,
                ["--store", "redis"] => extent.store = Store::Redis,
                ["--kills", kills] => extent.kills = kills.parse().ok()?,
                ["--rounds", rounds] => extent.rounds = rounds.parse().ok()?,
                ["--seed", seed] => extent.seed = Some(seed.parse().ok()?),
                _ => return None,
            }
        }
        Some(extent)
    }

    /// The runs of cargo that make it up.
    fn runs(&self) -> &'static [&'static str] {
        match self.store {
            // One after the other: what is measured is not disturbed by what else dies.
            Store::Sqlite => &[
                "test --release --package windlass-chaos --test crash sqlite -- --nocapture",
                "test --release --package windlass-chaos --test worker on_sqlite -- --nocapture \
                 --test-threads 1",
            ],
            Store::Redis => &[
                "test --release --package windlass-chaos --test crash redis -- --nocapture",
                "test --release --package windlass-chaos --test worker on_redis -- --nocapture \
                 --test-threads 1",
                "test --release --package windlass-store-redis --test faults -- --nocapture \
                 --test-threads 1",
            ],
        }
    }
}

/// Runs the crash tests of a store.
pub(crate) fn run(root: &Path, extent: &Extent) -> ExitCode {
    for arguments in extent.runs() {
        let mut command = cargo(root, &arguments.split_whitespace().collect::<Vec<_>>());
        command.env("WINDLASS_KILLS", extent.kills.to_string());
        command.env("WINDLASS_ROUNDS", extent.rounds.to_string());
        if let Some(seed) = extent.seed {
            command.env("WINDLASS_SEED", seed.to_string());
        }
        match command.status() {
            Ok(status) if status.success() => {}
            Ok(_) => {
                println!("a plan is repeated with its seed, if one is above: `--seed N`");
                return ExitCode::FAILURE;
            }
            Err(error) => {
                println!("`cargo {arguments}` could not start: {error}");
                return ExitCode::FAILURE;
            }
        }
    }
    ExitCode::SUCCESS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_is_200_kills_on_sqlite_unless_said_otherwise() {
        let extent = |store, kills, seed| {
            Some(Extent {
                store,
                kills,
                rounds: 10,
                seed,
            })
        };
        assert_eq!(Extent::read(&[]), extent(Store::Sqlite, 200, None));
        let few = ["--kills", "5"];
        assert_eq!(Extent::read(&few), extent(Store::Sqlite, 5, None));
        let both = ["--seed", "7", "--store", "redis"];
        assert_eq!(Extent::read(&both), extent(Store::Redis, 200, Some(7)));
        for bad in [["--kills", "many"], ["--store", "paper"]] {
            assert_eq!(Extent::read(&bad), None);
        }
        assert_eq!(Extent::read(&["--kills"]), None);
    }
}
