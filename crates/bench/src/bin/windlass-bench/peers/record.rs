//! The results of a run, as stored in `target/bench/peers.json`.

use std::path::Path;

use serde::{Deserialize, Serialize};

use windlass_bench::Spread;

use super::peer::Peer;
use super::turn::Turn;
use super::{Arguments, fetch, turn};
use crate::machine::{self, Machine};

/// One run of `windlass-bench peers`.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Record {
    pub(crate) date: String,
    pub(crate) command: String,
    pub(crate) machine: Machine,
    pub(crate) payload: u32,
    pub(crate) peers: Vec<Runs>,
}

impl Record {
    pub(crate) fn begin(arguments: &Arguments) -> Self {
        Self {
            date: machine::today(),
            command: arguments.shown(),
            machine: Machine::detect(),
            payload: turn::PAYLOAD,
            peers: Vec::new(),
        }
    }

    /// Windlass.
    pub(crate) fn ours(&self) -> Option<&Runs> {
        self.peers.iter().find(|runs| runs.name == "windlass")
    }

    /// The fastest other queue whose jobs survive the crash of a worker.
    pub(crate) fn fastest_keeper(&self) -> Option<&Runs> {
        let others = self.peers.iter().filter(|runs| runs.name != "windlass");
        let keepers = others.filter(|runs| runs.keeps_jobs);
        let speed = |runs: &&Runs| runs.process().map_or(0.0, |spread| spread.median);
        keepers
            .filter(|runs| runs.process().is_some())
            .max_by(|one, other| speed(one).total_cmp(&speed(other)))
    }
}

/// One queue, round by round.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Runs {
    pub(crate) name: String,
    pub(crate) version: String,
    pub(crate) keeps_jobs: bool,
    pub(crate) concurrency: u32,
    pub(super) rounds: Vec<Turn>,
}

impl Runs {
    pub(super) fn of(root: &Path, peer: &Peer) -> Result<Self, String> {
        Ok(Self {
            name: peer.name.to_owned(),
            version: fetch::version(root, peer)?,
            keeps_jobs: peer.keeps_jobs,
            concurrency: peer.concurrency,
            rounds: Vec::new(),
        })
    }

    /// The spread of a value over the rounds that have it.
    pub(super) fn spread(&self, value: impl Fn(&Turn) -> Option<f64>) -> Option<Spread> {
        Spread::of(self.rounds.iter().filter_map(value))
    }

    /// Jobs processed per second.
    pub(crate) fn process(&self) -> Option<Spread> {
        self.spread(|turn| Some(turn.process?.per_s))
    }

    /// Time from enqueue to start in an idle worker, median of a round, in milliseconds.
    pub(crate) fn pickup(&self) -> Option<Spread> {
        self.spread(|turn| Some(turn.pickup?.p50_ms))
    }

    /// All failures, without repetitions.
    pub(crate) fn failures(&self) -> Vec<&str> {
        let mut all: Vec<&str> = Vec::new();
        for failure in self.rounds.iter().flat_map(|turn| &turn.failures) {
            if !all.contains(&failure.as_str()) {
                all.push(failure);
            }
        }
        all
    }
}

/// A run of four queues: Windlass, one that keeps its jobs, one that loses them, one that failed.
#[cfg(test)]
pub(crate) fn example() -> Record {
    use super::cost::Snapshot;
    use super::turn::{Pickup, Rate};

    fn turn(per_s: f64) -> Turn {
        let nothing = Snapshot::default();
        Turn {
            process: Some(Rate {
                jobs: 10,
                seconds: 10.0 / per_s,
                per_s,
                cost: nothing.since(&nothing, 10),
            }),
            pickup: Some(Pickup {
                p50_ms: 1_000.0 / per_s,
                p99_ms: 3_000.0 / per_s,
            }),
            ..Turn::default()
        }
    }
    let runs = |name: &str, version: &str, keeps_jobs, speeds: &[f64]| Runs {
        name: name.to_owned(),
        version: version.to_owned(),
        keeps_jobs,
        concurrency: 1,
        rounds: speeds.iter().map(|per_s| turn(*per_s)).collect(),
    };
    let mut record = Record::begin(&Arguments {
        only: Vec::new(),
        rounds: 1,
        jobs: None,
    });
    record.peers = vec![
        runs("windlass", "0.1.0", true, &[1_000.0, 1_000.0]),
        runs("keeper", "2", true, &[100.0]),
        runs("slow", "1.2.3", false, &[200.0, 300.0]),
        runs("broken", "9", true, &[]),
    ];
    record.peers[3].rounds.push(Turn {
        failures: vec!["process: timed out after 60 s".to_owned()],
        ..Turn::default()
    });
    record
}
