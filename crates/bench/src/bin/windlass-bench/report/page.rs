//! Writes docs/performance.md from the stored results.

use std::fmt::Write as _;

use super::metric::{Target, all};
use super::{CommandResult, Design, Results};
use crate::number::{shown, spread};
use crate::peers::{Record, section};

/// The page without its measurements.
const TEMPLATE: &str = include_str!("page.template");

/// The whole page.
pub(super) fn text(design: &Design, ours: &Results, peers: Option<&Record>) -> String {
    let rows = design.targets.iter().map(|target| row(target, ours, peers));
    let peers = peers.map(|peers| {
        format!(
            "\n## Compared with other queues\n\n{}\n![Jobs per second and idle pickup of every queue, on \
             logarithmic scales](performance/peers.svg)\n\nThis section as a separate page: \
             [peers.md](performance/peers.md).\n",
            section(peers)
        )
    });
    let machine = format!("{}: {}", ours.date, ours.machine.shown());
    TEMPLATE
        .replace("{machine}", &machine)
        .replace("{targets}", &rows.collect::<String>())
        .replace("{peers}", &peers.unwrap_or_default())
        .replace(
            "{runs}",
            &ours.runs.iter().map(measurements).collect::<String>(),
        )
}

fn row(target: &Target, ours: &Results, peers: Option<&Record>) -> String {
    let (measured, status, run) = match target.measured(ours, peers) {
        None => ("–".to_owned(), "not measured", String::new()),
        Some((value, run)) => {
            let status = if target.meets(value.median, target.goal) {
                "goal met"
            } else if target.meets(value.median, target.floor) {
                "floor met"
            } else {
                "**missed**"
            };
            (spread(&value), status, run)
        }
    };
    format!(
        "| {} | {measured} | {} | {} | {status} | {run} |\n",
        target.what,
        bound(target.floor),
        bound(target.goal)
    )
}

/// The values of one command.
fn measurements(result: &CommandResult) -> String {
    let mut text = format!("\n### {}\n\n`{}`\n\n", result.name, result.command);
    if let Some(failure) = &result.failure {
        let _ = writeln!(text, "Failed: {failure}\n");
    }
    if result.lines.is_empty() {
        return text;
    }
    text.push_str("| Scenario | Metric | Value |\n|---|---|---|\n");
    for line in &result.lines {
        let scenario = line["scenario"].as_str().unwrap_or("–");
        let name = match line["aof"].as_str() {
            Some(aof) => format!("{scenario}, AOF {aof}"),
            None => scenario.to_owned(),
        };
        let mut found = Vec::new();
        all(line.get("metrics").unwrap_or(line), "", &mut found);
        for (metric, shown) in found {
            let _ = writeln!(text, "| {name} | `{metric}` | {shown} |");
        }
    }
    text
}

/// Formats a floor or goal, without trailing zeros.
fn bound(value: f64) -> String {
    let text = shown(value);
    if text.contains('.') {
        return text.trim_end_matches('0').trim_end_matches('.').to_owned();
    }
    text
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::machine::Machine;
    use crate::peers::example;

    fn page(ours: &Results, peers: Option<&Record>) -> String {
        let design = toml::from_str(include_str!("targets.toml")).expect("valid");
        text(&design, ours, peers)
    }

    fn ours() -> Results {
        let process = json!({
            "scenario": "process",
            "store": "redis",
            "aof": "off",
            "metrics": { "ratio": { "min": 0.3, "median": 0.4, "max": 0.5 }, "lost": 0 },
        });
        Results {
            date: "2026-11-16".to_owned(),
            machine: Machine::detect(),
            runs: vec![CommandResult {
                name: "load".to_owned(),
                command: "windlass-bench run process".to_owned(),
                lines: vec![process],
                failure: None,
            }],
        }
    }

    #[test]
    fn a_target_is_shown_with_its_value_and_whether_it_is_met() {
        let text = page(&ours(), None);
        let row = text
            .lines()
            .find(|line| line.starts_with("| process, jobs/s ÷ bare queue"))
            .expect("a row");
        assert!(
            row.ends_with("| 0.400 (0.300–0.500) | 0.35 | 0.6 | floor met | load |"),
            "{row}"
        );
        assert!(
            text.contains("| not measured |"),
            "missing values are marked"
        );
        assert!(text.contains("| process, AOF off | `lost` | 0 |"), "{text}");
    }

    #[test]
    fn a_missed_target_is_marked() {
        let mut ours = ours();
        ours.runs[0].lines[0]["metrics"]["ratio"] = json!(0.1);
        let text = page(&ours, None);
        assert!(text.contains("| 0.100 | 0.35 | 0.6 | **missed** | load |"));
    }

    #[test]
    fn the_other_queues_are_on_the_page_if_they_were_run() {
        let text = page(&ours(), Some(&example()));
        assert!(text.contains("| 10.0 | 5 | 10 | goal met | other queues: keeper |"));
        assert!(text.contains("[peers.md](performance/peers.md)"));
    }
}
