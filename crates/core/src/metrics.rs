//! The table of metrics: names, types, labels and help. Workers and servers use its names, and tests check
//! `docs/metrics.md` and the files in `deploy` against it.

/// The value of a label for queues and kinds beyond the limit. Queue names cannot have parentheses.
pub const OTHER: &str = "(other)";

/// The upper bounds of the buckets of every histogram, in seconds.
pub const BUCKETS: [f64; 19] = [
    0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0,
    600.0, 1800.0, 3600.0,
];

/// A metric family.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MetricFamily {
    /// The name, in base units: seconds and bytes.
    pub name: &'static str,
    /// `counter`, `gauge` or `histogram`.
    pub kind: &'static str,
    /// The names of its labels.
    pub labels: &'static [&'static str],
    /// What it measures.
    pub help: &'static str,
}

/// Defines a constant per metric, and the tables of all.
macro_rules! metrics {
    ($($table:ident: $table_doc:literal { $($id:ident = $name:literal, $kind:literal, [$($label:literal),*], $help:literal;)+ })+) => {
        $($(
            #[doc = $help]
            pub const $id: MetricFamily = MetricFamily { name: $name, kind: $kind, labels: &[$($label),*], help: $help };
        )+)+
        $(
            #[doc = $table_doc]
            pub const $table: &[MetricFamily] = &[$($id),+];
        )+
        /// All metrics, in the order of `docs/metrics.md`.
        pub const ALL: &[&[MetricFamily]] = &[$($table),+];
    };
}

metrics! {
    WORKER: "Metrics of a process that runs jobs." {
        ATTEMPTS = "windlass_attempts_total", "counter", ["queue", "kind", "outcome"], "Attempts that ended, by outcome.";
        ATTEMPT_DURATION = "windlass_attempt_duration_seconds", "histogram", ["queue", "kind"], "Time from start to end of a handler.";
        WAIT = "windlass_wait_seconds", "histogram", ["queue", "kind"], "Time from due to claimed, by the clock of the store.";
        RUNNING = "windlass_running", "gauge", ["queue"], "Attempts running now.";
        CONCURRENCY = "windlass_concurrency", "gauge", [], "Attempts that this process may run at once.";
        PANICS = "windlass_panics_total", "counter", ["queue"], "Handlers that panicked.";
    }
    QUEUES: "Metrics of a server about the queues in its store." {
        JOBS = "windlass_jobs", "gauge", ["queue", "state"], "Jobs currently stored, by state.";
        JOB_EVENTS = "windlass_job_events_total", "counter", ["queue", "event"], "Jobs since the queue was created, by event.";
        OLDEST_READY = "windlass_oldest_ready_seconds", "gauge", ["queue"], "Age of the oldest ready job; 0 if none is ready.";
        STORED = "windlass_stored_bytes", "gauge", ["queue"], "Stored bytes of payloads, results and errors.";
        PAUSED = "windlass_paused", "gauge", ["queue"], "1 if the queue is paused, else 0.";
        SCHEDULES = "windlass_schedules", "gauge", ["queue"], "Schedules of the queue.";
        WORKERS = "windlass_workers", "gauge", ["queue", "state"], "Registered workers of the queue, by state.";
    }
    SERVER: "Metrics of a server about itself." {
        HTTP_REQUESTS = "windlass_http_requests_total", "counter", ["class"], "Requests served, by status class.";
        HTTP_CONNECTIONS = "windlass_http_connections", "gauge", [], "Open connections.";
        HTTP_IN_FLIGHT = "windlass_http_requests_in_flight", "gauge", [], "Requests in flight, including this one.";
        HTTP_BUFFERED = "windlass_http_buffered_bytes", "gauge", [], "Memory reserved for requests and responses.";
        HTTP_REFUSED = "windlass_http_connections_refused_total", "counter", [], "Connections rejected because the limit was reached.";
    }
    PROCESS: "Metrics of both." {
        STORE_ERRORS = "windlass_store_errors_total", "counter", ["code"], "Calls that the store could not answer, by error code.";
        BUILD = "windlass_build_info", "gauge", ["version"], "1, with the version of Windlass.";
    }
}

/// Returns the metric of this name.
pub fn find(name: &str) -> Option<&'static MetricFamily> {
    let mut all = ALL.iter().flat_map(|table| table.iter());
    all.find(|metric| metric.name == name)
}

/// Returns whether an error code means that the store could not answer, which [`STORE_ERRORS`] counts.
pub fn is_store_error(code: &str) -> bool {
    code.starts_with("store_") || code == "outcome_unknown"
}

/// The codes of [`STORE_ERRORS`] that start at 0 in every process, so that the first error is an increase.
pub const STORE_ERROR_CODES: [&str; 4] = [
    "outcome_unknown",
    "store_busy",
    "store_full",
    "store_unreachable",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_follow_the_conventions_of_prometheus() {
        for metric in ALL.iter().flat_map(|table| table.iter()) {
            let MetricFamily { name, kind, .. } = metric;
            assert!(name.starts_with("windlass_"), "{name}");
            assert_eq!(*kind == "counter", name.ends_with("_total"), "{name}");
            assert!(!name.contains("milli"), "{name}");
            assert!(*kind != "histogram" || name.ends_with("_seconds"), "{name}");
            assert_eq!(find(name), Some(metric), "{name}");
            // In OpenMetrics the family of a counter has no suffix, and would clash.
            let family = name.trim_end_matches("_total");
            assert!(*family == **name || find(family).is_none(), "{name}");
        }
        assert!(BUCKETS.is_sorted());
    }
}
