//! Named figures of one round, and of all rounds together.
//!
//! A name has parts divided by dots; in JSON each part is an object in the one before.

use serde::Serialize;
use serde_json::{Map, Value};

use super::{Spread, over};

/// The figures of one round, in the order they were taken.
#[derive(Debug, Default)]
pub(crate) struct Round {
    rates: Vec<(String, f64)>,
    counts: Vec<(String, u64)>,
}

impl Round {
    /// What we did in a second beside the bare engine, by one caller and by several at once.
    pub(crate) fn beside(per_s: f64, one: Option<f64>, four: Option<f64>) -> Self {
        let mut round = Self::default();
        round.note("per_s", per_s);
        round.note_some("limit.one_caller", one);
        round.note_some("limit.four_callers", four);
        round.note_some("ratio", over(per_s, one));
        round.note_some("ratio_pipelined", over(per_s, four));
        round
    }

    /// Writes down a figure that differs from round to round.
    pub(crate) fn note(&mut self, name: impl Into<String>, value: f64) {
        self.rates.push((name.into(), value));
    }

    /// As [`note`](Self::note), where there is one.
    pub(crate) fn note_some(&mut self, name: impl Into<String>, value: Option<f64>) {
        if let Some(value) = value {
            self.note(name, value);
        }
    }

    /// Writes down a count of which the sum over all rounds matters.
    pub(crate) fn count(&mut self, name: impl Into<String>, count: u64) {
        self.counts.push((name.into(), count));
    }

    pub(crate) fn get(&self, name: &str) -> Option<f64> {
        let found = self.rates.iter().find(|(it, _)| it == name);
        found.map(|(_, value)| *value)
    }
}

/// One figure of all rounds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Figure {
    /// The sum of a count.
    Total(u64),
    /// What differs from round to round.
    Spread(Spread),
}

/// The figures of all rounds, by name.
#[derive(Debug, Clone, Default)]
pub(crate) struct Figures(pub(crate) Vec<(String, Figure)>);

impl Figures {
    /// Counts first, then what differs from round to round.
    pub(crate) fn of(rounds: &[Round]) -> Self {
        let mut figures = Vec::new();
        for (name, _) in rounds.first().map_or(&[][..], |round| &round.counts) {
            let all = rounds.iter().flat_map(|round| &round.counts);
            let sum = all.filter(|(it, _)| it == name).map(|(_, count)| count);
            figures.push((name.clone(), Figure::Total(sum.sum())));
        }
        let mut seen: Vec<&str> = Vec::new();
        for (name, _) in rounds.iter().flat_map(|round| &round.rates) {
            if seen.contains(&name.as_str()) {
                continue;
            }
            seen.push(name);
            let values: Vec<f64> = rounds.iter().filter_map(|round| round.get(name)).collect();
            figures.push((name.clone(), Figure::Spread(Spread::of(&values))));
        }
        Self(figures)
    }

    /// As nested objects.
    pub(crate) fn to_json(&self) -> Value {
        let mut all = Map::new();
        'figures: for (name, figure) in &self.0 {
            let value = serde_json::to_value(figure).unwrap_or(Value::Null);
            let mut parts: Vec<&str> = name.split('.').collect();
            let last = parts.pop().unwrap_or_default();
            let mut object = &mut all;
            for part in parts {
                let inner = object
                    .entry(part)
                    .or_insert_with(|| Value::Object(Map::new()));
                // A name beneath a figure has no place.
                let Value::Object(inner) = inner else {
                    continue 'figures;
                };
                object = inner;
            }
            object.insert(last.to_owned(), value);
        }
        Value::Object(all)
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
                round.note("limit.one_caller", rate);
                round.count("lost", lost);
                round
            })
            .collect();
        let text = Figures::of(&rounds).to_json().to_string();
        assert_eq!(
            text,
            r#"{"limit":{"one_caller":{"max":3.0,"median":2.0,"min":1.0}},"lost":7}"#
        );
    }
}
