//! Named metrics of one round, and of all rounds together.
//!
//! Names are dotted paths; in JSON they become nested objects.

use serde::{Serialize, Serializer};
use serde_json::{Map, Value};

use super::{Spread, over};

/// The metrics of one round, in the order they were recorded.
#[derive(Debug, Default)]
pub(crate) struct Round {
    rates: Vec<(String, f64)>,
    counts: Vec<(String, u64)>,
}

impl Round {
    /// Our jobs per second, compared with the bare engine with one caller and with several.
    pub(crate) fn compared(per_s: f64, one: Option<f64>, four: Option<f64>) -> Self {
        let mut round = Self::default();
        round.record("per_s", per_s);
        round.record_some("limit.one_caller", one);
        round.record_some("limit.four_callers", four);
        round.record_some("ratio", over(per_s, one));
        round.record_some("ratio_pipelined", over(per_s, four));
        round
    }

    /// Records a metric that varies between rounds.
    pub(crate) fn record(&mut self, name: impl Into<String>, value: f64) {
        self.rates.push((name.into(), value));
    }

    /// Like [`record`](Self::record), if there is a value.
    pub(crate) fn record_some(&mut self, name: impl Into<String>, value: Option<f64>) {
        if let Some(value) = value {
            self.record(name, value);
        }
    }

    /// Records a count, to be summed over all rounds.
    pub(crate) fn count(&mut self, name: impl Into<String>, count: u64) {
        self.counts.push((name.into(), count));
    }

    pub(crate) fn get(&self, name: &str) -> Option<f64> {
        let found = self.rates.iter().find(|(it, _)| it == name);
        found.map(|(_, value)| *value)
    }
}

/// One metric of all rounds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Metric {
    /// The sum of a count.
    Total(u64),
    /// The spread of a metric that varies between rounds.
    Spread(Spread),
}

/// The metrics of all rounds, by name.
#[derive(Debug, Clone, Default)]
pub(crate) struct Metrics(pub(crate) Vec<(String, Metric)>);

impl Metrics {
    /// Summarizes rounds: counts first, then metrics that vary.
    pub(crate) fn of(rounds: &[Round]) -> Self {
        let mut metrics = Vec::new();
        for (name, _) in rounds.first().map_or(&[][..], |round| &round.counts) {
            let all = rounds.iter().flat_map(|round| &round.counts);
            let sum = all.filter(|(it, _)| it == name).map(|(_, count)| count);
            metrics.push((name.clone(), Metric::Total(sum.sum())));
        }
        let mut seen: Vec<&str> = Vec::new();
        for (name, _) in rounds.iter().flat_map(|round| &round.rates) {
            if seen.contains(&name.as_str()) {
                continue;
            }
            seen.push(name);
            let spread = Spread::of(rounds.iter().filter_map(|round| round.get(name)));
            metrics.extend(spread.map(|spread| (name.clone(), Metric::Spread(spread))));
        }
        Self(metrics)
    }

    /// As nested objects.
    fn to_json(&self) -> Value {
        let mut all = Map::new();
        'metrics: for (name, metric) in &self.0 {
            let value = serde_json::to_value(metric).unwrap_or(Value::Null);
            let mut parts: Vec<&str> = name.split('.').collect();
            let last = parts.pop().unwrap_or_default();
            let mut object = &mut all;
            for key in parts {
                let inner = object
                    .entry(key)
                    .or_insert_with(|| Value::Object(Map::new()));
                // Skip a name below another metric.
                let Value::Object(inner) = inner else {
                    continue 'metrics;
                };
                object = inner;
            }
            object.insert(last.to_owned(), value);
        }
        Value::Object(all)
    }
}

impl Serialize for Metrics {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.to_json().serialize(serializer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounds_become_one_object_with_sums_and_spreads() {
        let rounds: Vec<Round> = [(1.0, 2), (3.0, 5)]
            .into_iter()
            .map(|(rate, lost)| {
                let mut round = Round::default();
                round.record("limit.one_caller", rate);
                round.count("lost", lost);
                round
            })
            .collect();
        let text = Metrics::of(&rounds).to_json().to_string();
        assert_eq!(
            text,
            r#"{"limit":{"one_caller":{"max":3.0,"median":2.0,"min":1.0}},"lost":7}"#
        );
    }
}
