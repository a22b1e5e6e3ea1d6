//! `cargo xtask chaos`: the crash test at length, in release, with its plan printed.

use std::path::Path;
use std::process::ExitCode;

use crate::cargo::cargo;

const KILLS: u64 = 200;

/// How long a run is, and which.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Extent {
    kills: u64,
    /// Drawn by the test when nobody chose it.
    seed: Option<u64>,
}

impl Extent {
    /// Reads `--kills N` and `--seed N`; nothing when they cannot be read.
    pub(crate) fn read(options: &[&str]) -> Option<Self> {
        let mut extent = Self {
            kills: KILLS,
            seed: None,
        };
        for option in options.chunks(2) {
            match option {
                ["--kills", kills] => extent.kills = kills.parse().ok()?,
                ["--seed", seed] => extent.seed = Some(seed.parse().ok()?),
                _ => return None,
            }
        }
        Some(extent)
    }
}

/// Runs the crash test of the SQLite store.
pub(crate) fn run(root: &Path, extent: &Extent) -> ExitCode {
    let arguments = "test --release --package windlass-chaos --test crash -- --nocapture";
    let mut command = cargo(root, &arguments.split(' ').collect::<Vec<_>>());
    command.env("WINDLASS_KILLS", extent.kills.to_string());
    if let Some(seed) = extent.seed {
        command.env("WINDLASS_SEED", seed.to_string());
    }
    match command.status() {
        Ok(status) if status.success() => ExitCode::SUCCESS,
        Ok(_) => {
            println!("repeat the plan with the seed above: `cargo xtask chaos --seed N`");
            ExitCode::FAILURE
        }
        Err(error) => {
            println!("`cargo {arguments}` could not start: {error}");
            ExitCode::FAILURE
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_is_200_kills_unless_said_otherwise() {
        let extent = |kills, seed| Some(Extent { kills, seed });
        assert_eq!(Extent::read(&[]), extent(200, None));
        assert_eq!(Extent::read(&["--kills", "5"]), extent(5, None));
        let both = ["--seed", "7", "--kills", "5"];
        assert_eq!(Extent::read(&both), extent(5, Some(7)));
        assert_eq!(Extent::read(&["--kills"]), None);
        assert_eq!(Extent::read(&["--kills", "many"]), None);
    }
}
