//! `/metrics`: figures of queues and of this server as text for Prometheus.

use std::fmt::Write;

use windlass_core::Stats;

use crate::handlers::{Answered, reached, text};
use crate::scope::Grant;
use crate::state::Door;

/// How many queues have figures of their own; the others are added up as `(other)`, so that nobody
/// can make a series for every name.
const QUEUES_MAX: usize = 500;

/// The figures of one queue or of several.
type Row = (String, Stats);

/// One family of figures: its name, its sort, what it is, and its samples for a queue.
type Family = (
    &'static str,
    &'static str,
    &'static str,
    fn(&Stats) -> Vec<(&'static str, u64)>,
);

/// Without a label of its own, a sample is the only one of its queue.
const ONLY: &str = "";

#[rustfmt::skip]
const FAMILIES: [Family; 5] = [
    ("windlass_jobs", "gauge", "Jobs stored now, by state.", |stats| vec![
        ("state=\"ready\"", stats.ready), ("state=\"scheduled\"", stats.scheduled),
        ("state=\"running\"", stats.running), ("state=\"succeeded\"", stats.succeeded),
        ("state=\"dead\"", stats.dead), ("state=\"cancelled\"", stats.cancelled),
    ]),
    ("windlass_jobs_total", "counter", "Jobs over the life of the queue, by what happened to them.", |stats| vec![
        ("event=\"enqueued\"", stats.total.enqueued), ("event=\"succeeded\"", stats.total.succeeded),
        ("event=\"dead\"", stats.total.dead), ("event=\"cancelled\"", stats.total.cancelled),
        ("event=\"rescued\"", stats.total.rescued),
    ]),
    ("windlass_oldest_ready_milliseconds", "gauge", "How long the oldest ready job has been waiting.",
        |stats| vec![(ONLY, stats.oldest_ms.unwrap_or(0))]),
    ("windlass_stored_bytes", "gauge", "Bytes of payloads, results and errors.", |stats| vec![(ONLY, stats.bytes)]),
    ("windlass_paused", "gauge", "1 where claims are not answered.", |stats| vec![(ONLY, u64::from(stats.is_paused))]),
];

/// All figures the caller may see.
pub(crate) async fn answer(door: &Door, grant: &Grant) -> Answered {
    let mut rows: Vec<Row> = Vec::new();
    let mut others = Stats::default();
    let mut has_others = false;
    for queue in reached(door, grant).await? {
        let Some(stats) = door.store.stats(&queue).await? else {
            continue;
        };
        if rows.len() < QUEUES_MAX {
            rows.push((queue.to_string(), stats));
        } else {
            others.add(&stats);
            has_others = true;
        }
    }
    if has_others {
        // No queue can have this name.
        rows.push(("(other)".to_owned(), others));
    }
    let mut body = of_queues(&rows);
    of_server(door, &mut body);
    Ok(text("text/plain; version=0.0.4; charset=utf-8", body))
}

fn of_queues(rows: &[Row]) -> String {
    let mut text = String::new();
    for (name, sort, what, samples) in FAMILIES {
        head(&mut text, name, sort, what);
        for (queue, stats) in rows {
            for (label, value) in samples(stats) {
                let comma = if label.is_empty() { "" } else { "," };
                // The names of queues have no characters that need care. Writing to a String cannot fail.
                let _ = writeln!(text, "{name}{{queue=\"{queue}\"{comma}{label}}} {value}");
            }
        }
    }
    text
}

fn of_server(door: &Door, text: &mut String) {
    let name = "windlass_http_requests_total";
    head(
        text,
        name,
        "counter",
        "Requests answered, by class of status.",
    );
    for (class, count) in (1..).zip(door.counts.requests()) {
        let _ = writeln!(text, "{name}{{class=\"{class}xx\"}} {count}");
    }
    let name = "windlass_http_connections";
    head(text, name, "gauge", "Connections open now.");
    let _ = writeln!(text, "{name} {}", door.counts.connections());
    let name = "windlass_http_requests_under_way";
    head(
        text,
        name,
        "gauge",
        "Requests being answered now, this one among them.",
    );
    let _ = writeln!(text, "{name} {}", door.under_way());
    let name = "windlass_http_connections_refused_total";
    head(
        text,
        name,
        "counter",
        "Connections closed because there were too many.",
    );
    let _ = writeln!(text, "{name} {}", door.counts.refused_connections());
}

fn head(text: &mut String, name: &str, sort: &str, what: &str) {
    let _ = writeln!(text, "# HELP {name} {what}\n# TYPE {name} {sort}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_written_as_prometheus_reads_them() {
        let stats = Stats {
            ready: 3,
            ..Stats::default()
        };
        let text = of_queues(&[("mail".to_owned(), stats)]);
        assert!(text.contains("# TYPE windlass_jobs gauge\n"), "{text}");
        assert!(
            text.contains("windlass_jobs{queue=\"mail\",state=\"ready\"} 3\n"),
            "{text}"
        );
        assert!(
            text.contains("windlass_paused{queue=\"mail\"} 0\n"),
            "{text}"
        );
    }
}
