//! Readable diffs of replies and dumps: the lines of their debug output that differ, each with the item
//! it belongs to.

use std::collections::BTreeMap;
use std::fmt::Debug;

use windlass_core::Claim;
use windlass_core::dump::QueueDump;

use super::reply::Reply;

/// The maximum number of lines.
const LINES_MAX: usize = 120;

pub(super) fn of_replies(model: &Reply, subject: &Reply) -> String {
    let lines = |reply: &Reply| {
        let mut lines = Lines::default();
        match (reply, reply.claim()) {
            (Reply::Jobs(jobs), _) => lines.items("job", jobs, |job| &job.id),
            (_, Some(claim)) => {
                let frame = Claim {
                    jobs: vec![],
                    ..claim.clone()
                };
                lines.value("claim", &frame);
                lines.items("job", &claim.jobs, |job| &job.id);
            }
            _ => lines.value("reply", reply),
        }
        lines
    };
    let text = diff(lines(model), lines(subject));
    if text.is_empty() {
        return format!("- {model:?}\n+ {subject:?}");
    }
    text
}

pub(super) fn of_dumps(model: Option<&QueueDump>, subject: Option<&QueueDump>) -> String {
    let lines = |dump: Option<&QueueDump>| {
        let mut lines = Lines::default();
        let Some(dump) = dump else {
            lines.add("it does not exist".to_owned());
            return lines;
        };
        for (priority, lane) in dump.ready.iter().enumerate() {
            lines.add(format!(
                "ready, priority {priority} (suspects, others): {lane:?}"
            ));
        }
        lines.items("group", &dump.groups, |group| &group.record.name);
        lines.value("turns", &dump.turns);
        lines.items("job", &dump.jobs, |job| &job.id);
        lines.items("unique key", &dump.unique_keys, |item| &item.0);
        lines.items("tombstone", &dump.tombstones, |item| &item.0);
        lines.items("held key", &dump.held_keys, |item| &item.0);
        lines.items("amendment", &dump.amendments, |item| &item.0);
        lines.items("schedule", &dump.schedules, |record| &record.schedule.name);
        lines.value("errors", &dump.error_groups);
        lines.items("lease", &dump.leases, |lease| &lease.owner);
        lines.items("claim", &dump.claims, |claim| &claim.token);
        lines.value("stats", &dump.stats);
        lines.items("history", &dump.history, |row| &row.minute);
        lines.value("settings", &dump.settings);
        lines.value("rate", &dump.rate_next_us);
        lines
    };
    diff(lines(model), lines(subject))
}

/// Lines, with the number of times each occurs.
#[derive(Default)]
struct Lines(BTreeMap<String, usize>);

impl Lines {
    fn add(&mut self, line: String) {
        *self.0.entry(line).or_default() += 1;
    }

    fn value(&mut self, what: &str, value: &impl Debug) {
        for line in format!("{value:#?}").lines() {
            self.add(format!("{what}: {}", line.trim()));
        }
    }

    /// Adds the lines of each item, and the order of the items.
    fn items<T: Debug, K: Debug>(&mut self, what: &str, items: &[T], key: impl Fn(&T) -> &K) {
        for item in items {
            self.value(&format!("{what} {:?}", key(item)), item);
        }
        let order: Vec<_> = items.iter().map(key).collect();
        self.add(format!("{what}s in this order: {order:?}"));
    }
}

/// The lines that only one side has, or has more often.
fn diff(model: Lines, mut subject: Lines) -> String {
    let mut lines: BTreeMap<String, &str> = BTreeMap::new();
    for (line, count) in model.0 {
        match subject.0.remove(&line).unwrap_or_default().cmp(&count) {
            std::cmp::Ordering::Less => lines.insert(line, "-"),
            std::cmp::Ordering::Equal => None,
            std::cmp::Ordering::Greater => lines.insert(line, "+"),
        };
    }
    lines.extend(subject.0.into_keys().map(|line| (line, "+")));
    let count = lines.len();
    let shown = lines.into_iter().take(LINES_MAX);
    let mut shown: Vec<_> = shown.map(|(line, side)| format!("{side} {line}")).collect();
    if count > LINES_MAX {
        shown.push("… and more".to_owned());
    }
    shown.join("\n")
}
