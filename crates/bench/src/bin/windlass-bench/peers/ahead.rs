//! Where another queue whose jobs survive a crash is ahead of Windlass, by how much, and why.

use super::record::{Record, Runs};
use super::turn::Turn;
use crate::number::shown;

/// One measure of the table.
struct Measure {
    name: &'static str,
    value: fn(&Turn) -> Option<f64>,
    is_smaller_better: bool,
    /// Why Windlass does not lead.
    why: &'static str,
}

const MEASURES: [Measure; 7] = [
    Measure {
        name: "Enqueue one by one",
        value: |turn| Some(turn.enqueue_one?.per_s),
        is_smaller_better: false,
        why: "a call waits for one round trip and one script, which checks the id, the repeat of a lost call, \
              the order and the waiting workers, and counts; beanstalkd only appends to a list in memory",
    },
    Measure {
        name: "Bulk",
        value: |turn| Some(turn.enqueue_bulk?.per_s),
        is_smaller_better: false,
        why: "redis-work-queue pipelines two plain commands per job and looks up nothing; Windlass refuses \
              an id that exists",
    },
    Measure {
        name: "Process",
        value: |turn| Some(turn.process?.per_s),
        is_smaller_better: false,
        why: "",
    },
    Measure {
        name: "Process at 10 slots",
        value: |turn| Some(turn.at_slots[0]?.per_s),
        is_smaller_better: false,
        why: "",
    },
    Measure {
        name: "Process at 100 slots",
        value: |turn| Some(turn.at_slots[1]?.per_s),
        is_smaller_better: false,
        why: "",
    },
    Measure {
        name: "Idle pickup",
        value: |turn| Some(turn.pickup?.p50_ms),
        is_smaller_better: true,
        why: "redis-work-queue and beanstalkd hand the job itself to a waiting connection; Windlass wakes \
              the worker, whose claim then follows priorities, leases and limits in a second script",
    },
    Measure {
        name: "Bytes per waiting job",
        value: |turn| turn.bytes_per_job,
        is_smaller_better: true,
        why: "",
    },
];

/// A paragraph and one line per measure in which another queue leads.
pub(super) fn section(record: &Record) -> String {
    let Some(ours) = record.ours() else {
        return String::new();
    };
    let lines: Vec<_> = MEASURES
        .iter()
        .filter_map(|measure| line(record, ours, measure))
        .collect();
    if lines.is_empty() {
        return String::new();
    }
    format!(
        "\nAmong the queues whose jobs survive a crash, ahead of Windlass (median ÷ median):\n\n{}",
        lines.concat()
    )
}

fn line(record: &Record, ours: &Runs, measure: &Measure) -> Option<String> {
    let median = |runs: &Runs| Some(runs.spread(measure.value)?.median);
    let our_value = median(ours)?;
    let keepers = record.peers.iter().filter(|runs| runs.keeps_jobs);
    let mut ahead: Vec<_> = keepers
        .filter_map(|runs| {
            let value = median(runs)?;
            let lead = if measure.is_smaller_better {
                our_value / value
            } else {
                value / our_value
            };
            (lead > 1.0).then_some((lead, &runs.name))
        })
        .collect();
    if ahead.is_empty() {
        return None;
    }
    ahead.sort_by(|one, other| other.0.total_cmp(&one.0));
    let names: Vec<_> = ahead
        .iter()
        .map(|(lead, name)| format!("{name} {}", shown(*lead)))
        .collect();
    let why = match measure.why {
        "" => String::new(),
        why => format!(": {why}"),
    };
    Some(format!(
        "- **{}**: {}{why}.\n",
        measure.name,
        names.join(", ")
    ))
}

#[cfg(test)]
mod tests {
    use super::super::record::example;
    use super::*;

    #[test]
    fn only_queues_that_keep_their_jobs_and_lead_are_named() {
        assert_eq!(section(&example()), "");
        let mut record = example();
        // Windlass trades places with the one that keeps its jobs.
        record.peers[0].name = "keeper".to_owned();
        record.peers[1].name = "windlass".to_owned();
        let text = section(&record);
        assert!(text.contains("- **Process**: keeper 10.0.\n"), "{text}");
        assert!(text.contains("- **Idle pickup**: keeper 10.0:"), "{text}");
        assert!(!text.contains("slow"), "{text}");
    }
}
