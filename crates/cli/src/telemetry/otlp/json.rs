//! Spans and metrics in the JSON form of OTLP: ids as hex, 64-bit numbers as strings.

use serde_json::{Value, json};
use windlass_server::MetricValue;

use super::super::span::Span;

/// Values since the process started.
const CUMULATIVE: u8 = 2;

/// The status of a span that failed.
const ERROR: u8 = 2;

/// What all spans and metrics of this process have in common.
pub(super) struct Resource(Value);

impl Resource {
    pub(super) fn new(service: Option<String>) -> Self {
        let service = service.unwrap_or_else(|| "windlass".to_owned());
        let host = rustix::system::uname();
        let attributes = [
            ("service.name", service),
            ("service.version", env!("CARGO_PKG_VERSION").to_owned()),
            ("host.name", host.nodename().to_string_lossy().into_owned()),
            ("process.pid", std::process::id().to_string()),
        ];
        Self(json!({ "attributes": attributes.iter().map(attribute).collect::<Vec<_>>() }))
    }

    /// The body of a request with spans.
    pub(super) fn traces(&self, spans: &[Span]) -> Value {
        let spans: Vec<_> = spans.iter().map(span_json).collect();
        let scope = json!({ "scope": { "name": "windlass" }, "spans": spans });
        json!({ "resourceSpans": [{ "resource": self.0, "scopeSpans": [scope] }] })
    }

    /// The body of a request with metrics.
    pub(super) fn metrics(
        &self,
        values: &[(windlass_server::MetricKey, MetricValue)],
        started_ns: u64,
        now_ns: u64,
    ) -> Value {
        let times = (started_ns.to_string(), now_ns.to_string());
        let mut metrics: Vec<Value> = Vec::new();
        // Ordered by name, so the series of a metric follow each other.
        for series in values.chunk_by(|(one, _), (next, _)| one.name() == next.name()) {
            let Some((key, value)) = series.first() else {
                continue;
            };
            let points: Vec<_> = series.iter().map(|series| point(series, &times)).collect();
            let mut metric = json!({ "name": key.name() });
            if key.name().ends_with("_seconds") {
                metric["unit"] = "s".into();
            }
            let (form, data) = match value {
                MetricValue::Count(_) => (
                    "sum",
                    json!({ "aggregationTemporality": CUMULATIVE, "isMonotonic": true }),
                ),
                MetricValue::Gauge(_) => ("gauge", json!({})),
                MetricValue::Histogram(..) => {
                    ("histogram", json!({ "aggregationTemporality": CUMULATIVE }))
                }
            };
            metric[form] = data;
            metric[form]["dataPoints"] = points.into();
            metrics.push(metric);
        }
        let scope = json!({ "scope": { "name": "windlass" }, "metrics": metrics });
        json!({ "resourceMetrics": [{ "resource": self.0, "scopeMetrics": [scope] }] })
    }
}

fn attribute(pair: &(impl AsRef<str>, String)) -> Value {
    json!({ "key": pair.0.as_ref(), "value": { "stringValue": pair.1 } })
}

fn span_json(span: &Span) -> Value {
    let mut json = json!({
        "traceId": format!("{:032x}", span.context.trace_id),
        "spanId": format!("{:016x}", span.context.span_id),
        "flags": span.context.flags,
        "name": span.name,
        "kind": span.kind as u8,
        "startTimeUnixNano": span.start_ns.to_string(),
        "endTimeUnixNano": span.end_ns.to_string(),
        "attributes": span.attributes.iter().map(attribute).collect::<Vec<_>>(),
        "status": {},
    });
    if let Some(parent) = span.parent {
        json["parentSpanId"] = format!("{parent:016x}").into();
    }
    if let Some(error) = &span.error {
        json["status"] = json!({ "code": ERROR, "message": error });
    }
    json
}

fn point(
    (key, value): &(windlass_server::MetricKey, MetricValue),
    (started, now): &(String, String),
) -> Value {
    let labels = key
        .labels()
        .map(|label| (label.key(), label.value().to_owned()));
    let labels: Vec<_> = labels.map(|label| attribute(&label)).collect();
    let mut point =
        json!({ "attributes": labels, "startTimeUnixNano": started, "timeUnixNano": now });
    match value {
        MetricValue::Count(count) => point["asInt"] = count.to_string().into(),
        MetricValue::Gauge(value) => point["asDouble"] = (*value).into(),
        MetricValue::Histogram(counts, sum) => {
            point["count"] = counts.iter().sum::<u64>().to_string().into();
            point["sum"] = (*sum).into();
            let counts = counts.iter().map(ToString::to_string);
            point["bucketCounts"] = counts.collect::<Vec<_>>().into();
            point["explicitBounds"] = windlass_server::METRIC_BUCKETS.to_vec().into();
        }
    }
    point
}
