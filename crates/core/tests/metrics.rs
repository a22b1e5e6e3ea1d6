//! The page about metrics, the alerts, the dashboard and the scaler use the metrics that exist.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot continue fails at that line"
)]

use std::collections::BTreeSet;
use std::path::Path;

use windlass_core::metrics::{ALL, MetricFamily, find};

const FILES: [&str; 5] = [
    "docs/metrics.md",
    "deploy/prometheus/alerts.yml",
    "deploy/grafana/windlass.json",
    "deploy/keda/scaledobject.yaml",
    "crates/cli/tests/metrics/alerts_test.yml",
];

fn read(path: &str) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    std::fs::read_to_string(root.join(path)).unwrap()
}

/// The family of a sample: histograms have three suffixes.
fn family(name: &str) -> Option<&'static MetricFamily> {
    let suffixes = ["_bucket", "_sum", "_count"];
    let histogram = suffixes.iter().find_map(|suffix| name.strip_suffix(suffix));
    let histogram = histogram.and_then(find);
    find(name).or(histogram.filter(|metric| metric.kind == "histogram"))
}

/// The metrics that a text names, each with the labels that it selects by.
fn uses(text: &str) -> Vec<(String, Vec<String>)> {
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let starts = text.match_indices("windlass_").map(|(at, _)| at);
    let starts = starts.filter(|at| !text[..*at].ends_with(is_name));
    let uses = starts.map(|at| {
        let end = text[at..].find(|c| !is_name(c)).unwrap_or(text.len() - at);
        let (name, rest) = text[at..].split_at(end);
        let selectors = rest
            .strip_prefix('{')
            .and_then(|rest| rest.split('}').next());
        let selectors = selectors.unwrap_or_default().split(',');
        let labels = selectors.filter_map(|selector| selector.split(['=', '!']).next());
        let labels = labels.filter(|label| !label.is_empty()).map(str::to_owned);
        (name.to_owned(), labels.collect())
    });
    uses.collect()
}

#[test]
fn every_metric_and_label_in_use_exists() {
    for file in FILES {
        let text = read(file);
        let uses = uses(&text);
        assert!(!uses.is_empty(), "{file}");
        for (name, labels) in uses {
            let Some(metric) = family(&name) else {
                panic!("{file} uses {name}, which does not exist");
            };
            for label in labels {
                // Prometheus adds the instance itself.
                let exists = label == "instance" || metric.labels.contains(&label.as_str());
                assert!(exists, "{file} selects {name} by {label}");
            }
        }
    }
}

#[test]
fn the_page_lists_every_metric() {
    let page = read("docs/metrics.md");
    let rows = page.lines().filter(|line| line.starts_with("| `windlass_"));
    let found: BTreeSet<_> = rows.map(str::to_owned).collect();
    let metrics = ALL.iter().flat_map(|table| table.iter());
    let expected: BTreeSet<_> = metrics
        .map(|metric| {
            let labels = match metric.labels {
                [] => "–".to_owned(),
                labels => labels.join(", "),
            };
            let MetricFamily {
                name, kind, help, ..
            } = metric;
            format!("| `{name}` | {kind} | {labels} | {help} |")
        })
        .collect();
    assert_eq!(found, expected);
}

#[test]
fn a_metric_or_label_that_does_not_exist_is_found() {
    let found = uses("sum(windlass_jobs{queue=~\"a\",state!=\"b\"}) / windlass_nothing");
    let labels = vec!["queue".to_owned(), "state".to_owned()];
    assert_eq!(found[0], ("windlass_jobs".to_owned(), labels));
    assert_eq!(found[1], ("windlass_nothing".to_owned(), vec![]));
    assert!(family("windlass_nothing").is_none() && family("windlass_jobs_bucket").is_none());
    assert!(family("windlass_wait_seconds_bucket").is_some());
}
