//! `/metrics`: stats of queues, and metrics of this process, in the Prometheus text format.

mod listener;
mod recorder;
mod text;

use std::collections::BTreeMap;

use metrics::counter;
use windlass_api::request::Workers;
use windlass_api::{Reply, Request, WorkerReply, dispatch};
use windlass_core::metrics::{
    HTTP_BUFFERED, HTTP_CONNECTIONS, HTTP_IN_FLIGHT, HTTP_REFUSED, HTTP_REQUESTS, JOB_EVENTS, JOBS,
    MetricFamily, OLDEST_READY, OTHER, PAUSED, SCHEDULES, STORE_ERRORS, STORED, WORKERS,
    is_store_error,
};
use windlass_core::store::Stats;

use crate::error::HttpError;
use crate::handlers::{HandlerResult, accessible_queues, text};
use crate::scope::Grant;
use crate::state::AppState;

pub use listener::MetricsListener;
pub use recorder::{MetricValue, MetricsRecorder};

/// The name and labels of a series.
pub use metrics::Key as MetricKey;
use text::{MEDIA_TYPE, MetricsText};
/// The upper bounds of the buckets of every histogram.
pub use windlass_core::metrics::BUCKETS as METRIC_BUCKETS;

/// How many queues have their own series. The others are added up, so that clients cannot create an
/// unlimited number of series.
const QUEUES_MAX: usize = 500;

/// The states of workers that are shown for every queue, even if no worker is in them.
const WORKER_STATES: [&str; 2] = ["busy", "idle"];

/// A queue name, or [`OTHER`], and its stats.
type Row = (String, Stats);

/// A metric and its samples of a queue: the value of the second label, if it has one, and the number.
type Family = (MetricFamily, fn(&Stats) -> Vec<(&'static str, f64)>);

#[rustfmt::skip]
const FAMILIES: [Family; 6] = [
    (JOBS, |stats| vec![
        ("ready", float(stats.ready)), ("pending", float(stats.pending)), ("scheduled", float(stats.scheduled)),
        ("running", float(stats.running)),
        ("succeeded", float(stats.succeeded)), ("dead", float(stats.dead)), ("cancelled", float(stats.cancelled)),
    ]),
    (JOB_EVENTS, |stats| vec![
        ("enqueued", float(stats.total.enqueued)), ("succeeded", float(stats.total.succeeded)),
        ("dead", float(stats.total.dead)), ("cancelled", float(stats.total.cancelled)),
        ("rescued", float(stats.total.rescued)),
    ]),
    (OLDEST_READY, |stats| vec![("", float(stats.oldest_ms.unwrap_or(0)) / 1000.0)]),
    (STORED, |stats| vec![("", float(stats.bytes))]),
    (PAUSED, |stats| vec![("", f64::from(u8::from(stats.is_paused)))]),
    (SCHEDULES, |stats| vec![("", float(stats.schedules))]),
];

#[expect(clippy::cast_precision_loss, reason = "Prometheus has only floats")]
fn float(number: u64) -> f64 {
    number as f64
}

/// Counts an error of this server if it means that the store could not answer.
pub(crate) fn count_store_error(code: &'static str) {
    if is_store_error(code) {
        counter!(STORE_ERRORS.name, "code" => code).increment(1);
    }
}

/// Returns the metrics of this process and of all queues the caller may access.
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
        rows.push((OTHER.to_owned(), others));
    }
    let mut metrics = MetricsText::default();
    write_queues(&mut metrics, &rows);
    write_workers(&mut metrics, &rows, &workers(state).await?);
    write_server(&mut metrics, state);
    metrics.process(state.recorder, |queue| grant.allows_name(queue));
    Ok(text(MEDIA_TYPE, metrics.0))
}

async fn workers(state: &AppState) -> Result<Vec<WorkerReply>, HttpError> {
    match dispatch(state.store.as_ref(), None, Request::Workers(Workers {})).await? {
        Reply::Workers(workers) => Ok(workers),
        _ => Ok(Vec::new()),
    }
}

fn write_queues(text: &mut MetricsText, rows: &[Row]) {
    for (metric, samples) in FAMILIES {
        text.family(&metric);
        for (queue, stats) in rows {
            for (value, number) in samples(stats) {
                let labels = [metric.labels[0], *metric.labels.last().unwrap_or(&"")];
                let labels = [(labels[0], queue.as_str()), (labels[1], value)];
                text.sample(metric.name, &labels[..metric.labels.len()], number);
            }
        }
    }
}

/// Adds the workers of each queue. One that names no queues may serve any, and is not counted.
fn write_workers(text: &mut MetricsText, rows: &[Row], workers: &[WorkerReply]) {
    text.family(&WORKERS);
    for (queue, _) in rows {
        let mut states = BTreeMap::from(WORKER_STATES.map(|state| (state, 0)));
        for worker in workers
            .iter()
            .filter(|worker| worker.queues.contains(queue))
        {
            *states.entry(worker.state).or_default() += 1;
        }
        for (state, count) in states {
            let labels = [("queue", queue.as_str()), ("state", state)];
            text.sample(WORKERS.name, &labels, count);
        }
    }
}

fn write_server(text: &mut MetricsText, state: &AppState) {
    text.family(&HTTP_REQUESTS);
    let classes = ["1xx", "2xx", "3xx", "4xx", "5xx"];
    for (class, count) in classes.into_iter().zip(state.counters.requests()) {
        text.sample(HTTP_REQUESTS.name, &[("class", class)], count);
    }
    let in_flight = i64::try_from(state.in_flight()).unwrap_or(i64::MAX);
    let buffered = i64::try_from(state.memory.used()).unwrap_or(i64::MAX);
    let refused = i64::try_from(state.counters.rejected_connections()).unwrap_or(i64::MAX);
    for (metric, value) in [
        (HTTP_CONNECTIONS, state.counters.connections()),
        (HTTP_IN_FLIGHT, in_flight),
        (HTTP_BUFFERED, buffered),
        (HTTP_REFUSED, refused),
    ] {
        text.family(&metric);
        text.sample(metric.name, &[], value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stats_and_workers_of_queues_are_in_base_units() {
        let stats = Stats {
            ready: 3,
            oldest_ms: Some(1500),
            ..Stats::default()
        };
        let worker = WorkerReply {
            id: "w".to_owned(),
            name: String::new(),
            host: String::new(),
            pid: 1,
            version: String::new(),
            queues: vec!["mail".to_owned()],
            state: "silent",
            running: Vec::new(),
            command: "continue",
            started_at: String::new(),
            last_seen_at: String::new(),
            last_seen_ms: 0,
        };
        let mut text = MetricsText::default();
        let rows = [("mail".to_owned(), stats)];
        write_queues(&mut text, &rows);
        write_workers(&mut text, &rows, &[worker]);

        let text = text.0;
        for line in [
            "# TYPE windlass_jobs gauge",
            "windlass_jobs{queue=\"mail\",state=\"ready\"} 3",
            "windlass_oldest_ready_seconds{queue=\"mail\"} 1.5",
            "windlass_paused{queue=\"mail\"} 0",
            "windlass_workers{queue=\"mail\",state=\"idle\"} 0",
            "windlass_workers{queue=\"mail\",state=\"silent\"} 1",
        ] {
            assert!(text.lines().any(|found| found == line), "{line}\n{text}");
        }
    }
}
