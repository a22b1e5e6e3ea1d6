//! Finds one metric in the output of a run.

use serde_json::Value;

use super::Results;
use crate::bench::number::{Spread, shown};

/// The path of a metric: run, scenario, mode of the append-only file, and JSON path.
#[derive(Debug, Clone, Copy)]
pub(super) struct Metric {
    pub(super) run: &'static str,
    /// Empty for a run without scenarios, whose metrics are at the top level.
    pub(super) scenario: &'static str,
    pub(super) aof: Option<&'static str>,
    pub(super) path: &'static str,
}

impl Metric {
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

    /// The value, if it was measured.
    pub(super) fn find(&self, results: &Results) -> Option<Spread> {
        let run = results.runs.iter().find(|result| result.name == self.run)?;
        let matches = |line: &&Value| {
            let scenario = line["scenario"].as_str().unwrap_or_default();
            let aof = line["aof"].as_str();
            scenario == self.scenario && (self.aof.is_none() || aof == self.aof)
        };
        let line = run.lines.iter().find(matches)?;
        let metrics = if self.scenario.is_empty() {
            line
        } else {
            &line["metrics"]
        };
        let found = self
            .path
            .split('.')
            .try_fold(metrics, |at, part| at.get(part))?;
        spread(found)
    }
}

/// A value of one or of several rounds.
pub(super) fn spread(value: &Value) -> Option<Spread> {
    if let Some(number) = value.as_f64() {
        return Spread::of([number]);
    }
    Some(Spread {
        min: value.get("min")?.as_f64()?,
        median: value.get("median")?.as_f64()?,
        max: value.get("max")?.as_f64()?,
    })
}

/// All metrics below a JSON value, each with its path.
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

/// Formats a floor or goal, without trailing zeros.
pub(super) fn bound(value: f64) -> String {
    let text = shown(value);
    if text.contains('.') {
        return text.trim_end_matches('0').trim_end_matches('.').to_owned();
    }
    text
}
