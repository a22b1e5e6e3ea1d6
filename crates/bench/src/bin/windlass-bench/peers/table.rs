//! The medians as a Markdown table, with the command that repeats them.

use windlass_bench::Spread;

use super::ahead;
use super::record::{Record, Runs};
use super::turn::{Rate, Turn};
use crate::number::{shown, spread};

const HEAD: &str = "\
| Queue | survives a crash | enqueue one by one, /s | bulk, /s | **process, jobs/s** | at 10 slots | at 100 slots | \
idle pickup, ms p50 (p99) | bytes per waiting job | Redis commands per job, enqueue + work | \
Redis CPU per job, µs, enqueue + work |
|---|---|---|---|---|---|---|---|---|---|---|
";

/// The page docs/performance/peers.md.
pub(super) fn page(record: &Record) -> String {
    format!(
        "# Windlass compared with other queues\n\nAfter reading this page you know how Windlass \
         compares with other queues on one machine, and how to repeat the \
         comparison:\n\n```sh\n{}\n```\n\nThis page is generated; edit \
         `crates/bench` instead.\n\n{}\n![Jobs per second and idle pickup of every queue, on \
         logarithmic scales](peers.svg)\n",
        record.command,
        section(record)
    )
}

/// What was run, the table, and what failed.
pub(crate) fn section(record: &Record) -> String {
    let mut text = format!(
        "`{}`, {}. No-op jobs of {} bytes; Windlass and the other queues run in turn on one \
         machine, each with the settings listed in `crates/bench/peers/README.md`. Values are medians of the \
         rounds (minimum–maximum).\n\n*At 10 and 100 slots*: the \
         same work with that many jobs at once, for queues whose worker is one process with slots.\n\n*Survives a crash* means that a job is still there after its \
         worker was killed.\n\nMachine: {}.\n\n{HEAD}",
        record.command,
        record.date,
        record.payload,
        record.machine.shown()
    );
    text.extend(record.peers.iter().map(row));
    text.extend(ratio(record));
    text += &ahead::section(record);
    text.extend(record.peers.iter().flat_map(failed));
    text
}

/// Windlass compared with the fastest queue that makes the same promise.
fn ratio(record: &Record) -> Option<String> {
    let keeper = record.fastest_keeper()?;
    let ours = record.ours()?.process()?.median;
    let theirs = keeper.process()?.median;
    Some(format!(
        "\nProcess, Windlass ÷ {}, the fastest other queue whose jobs survive a crash: **{}**.\n",
        keeper.name,
        shown(ours / theirs)
    ))
}

/// The failures, one paragraph each.
fn failed(runs: &Runs) -> Vec<String> {
    let paragraph = |failure: &str| format!("\n{} failed: {failure}\n", runs.name);
    runs.failures().into_iter().map(paragraph).collect()
}

fn row(runs: &Runs) -> String {
    let of = |value: fn(&Turn) -> Option<f64>| shown_or_dash(runs.spread(value));
    let p99 = runs.spread(|turn| Some(turn.pickup?.p99_ms));
    let pickup = match (runs.pickup(), p99) {
        (Some(p50), Some(p99)) => format!("{} ({})", shown(p50.median), shown(p99.median)),
        _ => "–".to_owned(),
    };
    // The bulk call filled the queue if there is one, so the work was measured on its jobs.
    let enqueued = |turn: &Turn| turn.enqueue_bulk.or(turn.enqueue_one);
    let both = |value: fn(&Rate) -> Option<f64>| {
        let first = runs.spread(|turn| value(&enqueued(turn)?));
        let second = runs.spread(|turn| value(&turn.process?));
        match (first, second) {
            (Some(first), Some(second)) => {
                format!("{} + {}", shown(first.median), shown(second.median))
            }
            _ => "–".to_owned(),
        }
    };
    let cells = [
        format!("{} {}", runs.name, runs.version),
        if runs.keeps_jobs { "yes" } else { "**no**" }.to_owned(),
        of(|turn| Some(turn.enqueue_one?.per_s)),
        of(|turn| Some(turn.enqueue_bulk?.per_s)),
        format!("**{}**", shown_or_dash(runs.process())),
        of(|turn| Some(turn.at_slots[0]?.per_s)),
        of(|turn| Some(turn.at_slots[1]?.per_s)),
        pickup,
        runs.spread(|turn| turn.bytes_per_job)
            .map_or_else(|| "–".to_owned(), |bytes| shown(bytes.median)),
        both(|rate| rate.cost.commands),
        both(|rate| rate.cost.cpu_us),
    ];
    format!("| {} |\n", cells.join(" | "))
}

fn shown_or_dash(values: Option<Spread>) -> String {
    values.map_or_else(|| "–".to_owned(), |it| spread(&it))
}

#[cfg(test)]
mod tests {
    use super::super::record::example;
    use super::*;

    #[test]
    fn a_queue_has_a_row_with_its_version_and_its_medians() {
        let text = section(&example());
        let row = text.lines().find(|line| line.starts_with("| slow 1.2.3 |"));
        let row = row.expect("a row");
        assert!(
            row.contains("| **no** |") && row.contains("**250 (200–300)**"),
            "{row}"
        );
        assert_eq!(
            row.matches('|').count(),
            HEAD.lines().next().expect("a head").matches('|').count()
        );
    }

    #[test]
    fn windlass_is_compared_with_the_fastest_that_keeps_its_jobs() {
        assert!(section(&example()).contains("Windlass ÷ keeper, the fastest"));
        assert!(section(&example()).contains("**10.0**"));
    }

    #[test]
    fn a_queue_that_failed_is_listed_with_its_last_output() {
        let text = section(&example());
        assert!(text.contains("broken failed: process: timed out after 60 s"));
        assert!(text.contains("| broken 9 |"));
        assert!(page(&example()).contains("](peers.svg)"));
    }
}
