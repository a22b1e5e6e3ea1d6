//! What a scenario found on one place.

use serde::ser::{Serialize, SerializeMap, Serializer};

use crate::aof::Aof;
use crate::measure::{Figure, Figures};
use crate::place::Place;
use crate::scenario::Scenario;

/// The figures of all rounds.
#[derive(Debug, Clone)]
pub struct Report {
    /// What was measured.
    pub scenario: Scenario,
    /// The engine: `redis` or `sqlite`.
    pub store: &'static str,
    /// How durable a private Redis was.
    pub aof: Option<Aof>,
    /// How often each figure was taken.
    pub rounds: usize,
    figures: Figures,
}

impl Report {
    pub(crate) fn new(scenario: Scenario, place: &Place, rounds: usize, figures: Figures) -> Self {
        Self {
            scenario,
            store: place.engine(),
            aof: place.aof(),
            rounds,
            figures,
        }
    }

    /// All figures by name, in the order they were taken; a dot divides the parts of a name.
    pub fn figures(&self) -> impl Iterator<Item = (&str, Figure)> {
        let figures = self.figures.0.iter();
        figures.map(|(name, figure)| (name.as_str(), *figure))
    }

    /// Jobs that were accepted and never ended; none unless the scenario counts them.
    pub fn lost(&self) -> u64 {
        self.total("lost")
    }

    /// Jobs that started before they were due; none unless the scenario counts them.
    pub fn early(&self) -> u64 {
        self.total("early")
    }

    fn total(&self, wanted: &str) -> u64 {
        let found = self.figures().find(|(name, _)| *name == wanted);
        match found {
            Some((_, Figure::Total(count))) => count,
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
        map.serialize_entry("figures", &self.figures.to_json())?;
        map.end()
    }
}
