//! Records the metrics of this process: those that its worker, if it has one, and its server report
//! through the `metrics` crate.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use metrics::{
    Counter, Gauge, Histogram, HistogramFn, Key, KeyName, Metadata, Recorder, SharedString, Unit,
    counter, gauge,
};
use windlass_core::metrics::{BUCKETS, BUILD, STORE_ERROR_CODES, STORE_ERRORS};

/// Records metrics until the process ends. A series is an atomic number, or one per bucket.
#[derive(Debug, Default)]
pub struct MetricsRecorder(Mutex<BTreeMap<Key, Series>>);

/// The value of a series.
#[derive(Debug, Clone, PartialEq)]
pub enum MetricValue {
    /// The value of a counter.
    Count(u64),
    /// The value of a gauge.
    Gauge(f64),
    /// How many values of a histogram are in each of [`BUCKETS`] and above the last, and the sum of all.
    Histogram(Vec<u64>, f64),
}

/// The series of a name and labels.
#[derive(Debug, Clone)]
enum Series {
    Counter(Arc<AtomicU64>),
    Gauge(Arc<AtomicU64>),
    Histogram(Arc<Buckets>),
}

/// A histogram of durations.
#[derive(Debug, Default)]
struct Buckets {
    counts: [AtomicU64; BUCKETS.len() + 1],
    sum_ns: AtomicU64,
}

impl HistogramFn for Buckets {
    fn record(&self, seconds: f64) {
        let bucket = BUCKETS.partition_point(|bound| *bound < seconds);
        self.counts[bucket].fetch_add(1, Ordering::Relaxed);
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "durations are positive; a cast saturates"
        )]
        let ns = (seconds * 1e9) as u64;
        self.sum_ns.fetch_add(ns, Ordering::Relaxed);
    }
}

impl MetricsRecorder {
    /// Installs the recorder of this process, unless it is installed. Call it before a worker starts.
    pub fn install() -> &'static Self {
        static RECORDER: OnceLock<MetricsRecorder> = OnceLock::new();
        let recorder = RECORDER.get_or_init(Self::default);
        if metrics::set_global_recorder(recorder).is_ok() {
            gauge!(BUILD.name, "version" => env!("CARGO_PKG_VERSION")).set(1);
            for code in STORE_ERROR_CODES {
                counter!(STORE_ERRORS.name, "code" => code).increment(0);
            }
        }
        recorder
    }

    /// Returns all series with their labels and current values, ordered by name.
    pub fn values(&self) -> Vec<(Key, MetricValue)> {
        let series = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let value = |series: &Series| match series {
            Series::Counter(count) => MetricValue::Count(count.load(Ordering::Acquire)),
            Series::Gauge(bits) => MetricValue::Gauge(f64::from_bits(bits.load(Ordering::Acquire))),
            Series::Histogram(buckets) => {
                let Buckets { counts, sum_ns } = buckets.as_ref();
                let counts = counts.iter().map(|count| count.load(Ordering::Relaxed));
                #[expect(clippy::cast_precision_loss, reason = "a sum, not an exact time")]
                let sum = sum_ns.load(Ordering::Relaxed) as f64 / 1e9;
                MetricValue::Histogram(counts.collect(), sum)
            }
        };
        let all = series.iter();
        all.map(|(key, series)| (key.clone(), value(series)))
            .collect()
    }

    fn series(&self, key: &Key, create: fn() -> Series) -> Series {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.entry(key.clone()).or_insert_with(create).clone()
    }
}

impl Recorder for MetricsRecorder {
    // The help is in the table of `windlass_core::metrics`.
    fn describe_counter(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}

    fn describe_gauge(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}

    fn describe_histogram(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}

    fn register_counter(&self, key: &Key, _: &Metadata<'_>) -> Counter {
        match self.series(key, || Series::Counter(Arc::default())) {
            Series::Counter(count) => Counter::from_arc(count),
            _ => Counter::noop(),
        }
    }

    fn register_gauge(&self, key: &Key, _: &Metadata<'_>) -> Gauge {
        match self.series(key, || Series::Gauge(Arc::default())) {
            Series::Gauge(bits) => Gauge::from_arc(bits),
            _ => Gauge::noop(),
        }
    }

    fn register_histogram(&self, key: &Key, _: &Metadata<'_>) -> Histogram {
        match self.series(key, || Series::Histogram(Arc::default())) {
            Series::Histogram(buckets) => Histogram::from_arc(buckets),
            _ => Histogram::noop(),
        }
    }
}

#[cfg(test)]
mod tests {
    use metrics::{histogram, with_local_recorder};

    use super::*;

    #[test]
    fn values_of_one_name_and_labels_add_up() {
        let recorder = MetricsRecorder::default();
        with_local_recorder(&recorder, || {
            for _ in 0..2 {
                counter!("c", "queue" => "mail").increment(2);
                gauge!("g").increment(1.5);
                histogram!("h").record(0.001);
                histogram!("h").record(4000.0);
            }
            gauge!("c", "queue" => "mail").set(7.0);
        });

        let values = recorder.values();
        let names: Vec<_> = values.iter().map(|(key, _)| key.name()).collect();
        assert_eq!(names, ["c", "g", "h"]);
        assert_eq!(values[0].1, MetricValue::Count(4));
        assert_eq!(values[1].1, MetricValue::Gauge(3.0));
        let MetricValue::Histogram(counts, sum) = &values[2].1 else {
            panic!("{values:?}");
        };
        assert_eq!((counts[0], counts[BUCKETS.len()]), (2, 2));
        assert_eq!(counts.iter().sum::<u64>(), 4);
        assert!((sum - 8000.002).abs() < 1e-6, "{sum}");
    }
}
