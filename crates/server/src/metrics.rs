//! `/metrics`: stats of queues and metrics of this server in the Prometheus text format.

use std::fmt::Write;

use windlass_core::store::Stats;

use crate::handlers::{HandlerResult, accessible_queues, text};
use crate::scope::Grant;
use crate::state::AppState;

/// How many queues have their own series. The others are added up as `(other)`, so that clients
/// cannot create an unlimited number of series.
const QUEUES_MAX: usize = 500;

/// A queue name, or `(other)`, and its stats.
type Row = (String, Stats);

/// A metric family: name, type, help text, and the samples of a queue.
type Family = (
    &'static str,
    &'static str,
    &'static str,
    fn(&Stats) -> Vec<(&'static str, u64)>,
);

/// The label of a family with one sample per queue.
const NO_LABEL: &str = "";

#[rustfmt::skip]
const FAMILIES: [Family; 5] = [
    ("windlass_jobs", "gauge", "Jobs currently stored, by state.", |stats| vec![
        ("state=\"ready\"", stats.ready), ("state=\"scheduled\"", stats.scheduled),
        ("state=\"running\"", stats.running), ("state=\"succeeded\"", stats.succeeded),
        ("state=\"dead\"", stats.dead), ("state=\"cancelled\"", stats.cancelled),
    ]),
    ("windlass_jobs_total", "counter", "Jobs since the queue was created, by event.", |stats| vec![
        ("event=\"enqueued\"", stats.total.enqueued), ("event=\"succeeded\"", stats.total.succeeded),
        ("event=\"dead\"", stats.total.dead), ("event=\"cancelled\"", stats.total.cancelled),
        ("event=\"rescued\"", stats.total.rescued),
    ]),
    ("windlass_oldest_ready_milliseconds", "gauge", "Age of the oldest ready job.",
        |stats| vec![(NO_LABEL, stats.oldest_ms.unwrap_or(0))]),
    ("windlass_stored_bytes", "gauge", "Stored bytes of payloads, results and errors.", |stats| vec![(NO_LABEL, stats.bytes)]),
    ("windlass_paused", "gauge", "1 if the queue is paused, else 0.", |stats| vec![(NO_LABEL, u64::from(stats.is_paused))]),
];

/// Returns the metrics of the server and of all queues the caller may access.
pub(crate) async fn handle(state: &AppState, grant: &Grant) -> HandlerResult {
    let mut rows: Vec<Row> = Vec::new();
    let mut others = Stats::default();
    let mut has_others = false;
    for queue in accessible_queues(state, grant).await? {
        let Some(stats) = state.store.stats(&queue).await? else {
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
        // Parentheses are not allowed in queue names.
        rows.push(("(other)".to_owned(), others));
    }
    let mut body = queue_metrics(&rows);
    write_server_metrics(state, &mut body);
    Ok(text("text/plain; version=0.0.4; charset=utf-8", body))
}

fn queue_metrics(rows: &[Row]) -> String {
    let mut text = String::new();
    for (name, kind, help, samples) in FAMILIES {
        write_header(&mut text, name, kind, help);
        for (queue, stats) in rows {
            for (label, value) in samples(stats) {
                let comma = if label.is_empty() { "" } else { "," };
                // Queue names need no escaping. Writing to a String cannot fail.
                let _ = writeln!(text, "{name}{{queue=\"{queue}\"{comma}{label}}} {value}");
            }
        }
    }
    text
}

fn write_server_metrics(state: &AppState, text: &mut String) {
    let name = "windlass_http_requests_total";
    write_header(text, name, "counter", "Requests served, by status class.");
    for (class, count) in (1..).zip(state.counters.requests()) {
        let _ = writeln!(text, "{name}{{class=\"{class}xx\"}} {count}");
    }
    let name = "windlass_http_connections";
    write_header(text, name, "gauge", "Open connections.");
    let _ = writeln!(text, "{name} {}", state.counters.connections());
    let name = "windlass_http_requests_in_flight";
    write_header(
        text,
        name,
        "gauge",
        "Requests in flight, including this one.",
    );
    let _ = writeln!(text, "{name} {}", state.in_flight());
    let name = "windlass_http_buffered_bytes";
    let help = "Memory reserved for requests and responses.";
    write_header(text, name, "gauge", help);
    let _ = writeln!(text, "{name} {}", state.memory.used());
    let name = "windlass_http_connections_refused_total";
    write_header(
        text,
        name,
        "counter",
        "Connections rejected because the limit was reached.",
    );
    let _ = writeln!(text, "{name} {}", state.counters.rejected_connections());
}

fn write_header(text: &mut String, name: &str, kind: &str, help: &str) {
    let _ = writeln!(text, "# HELP {name} {help}\n# TYPE {name} {kind}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metrics_are_written_in_the_prometheus_text_format() {
        let stats = Stats {
            ready: 3,
            ..Stats::default()
        };
        let text = queue_metrics(&[("mail".to_owned(), stats)]);
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
