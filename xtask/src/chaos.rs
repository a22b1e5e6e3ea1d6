//! `cargo xtask chaos`: the long crash tests of a store and its workers, in release mode, with their
//! seeds printed. On Redis, servers also die, fail over and run out of memory.

use std::path::Path;
use std::process::ExitCode;

use crate::cargo::cargo;

const KILLS: u64 = 200;

/// Length of the worker tests and the Redis fault tests, as a multiple of their length in `check`.
const ROUNDS: u64 = 10;

/// The store to test.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Store {
    Sqlite,
    Redis,
}

/// The options of a run.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Options {
    store: Store,
    kills: u64,
    rounds: u64,
    /// The test picks one if not set.
    seed: Option<u64>,
}

impl Options {
    /// Parses `--store NAME`, `--kills N`, `--rounds N` and `--seed N`. Returns `None` if they are
    /// invalid.
    pub(crate) fn parse(arguments: &[&str]) -> Option<Self> {
        let mut options = Self {
            store: Store::Sqlite,
            kills: KILLS,
            rounds: ROUNDS,
            seed: None,
        };
        for option in arguments.chunks(2) {
            match option {
                ["--store", "sqlite"] => options.store = Store::Sqlite,
                ["--store", "redis"] => options.store = Store::Redis,
                ["--kills", kills] => options.kills = kills.parse().ok()?,
                ["--rounds", rounds] => options.rounds = rounds.parse().ok()?,
                ["--seed", seed] => options.seed = Some(seed.parse().ok()?),
                _ => return None,
            }
        }
        Some(options)
    }

    /// The cargo commands to run.
    fn runs(&self) -> &'static [&'static str] {
        match self.store {
            // Sequential, so that killed processes do not disturb what is measured.
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
pub(crate) fn run(root: &Path, options: &Options) -> ExitCode {
    for arguments in options.runs() {
        let mut command = cargo(root, &arguments.split_whitespace().collect::<Vec<_>>());
        command.env("WINDLASS_KILLS", options.kills.to_string());
        command.env("WINDLASS_ROUNDS", options.rounds.to_string());
        if let Some(seed) = options.seed {
            command.env("WINDLASS_SEED", seed.to_string());
        }
        match command.status() {
            Ok(status) if status.success() => {}
            Ok(_) => {
                println!("to repeat a run, pass the seed printed above: `--seed N`");
                return ExitCode::FAILURE;
            }
            Err(error) => {
                println!("could not start `cargo {arguments}`: {error}");
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
    fn a_run_is_200_kills_on_sqlite_by_default() {
        let options = |store, kills, seed| {
            Some(Options {
                store,
                kills,
                rounds: 10,
                seed,
            })
        };
        assert_eq!(Options::parse(&[]), options(Store::Sqlite, 200, None));
        let few = ["--kills", "5"];
        assert_eq!(Options::parse(&few), options(Store::Sqlite, 5, None));
        let both = ["--seed", "7", "--store", "redis"];
        assert_eq!(Options::parse(&both), options(Store::Redis, 200, Some(7)));
        for bad in [["--kills", "many"], ["--store", "paper"]] {
            assert_eq!(Options::parse(&bad), None);
        }
        assert_eq!(Options::parse(&["--kills"]), None);
    }
}
