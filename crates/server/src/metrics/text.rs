//! The Prometheus text format.

use std::fmt::{Display, Write};

use windlass_core::metrics::{ALL, BUCKETS, MetricFamily};

use super::recorder::{MetricValue, MetricsRecorder};

/// The media type of the format.
pub(crate) const MEDIA_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// Metrics as text. Writing to a String cannot fail.
#[derive(Debug, Default)]
pub(crate) struct MetricsText(pub(crate) String);

impl MetricsText {
    /// Starts a family: its samples follow.
    pub(crate) fn family(
        &mut self,
        MetricFamily {
            name, kind, help, ..
        }: &MetricFamily,
    ) {
        let _ = writeln!(self.0, "# HELP {name} {help}\n# TYPE {name} {kind}");
    }

    /// Adds a sample.
    pub(crate) fn sample(&mut self, name: &str, labels: &[(&str, &str)], value: impl Display) {
        self.0.push_str(name);
        for (at, (label, value)) in labels.iter().enumerate() {
            let before = if at == 0 { '{' } else { ',' };
            let value = escape(value);
            let _ = write!(self.0, "{before}{label}=\"{value}\"");
        }
        let end = if labels.is_empty() { "" } else { "}" };
        let _ = writeln!(self.0, "{end} {value}");
    }

    /// Adds the metrics of this process, except the series of queues that `allows_queue` rejects.
    pub(crate) fn process(
        &mut self,
        recorder: &MetricsRecorder,
        allows_queue: impl Fn(&str) -> bool,
    ) {
        let mut values = recorder.values();
        values.retain(|(key, _)| {
            let queue = key.labels().find(|label| label.key() == "queue");
            queue.is_none_or(|queue| allows_queue(queue.value()))
        });
        for metric in ALL.iter().flat_map(|table| table.iter()) {
            let mut series = values.iter().filter(|(key, _)| key.name() == metric.name);
            let mut next = series.next();
            if next.is_some() {
                self.family(metric);
            }
            while let Some((key, value)) = next {
                let labels = key.labels().map(|label| (label.key(), label.value()));
                self.value(metric.name, &labels.collect::<Vec<_>>(), value);
                next = series.next();
            }
        }
    }

    fn value(&mut self, name: &str, labels: &[(&str, &str)], value: &MetricValue) {
        let (counts, sum) = match value {
            MetricValue::Count(count) => return self.sample(name, labels, count),
            MetricValue::Gauge(value) => return self.sample(name, labels, value),
            MetricValue::Histogram(counts, sum) => (counts, sum),
        };
        let bounds = BUCKETS.iter().map(ToString::to_string);
        let mut count = 0;
        for (bound, in_bucket) in bounds.chain(["+Inf".to_owned()]).zip(counts) {
            count += in_bucket;
            let labels = [labels, &[("le", bound.as_str())][..]].concat();
            self.sample(&format!("{name}_bucket"), &labels, count);
        }
        self.sample(&format!("{name}_sum"), labels, sum);
        self.sample(&format!("{name}_count"), labels, count);
    }
}

/// Escapes the value of a label: a kind may contain any text.
fn escape(value: &str) -> String {
    value
        .replace('\\', "\\\\")
        .replace('"', "\\\"")
        .replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use metrics::{counter, histogram, with_local_recorder};
    use windlass_core::metrics::{ATTEMPT_DURATION, ATTEMPTS};

    use super::*;

    #[test]
    fn series_are_written_in_the_text_format() {
        let recorder = MetricsRecorder::default();
        with_local_recorder(&recorder, || {
            counter!(ATTEMPTS.name, "queue" => "mail", "kind" => "a\"\\b").increment(3);
            counter!(ATTEMPTS.name, "queue" => "secret").increment(3);
            histogram!(ATTEMPT_DURATION.name, "queue" => "mail").record(0.002);
            histogram!(ATTEMPT_DURATION.name, "queue" => "mail").record(0.3);
        });
        let mut text = MetricsText::default();
        text.process(&recorder, |queue| queue == "mail");

        let text = text.0;
        for line in [
            "# TYPE windlass_attempts_total counter",
            r#"windlass_attempts_total{queue="mail",kind="a\"\\b"} 3"#,
            r#"windlass_attempt_duration_seconds_bucket{queue="mail",le="0.001"} 0"#,
            r#"windlass_attempt_duration_seconds_bucket{queue="mail",le="0.005"} 1"#,
            r#"windlass_attempt_duration_seconds_bucket{queue="mail",le="3600"} 2"#,
            r#"windlass_attempt_duration_seconds_bucket{queue="mail",le="+Inf"} 2"#,
            r#"windlass_attempt_duration_seconds_sum{queue="mail"} 0.302"#,
            r#"windlass_attempt_duration_seconds_count{queue="mail"} 2"#,
        ] {
            assert!(text.lines().any(|found| found == line), "{line}\n{text}");
        }
        assert!(!text.contains("secret"), "{text}");
    }
}
