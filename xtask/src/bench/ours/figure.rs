//! One figure among what a run printed.

use serde_json::Value;

use super::Ours;
use crate::bench::number::{Spread, shown};

/// Where a figure stands: the run, the scenario, the mode of the append-only file, the path.
#[derive(Debug, Clone, Copy)]
pub(super) struct Place {
    pub(super) run: &'static str,
    /// Empty for the run without a scenario, whose figures stand alone.
    pub(super) scenario: &'static str,
    pub(super) aof: Option<&'static str>,
    pub(super) path: &'static str,
}

impl Place {
    pub(super) const fn of(run: &'static str, scenario: &'static str, path: &'static str) -> Self {
        Self {
            run,
            scenario,
            aof: None,
            path,
        }
    }

    pub(super) const fn with(self, aof: &'static str) -> Self {
        Self {
            aof: Some(aof),
            ..self
        }
    }

    /// The figure, where it was measured.
    pub(super) fn find(&self, ours: &Ours) -> Option<Spread> {
        let run = ours.runs.iter().find(|ran| ran.name == self.run)?;
        let is_it = |line: &&Value| {
            let scenario = line["scenario"].as_str().unwrap_or_default();
            let aof = line["aof"].as_str();
            scenario == self.scenario && (self.aof.is_none() || aof == self.aof)
        };
        let line = run.lines.iter().find(is_it)?;
        let figures = if self.scenario.is_empty() {
            line
        } else {
            &line["figures"]
        };
        let found = self
            .path
            .split('.')
            .try_fold(figures, |at, part| at.get(part))?;
        spread(found)
    }
}

/// A figure of one or of several rounds.
pub(super) fn spread(value: &Value) -> Option<Spread> {
    if let Some(number) = value.as_f64() {
        return Spread::of([number]);
    }
    Some(Spread {
        least: value.get("min")?.as_f64()?,
        median: value.get("median")?.as_f64()?,
        most: value.get("max")?.as_f64()?,
    })
}

/// All figures below a value, each with its path.
pub(super) fn all(value: &Value, path: &str, found: &mut Vec<(String, String)>) {
    if let Some(spread) = spread(value) {
        found.push((path.to_owned(), spread.shown()));
        return;
    }
    for (name, value) in value.as_object().into_iter().flatten() {
        let path = match path {
            "" => name.clone(),
            path => format!("{path}.{name}"),
        };
        all(value, &path, found);
    }
}

/// A bound, as people read it.
pub(super) fn bound(value: f64) -> String {
    let text = shown(value);
    if text.contains('.') {
        return text.trim_end_matches('0').trim_end_matches('.').to_owned();
    }
    text
}
