//! The results of a scenario on one target.

use serde::Serialize;

use crate::aof::Aof;
use crate::measure::{Metric, Metrics};
use crate::quick::QuickReport;
use crate::scenario::Scenario;
use crate::target::LoadTarget;

/// One result of a run.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub enum Measured {
    /// The run without a scenario.
    Quick(QuickReport),
    /// A scenario on one target.
    Scenario(Report),
}

/// The results of a scenario on one target, over all rounds.
#[derive(Debug, Clone, Serialize)]
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

    /// Whether no accepted job was lost and none started before it was due, as far as the scenario
    /// counts them.
    pub(crate) fn is_correct(&self) -> bool {
        let mut errors = self
            .metrics()
            .filter(|(name, _)| ["lost", "early"].contains(name));
        errors.all(|(_, metric)| metric == Metric::Total(0))
    }
}
