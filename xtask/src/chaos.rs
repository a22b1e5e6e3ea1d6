//! `cargo xtask chaos`: the long crash tests of a store and its workers, in release mode, with their
//! seeds printed. On Redis, servers also die, fail over and run out of memory.

use std::path::Path;
use std::process::ExitCode;

use clap::{Args, ValueEnum};
use xtask::cargo::cargo;

/// The store to test.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Store {
    Sqlite,
    Redis,
}

/// The options of a run.
#[derive(Debug, PartialEq, Eq, Args)]
pub(crate) struct Options {
    /// Store to test
    #[arg(long, value_name = "NAME", value_enum, default_value = "sqlite")]
    store: Store,

    /// Processes to kill
    #[arg(long, value_name = "N", default_value_t = 200)]
    kills: u64,

    /// Length of the worker and fault tests, as a multiple of the length in `check`
    #[arg(long, value_name = "N", default_value_t = 10)]
    rounds: u64,

    /// Repeat a run [default: random]
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
}

impl Options {
    /// The cargo commands to run.
    fn runs(&self) -> &'static [&'static str] {
        match self.store {
            // Sequential, so that killed processes do not disturb what is measured.
            Store::Sqlite => &[
                "test --release --package windlass-chaos --test crash sqlite -- --nocapture",
                "test --release --package windlass-chaos --test schedules sqlite -- --nocapture",
                "test --release --package windlass-chaos --test groups sqlite -- --nocapture \
                 --test-threads 1",
                "test --release --package windlass-chaos --test worker on_sqlite -- --nocapture \
                 --test-threads 1",
            ],
            Store::Redis => &[
                "test --release --package windlass-chaos --test crash redis -- --nocapture",
                "test --release --package windlass-chaos --test schedules redis -- --nocapture",
                "test --release --package windlass-chaos --test groups redis -- --nocapture \
                 --test-threads 1",
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
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        options: Options,
    }

    #[test]
    fn a_run_is_200_kills_on_sqlite_by_default() {
        let parse = |line: &[&str]| {
            let parsed = Line::try_parse_from([&["chaos"], line].concat());
            parsed.ok().map(|line| line.options)
        };
        let options = |store, kills, seed| {
            Some(Options {
                store,
                kills,
                rounds: 10,
                seed,
            })
        };
        assert_eq!(parse(&[]), options(Store::Sqlite, 200, None));
        let few = ["--kills", "5"];
        assert_eq!(parse(&few), options(Store::Sqlite, 5, None));
        let both = ["--seed", "7", "--store", "redis"];
        assert_eq!(parse(&both), options(Store::Redis, 200, Some(7)));
        for bad in [["--kills", "many"], ["--store", "paper"]] {
            assert_eq!(parse(&bad), None);
        }
        assert_eq!(parse(&["--kills"]), None);
    }
}
