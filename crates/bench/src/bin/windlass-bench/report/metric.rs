//! Finds a metric in the output of a run, and compares it with its target.

use serde::Deserialize;
use serde_json::Value;
use windlass_bench::Spread;

use super::Results;
use crate::number;
use crate::peers::Record;

/// Which direction is better.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Better {
    Higher,
    Lower,
}

/// The run, the scenario and the path of a metric. The scenario is empty for a run without one, whose
/// metrics are at the top level.
type At = (String, String, String);

/// One row of the design's table.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Target {
    pub(super) what: String,
    /// Windlass divided by the fastest other queue that keeps its jobs, if not set.
    at: Option<At>,
    aof: Option<String>,
    /// Divides the metric.
    over: Option<At>,
    better: Better,
    pub(super) floor: f64,
    pub(super) goal: f64,
}

impl Target {
    /// The value and the name of its run; `None` if it was not measured.
    pub(super) fn measured(
        &self,
        results: &Results,
        peers: Option<&Record>,
    ) -> Option<(Spread, String)> {
        let Some(at) = &self.at else {
            let keeper = peers?.fastest_keeper()?;
            let ratio = peers?.ours()?.process()?.median / keeper.process()?.median;
            let source = format!("other queues: {}", keeper.name);
            return Some((Spread::of([ratio])?, source));
        };
        let mut value = self.find(at, results)?;
        if let Some(over) = &self.over {
            value = Spread::of([value.median / self.find(over, results)?.median])?;
        }
        Some((value, at.0.clone()))
    }

    fn find(&self, (run, scenario, path): &At, results: &Results) -> Option<Spread> {
        let run = results.runs.iter().find(|result| result.name == *run)?;
        let line = run.lines.iter().find(|line| {
            let aof = self.aof.as_deref();
            line["scenario"].as_str().unwrap_or_default() == scenario
                && (aof.is_none() || line["aof"].as_str() == aof)
        })?;
        let metrics = line.get("metrics").unwrap_or(line);
        let mut parts = path.split('.');
        spread(parts.try_fold(metrics, |at, part| at.get(part))?)
    }

    /// Whether a value meets a bound.
    pub(super) fn meets(&self, value: f64, bound: f64) -> bool {
        match self.better {
            Better::Higher => value >= bound,
            Better::Lower => value <= bound,
        }
    }
}

/// A value of one or of several rounds.
fn spread(value: &Value) -> Option<Spread> {
    match value.as_f64() {
        Some(number) => Spread::of([number]),
        None => Spread::deserialize(value).ok(),
    }
}

/// All metrics below a JSON value, each with its path.
pub(super) fn all(value: &Value, path: &str, found: &mut Vec<(String, String)>) {
    if let Some(spread) = spread(value) {
        found.push((path.to_owned(), number::spread(&spread)));
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
