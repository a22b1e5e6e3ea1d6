//! The metrics of a worker, recorded if a `metrics` recorder is installed before it starts. The table in
//! `windlass_core::metrics` describes them.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

use metrics::{
    Counter, Gauge, Histogram, counter, describe_counter, describe_gauge, describe_histogram,
    gauge, histogram,
};
use windlass_core::metrics::{
    ATTEMPT_DURATION, ATTEMPTS, CONCURRENCY, MetricFamily, OTHER, PANICS, PROCESS, RUNNING,
    STORE_ERROR_CODES, STORE_ERRORS, WAIT, WORKER, is_store_error,
};
use windlass_core::store::Kind;
use windlass_core::{Error, OutcomeStatus};

use crate::lock::lock;

/// How many queues of a worker have their own series, and how many kinds. The others share one, so that
/// jobs cannot create an unlimited number of series.
const LABELS_MAX: usize = 100;

/// The outcomes, and their names in metrics. A job that is gone counts as a lost lease.
const OUTCOMES: [(OutcomeStatus, &str); 7] = [
    (OutcomeStatus::Completed, "completed"),
    (OutcomeStatus::Retrying, "retrying"),
    (OutcomeStatus::Dead, "dead"),
    (OutcomeStatus::Released, "released"),
    (OutcomeStatus::Snoozed, "snoozed"),
    (OutcomeStatus::Cancelled, "cancelled"),
    (OutcomeStatus::LeaseLost, "lease_lost"),
];

/// How many more kinds of a worker get their own series.
#[derive(Debug, Clone)]
pub(crate) struct KindsLeft(Arc<AtomicUsize>);

impl Default for KindsLeft {
    fn default() -> Self {
        Self(Arc::new(AtomicUsize::new(LABELS_MAX)))
    }
}

impl KindsLeft {
    fn take_one(&self) -> bool {
        let (set, fetch) = (Ordering::Relaxed, Ordering::Relaxed);
        let taken = self.0.fetch_update(set, fetch, |left| left.checked_sub(1));
        taken.is_ok()
    }
}

/// The metrics of one queue.
#[derive(Debug)]
pub(crate) struct QueueMetrics {
    queue: String,
    pub(crate) running: Gauge,
    pub(crate) panics: Counter,
    without_kind: Arc<KindMetrics>,
    by_kind: Mutex<HashMap<Kind, Arc<KindMetrics>>>,
    others: OnceLock<Arc<KindMetrics>>,
    kinds_left: KindsLeft,
}

impl QueueMetrics {
    /// Creates the metrics of the queue at `index` of a worker.
    pub(crate) fn new(index: usize, queue: &str, kinds_left: KindsLeft) -> Self {
        let queue = if index < LABELS_MAX { queue } else { OTHER }.to_owned();
        Self {
            running: gauge!(RUNNING.name, "queue" => queue.clone()),
            panics: counter!(PANICS.name, "queue" => queue.clone()),
            without_kind: Arc::new(KindMetrics::new(&queue, "")),
            by_kind: Mutex::default(),
            others: OnceLock::new(),
            kinds_left,
            queue,
        }
    }

    /// Returns the metrics of a kind of jobs. Handles are created once, so that a job costs a look-up and a
    /// few additions.
    pub(crate) fn of_kind(&self, kind: Option<&Kind>) -> Arc<KindMetrics> {
        let Some(kind) = kind else {
            return Arc::clone(&self.without_kind);
        };
        let mut by_kind = lock(&self.by_kind);
        if let Some(known) = by_kind.get(kind) {
            return Arc::clone(known);
        }
        let create = |kind: &str| Arc::new(KindMetrics::new(&self.queue, kind));
        if !self.kinds_left.take_one() {
            return Arc::clone(self.others.get_or_init(|| create(OTHER)));
        }
        let metrics = by_kind.entry(kind.clone());
        Arc::clone(metrics.or_insert_with(|| create(kind.as_str())))
    }
}

