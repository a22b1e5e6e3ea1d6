//! Writes docs/performance.md from the stored results.

use std::fmt::Write as _;

use super::metric::{all, bound};
use super::targets::{TARGETS, Target};
use super::{CommandResult, Results};
use crate::bench::record::Record;
use crate::bench::table;

const HEAD: &str = "\
# Performance

After reading this page you know how fast Windlass is compared with the bare engine and with other queues, and how to repeat every measurement.

```sh
windlass bench --limit     # a short run on a temporary SQLite file, compared with bare SQLite
```

`cargo xtask bench` (Windlass) and `cargo xtask bench --peers` (other queues) generate this page; edit `xtask/src/bench` instead.

Trust ratios, which were measured side by side in one run, more than absolute numbers, and CPU per job more than jobs per second.
";

const NOTES: &str = "
**The bare queue** is packed strings in a list: 100 are pushed per call, and a script drops the last 100 and takes the next. It has no ids, duplicate checks, \
leases, tokens or counters.

*One caller* sends a call when the previous one is answered. *Four callers* share a connection, so that Redis never waits: this is the limit of the engine itself, \
and `ratio_pipelined` below refers to it. The producers and the worker of Windlass also have several calls in flight.

A renewal is one command per worker and queue, whatever the worker's concurrency: `cargo test -p windlass-worker --test cost`.

Tests that do not depend on time enforce the number of commands, calls and bytes per job: `cargo test -p windlass-store-redis --test cost`, \
`cargo test -p windlass-store-sqlite --test cost`.
";

/// Why floors are missed on the machine this was written on; does not depend on the exact numbers.
const REASONS: &str = "
## Missed floors, and why

- **Bulk enqueue.** The bare push of one caller runs at two speeds on this machine, a factor of two apart from round to round, and the ratio moves with it. \
Compared with four callers, which run at one speed, the ratio is stable from run to run. The remaining cost is in Redis: a hash, a list, and the duplicate check.
- **Single enqueues from 100 tasks.** A bare push is one short command; an enqueue is an id, a duplicate check, counters and a wake-up. The cost of a job for the \
client and for Redis is under `enqueue-one` below. On two cores their sum is about the total cost of a bare push, so a ratio of 1.0 needs both halved, or more \
cores.
- **Idle pickup.** Two scripts run, enqueue and claim, on a server that was idle. Its caches are cold: the same script takes a third of the time when it runs \
again immediately. Even an empty script with the same keys then costs a good part of a bare push and pop. Fewer keys per script, or functions, are the next things \
to try.
- **10^7 waiting.** With as many scheduled, one hash has 2 × 10^7 fields. Redis doubles its table at 16.8 million and rehashes incrementally with every call; 10^7 \
falls into that time, also for a delayed job. [earlier.md](performance/earlier.md) has the numbers for 12 000 000, when rehashing is over.
";

const NOT_MEASURED: &str = "
## Not measured

More than one machine; Valkey, and other versions of Redis; Cluster and Sentinel under load; TLS; payloads other than 100 bytes; macOS; other disks. \
[earlier.md](performance/earlier.md) has older measurements, and those of other commands.
";

/// The whole page.
pub(super) fn text(ours: &Results, peers: Option<&Record>, table: &str) -> String {
    let mut text = format!(
        "{HEAD}\nMeasured on {}: {}.\n\n## Compared with the design targets\n\n",
        ours.date,
        ours.machine.shown()
    );
    text.push_str(
        "Values are medians of the rounds (minimum–maximum). *Run* is the section below with all \
         its values.\n\n| Measure | Value | Floor | Goal | Result | Run |\n|---|---|---|---|---|---|\n",
    );
    text.extend(TARGETS.iter().map(|target| row(target, ours, peers)));
    text.push_str(NOTES);
    text.push_str(REASONS);
    if let Some(peers) = peers {
        let _ = write!(
            text,
            "\n## Compared with other queues\n\n{}\n![Jobs per second and idle pickup of every queue, on \
             logarithmic scales](performance/peers.svg)\n\nThis section as a separate page: [peers.md]({}).\n",
            table::section(peers),
            table.trim_start_matches("docs/")
        );
    }
    text.push_str("\n## All measurements\n");
    text.extend(ours.runs.iter().map(measurements));
    text.push_str(NOT_MEASURED);
    text
}

fn row(target: &Target, ours: &Results, peers: Option<&Record>) -> String {
    let (measured, status, run) = match target.measured(ours, peers) {
        None => ("–".to_owned(), "not measured", String::new()),
        Some((spread, run)) => {
            let status = if target.meets(spread.median, target.goal) {
                "goal met"
            } else if target.meets(spread.median, target.floor) {
                "floor met"
            } else {
                "**missed**"
            };
            (spread.shown(), status, run)
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::bench::machine::Machine;
    use crate::bench::record::example;

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
                command: "windlass bench process".to_owned(),
                lines: vec![process],
                failure: None,
            }],
        }
    }

    #[test]
    fn a_target_is_shown_with_its_value_and_whether_it_is_met() {
        let text = text(&ours(), None, "docs/performance/peers.md");
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
        let text = text(&ours, None, "docs/performance/peers.md");
        assert!(text.contains("| 0.100 | 0.35 | 0.6 | **missed** | load |"));
    }

    #[test]
    fn the_other_queues_are_on_the_page_if_they_were_run() {
        let text = text(&ours(), Some(&example()), "docs/performance/peers.md");
        assert!(text.contains("| 10.0 | 5 | 10 | goal met | other queues: keeper |"));
        assert!(text.contains("[peers.md](performance/peers.md)"));
    }
}
