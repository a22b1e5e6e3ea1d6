//! The results of a scenario on one target.

use serde::ser::{Serialize, SerializeMap, Serializer};

use crate::aof::Aof;
use crate::measure::{Metric, Metrics};
use crate::scenario::Scenario;
use crate::target::LoadTarget;

/// The results of a scenario on one target, over all rounds.
#[derive(Debug, Clone)]
pub struct Report {
    /// The scenario.
    pub scenario: Scenario,
    /// The engine: `redis` or `sqlite`.
    pub store: &'static str,
    /// The append-only mode of a private Redis.
    pub aof: Option<Aof>,
    /// The number of rounds.
    pub rounds: usize,
    metrics: Metrics,
}

impl Report {
    pub(crate) fn new(
        scenario: Scenario,
        target: &LoadTarget,
        rounds: usize,
        metrics: Metrics,
    ) -> Self {
        Self {
            scenario,
            store: target.engine(),
            aof: target.aof(),
            rounds,
            metrics,
        }
    }

    /// All metrics by dotted name, in the order they were recorded.
    pub fn metrics(&self) -> impl Iterator<Item = (&str, Metric)> {
        let metrics = self.metrics.0.iter();
        metrics.map(|(name, metric)| (name.as_str(), *metric))
    }

    /// Accepted jobs that never ended; 0 if the scenario does not count them.
    pub fn lost(&self) -> u64 {
        self.total("lost")
    }

    /// Jobs that started before they were due; 0 if the scenario does not count them.
    pub fn early(&self) -> u64 {
        self.total("early")
    }

    fn total(&self, wanted: &str) -> u64 {
        let found = self.metrics().find(|(name, _)| *name == wanted);
        match found {
            Some((_, Metric::Total(count))) => count,
            _ => 0,
        }
    }
}

impl Serialize for Report {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(5))?;
        map.serialize_entry("scenario", self.scenario.as_str())?;
        map.serialize_entry("store", self.store)?;
        map.serialize_entry("aof", &self.aof)?;
        map.serialize_entry("rounds", &self.rounds)?;
        map.serialize_entry("metrics", &self.metrics.to_json())?;
        map.end()
    }
}