/// The metrics of one kind of jobs of a queue.
#[derive(Debug)]
pub(crate) struct KindMetrics {
    attempts: Vec<Counter>,
    pub(crate) wait: Histogram,
    pub(crate) duration: Histogram,
}

impl KindMetrics {
    fn new(queue: &str, kind: &str) -> Self {
        let (queue, kind) = (|| queue.to_owned(), || kind.to_owned());
        let attempts = OUTCOMES.iter().map(|(_, outcome)| {
            counter!(ATTEMPTS.name, "queue" => queue(), "kind" => kind(), "outcome" => *outcome)
        });
        Self {
            attempts: attempts.collect(),
            wait: histogram!(WAIT.name, "queue" => queue(), "kind" => kind()),
            duration: histogram!(ATTEMPT_DURATION.name, "queue" => queue(), "kind" => kind()),
        }
    }

    /// Counts how an attempt ended.
    pub(crate) fn count(&self, status: OutcomeStatus) {
        let status = match status {
            OutcomeStatus::Gone => OutcomeStatus::LeaseLost,
            status => status,
        };
        let position = OUTCOMES.iter().position(|(known, _)| *known == status);
        if let Some(counter) = position.and_then(|at| self.attempts.get(at)) {
            counter.increment(1);
        }
    }
}

/// Counts an error if it means that the store could not answer. Not on the path of a job, so the handle
/// is looked up.
pub(crate) fn count_store_error(error: &Error) {
    if is_store_error(error.code()) {
        counter!(STORE_ERRORS.name, "code" => error.code()).increment(1);
    }
}

/// The concurrency of a running worker, added to that of the process while it lives.
#[derive(Debug)]
pub(crate) struct RunningWorker(f64);

impl RunningWorker {
    /// Describes the metrics to the recorder, and starts those of the process.
    pub(crate) fn start(concurrency: usize) -> Self {
        let describe = |MetricFamily {
                            name, kind, help, ..
                        }: &MetricFamily| match *kind {
            "counter" => describe_counter!(*name, *help),
            "gauge" => describe_gauge!(*name, *help),
            _ => describe_histogram!(*name, *help),
        };
        WORKER.iter().chain(PROCESS).for_each(describe);
        for code in STORE_ERROR_CODES {
            counter!(STORE_ERRORS.name, "code" => code).increment(0);
        }
        #[expect(clippy::cast_precision_loss, reason = "the limit is 100000")]
        let worker = Self(concurrency as f64);
        gauge!(CONCURRENCY.name).increment(worker.0);
        worker
    }
}

impl Drop for RunningWorker {
    fn drop(&mut self) {
        gauge!(CONCURRENCY.name).decrement(self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_outcome_but_gone_is_counted_by_name() {
        for status in OutcomeStatus::ALL {
            let is_counted = OUTCOMES.iter().any(|(known, _)| known == status);
            assert_eq!(is_counted, *status != OutcomeStatus::Gone, "{status:?}");
        }
    }

    #[test]
    fn many_kinds_do_not_make_many_series() {
        let left = KindsLeft::default();
        let queues = ["mail", "bulk"].map(|queue| QueueMetrics::new(0, queue, left.clone()));
        for n in 0..LABELS_MAX {
            let kind = Kind::new(format!("kind-{n}")).unwrap();
            let first = queues[n % 2].of_kind(Some(&kind));
            let again = queues[n % 2].of_kind(Some(&kind));
            assert!(Arc::ptr_eq(&first, &again));
        }
        let new = ["one", "two"].map(|kind| Kind::new(kind).unwrap());
        let [one, two] = new.map(|kind| queues[0].of_kind(Some(&kind)));

        assert!(Arc::ptr_eq(&one, &two), "they share the series of others");
        let counts = queues.map(|queue| lock(&queue.by_kind).len());
        assert_eq!(counts, [LABELS_MAX / 2; 2]);
    }
}
