//! docs/performance.md, from the figures that were kept.

use std::fmt::Write as _;

use super::aims::{AIMS, Aim};
use super::figure::{all, bound};
use super::{Ours, Ran};
use crate::bench::record::Record;
use crate::bench::table;

const HEAD: &str = "\
# Performance

Written by `cargo xtask bench` (ours) and `cargo xtask bench --peers` (the other queues); change `xtask/src/bench` instead. Trust the ratios, \
which were taken side by side in one run, more than the digits, and CPU per job more than jobs per second.
";

const NOTES: &str = "
Renewals are one command per worker, queue and renewal, whatever its concurrency: `cargo test -p windlass-worker --test cost`. Commands, calls \
and bytes per job are also held by tests that look at no clock, so that they cannot grow unseen: `cargo test -p windlass-store-redis --test cost`, \
`cargo test -p windlass-store-sqlite --test cost`.

**The bare queue** is packed strings in a list, pushed 100 a call, and a script that drops the last 100 and takes the next: no ids, no duplicates, \
no leases, no tokens, no counters. *One caller* sends a call when the last one is answered; *four callers* share a connection, so that Redis never \
waits: that is the engine's own limit, and the `ratio_pipelined` below is against it. Our producers and our worker have several calls under way too.
";

/// Why, where a floor is missed on the machine this was written on; true whatever the digits are.
const REASONS: &str = "
## Where a floor is missed, and why

- **Bulk enqueue.** The bare push of one caller goes at two speeds on this machine, a factor of two apart from round to round, and the ratio with it; beside four \
callers, which go at one, it is the same from run to run. What is left is Redis' own: a hash, a list, and the look for duplicates.
- **Single enqueues by 100 tasks.** A bare push is one short command; ours is an id, a look for a duplicate, counters and a wake-up. What a job costs the client and \
Redis is under `enqueue-one` below: on two cores the two add up to about what a bare push takes in all, so that 1.0 needs both halved, or more cores.
- **Idle pickup.** Two scripts run, one to enqueue and one to claim, on a server that was idle: caches are cold, and the same script takes a third of the time when it \
runs again at once. Even an empty script with our keys costs a good part of a bare push and pop then. Fewer keys per script, or functions, are the next things to try.
- **10^7 waiting.** With as many scheduled they are 2 × 10^7 fields of one hash. Redis doubles its table at 16.8 million and moves the old one a step with every call; \
10^7 falls into that time, for a delayed job as well. [earlier.md](performance/earlier.md) has the figures of 12 000 000, when it is over.
";

const NOT_MEASURED: &str = "
## What was not measured

More than one machine; Valkey, and Redis other than the version above; Cluster and Sentinel under load; TLS; payloads other than 100 bytes; macOS; \
disks other than this one. Older figures, and those of other commands, are in [earlier.md](performance/earlier.md).
";

/// The whole page.
pub(super) fn text(ours: &Ours, peers: Option<&Record>, table: &str) -> String {
    let mut text = format!(
        "{HEAD}\nRun on {}: {}.\n\n## Beside what the design asks for\n\n",
        ours.date,
        ours.machine.shown()
    );
    text.push_str(
        "Medians of the rounds, with the least and the most.\n\n\
         | Measure | measured | floor | goal | | run |\n|---|---|---|---|---|---|\n",
    );
    text.extend(AIMS.iter().map(|aim| row(aim, ours, peers)));
    text.push_str(NOTES);
    text.push_str(REASONS);
    if let Some(peers) = peers {
        let _ = write!(
            text,
            "\n## Beside other queues\n\n{}\n![Jobs per second and idle pickup of every queue, on \
             logarithmic scales](performance/peers.svg)\n\nThe same alone: [peers.md]({}).\n",
            table::section(peers),
            table.trim_start_matches("docs/")
        );
    }
    text.push_str("\n## Every figure\n");
    text.extend(ours.runs.iter().map(figures));
    text.push_str(NOT_MEASURED);
    text
}

fn row(aim: &Aim, ours: &Ours, peers: Option<&Record>) -> String {
    let (measured, holds, run) = match aim.measured(ours, peers) {
        None => ("–".to_owned(), "not measured", String::new()),
        Some((spread, run)) => {
            let holds = if aim.keeps(spread.median, aim.goal) {
                "goal"
            } else if aim.keeps(spread.median, aim.floor) {
                "floor"
            } else {
                "**missed**"
            };
            (spread.shown(), holds, run)
        }
    };
    format!(
        "| {} | {measured} | {} | {} | {holds} | {run} |\n",
        aim.what,
        bound(aim.floor),
        bound(aim.goal)
    )
}

/// The figures of one command.
fn figures(ran: &Ran) -> String {
    let mut text = format!("\n### {}\n\n`{}`\n\n", ran.name, ran.command);
    if let Some(failure) = &ran.failure {
        let _ = writeln!(text, "It failed: {failure}\n");
    }
    if ran.lines.is_empty() {
        return text;
    }
    text.push_str("| Scenario | Figure | |\n|---|---|---|\n");
    for line in &ran.lines {
        let scenario = line["scenario"].as_str().unwrap_or("–");
        let name = match line["aof"].as_str() {
            Some(aof) => format!("{scenario}, AOF {aof}"),
            None => scenario.to_owned(),
        };
        let mut found = Vec::new();
        all(line.get("figures").unwrap_or(line), "", &mut found);
        for (figure, shown) in found {
            let _ = writeln!(text, "| {name} | `{figure}` | {shown} |");
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

    fn ours() -> Ours {
        let process = json!({
            "scenario": "process",
            "store": "redis",
            "aof": "off",
            "figures": { "ratio": { "min": 0.3, "median": 0.4, "max": 0.5 }, "lost": 0 },
        });
        Ours {
            date: "2026-11-16".to_owned(),
            machine: Machine::look(),
            runs: vec![Ran {
                name: "load".to_owned(),
                command: "windlass bench process".to_owned(),
                lines: vec![process],
                failure: None,
            }],
        }
    }

    #[test]
    fn an_aim_is_shown_with_what_was_measured_and_whether_it_holds() {
        let text = text(&ours(), None, "docs/performance/peers.md");
        let row = text
            .lines()
            .find(|line| line.starts_with("| process, jobs/s ÷ bare queue"))
            .expect("a row");
        assert!(
            row.ends_with("| 0.400 (0.300–0.500) | 0.35 | 0.6 | floor | load |"),
            "{row}"
        );
        assert!(text.contains("| not measured |"), "what is missing is said");
        assert!(text.contains("| process, AOF off | `lost` | 0 |"), "{text}");
    }

    #[test]
    fn an_aim_that_is_missed_says_so() {
        let mut ours = ours();
        ours.runs[0].lines[0]["figures"]["ratio"] = json!(0.1);
        let text = text(&ours, None, "docs/performance/peers.md");
        assert!(text.contains("| 0.100 | 0.35 | 0.6 | **missed** | load |"));
    }

    #[test]
    fn the_other_queues_are_on_the_page_when_they_were_run() {
        let text = text(&ours(), Some(&example()), "docs/performance/peers.md");
        assert!(text.contains("| 10.0 | 5 | 10 | goal | other queues: keeper |"));
        assert!(text.contains("[peers.md](performance/peers.md)"));
    }
}
