//! A span: one operation in a trace.

use tokio::sync::mpsc;
use windlass::QueueName;
use windlass::store::{Clock, SystemClock};
use windlass_api::TraceParent;

/// The longest error of a span: its first line, cut.
const ERROR_CHARS_MAX: usize = 256;

/// The role of a span, with its number in OTLP.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SpanKind {
    /// Adds jobs to a queue.
    Producer = 4,
    /// Runs a job.
    Consumer = 5,
}

/// A finished span.
#[derive(Debug)]
#[cfg_attr(
    not(feature = "otlp"),
    expect(dead_code, reason = "only the exporter reads it")
)]
pub(super) struct Span {
    pub(super) context: TraceParent,
    pub(super) parent: Option<u64>,
    pub(super) kind: SpanKind,
    pub(super) name: String,
    pub(super) start_ns: u64,
    pub(super) end_ns: u64,
    pub(super) attributes: Vec<(&'static str, String)>,
    pub(super) error: Option<String>,
}

/// A span that has not ended. If it is dropped, the operation was aborted.
#[derive(Debug)]
pub(crate) struct OpenSpan {
    pub(super) context: TraceParent,
    span: Option<Span>,
    spans: mpsc::Sender<Span>,
}

impl OpenSpan {
    /// Starts a span of an operation on a queue, below `parent` or in a new trace.
    pub(super) fn start(
        spans: mpsc::Sender<Span>,
        kind: SpanKind,
        operation: &'static str,
        queue: &QueueName,
        parent: Option<TraceParent>,
    ) -> Self {
        let context = TraceParent {
            trace_id: parent.map_or_else(|| fastrand::u128(1..), |parent| parent.trace_id),
            span_id: fastrand::u64(1..),
            flags: parent.map_or(1, |parent| parent.flags),
        };
        let span = Span {
            context,
            parent: parent.map(|parent| parent.span_id),
            kind,
            name: format!("{operation} {queue}"),
            start_ns: now_ns(),
            end_ns: 0,
            attributes: vec![
                ("messaging.system", "windlass".to_owned()),
                ("messaging.operation.name", operation.to_owned()),
                ("messaging.destination.name", queue.to_string()),
            ],
            error: None,
        };
        Self {
            context,
            span: Some(span),
            spans,
        }
    }

    /// Sets an attribute.
    pub(super) fn set(&mut self, name: &'static str, value: &str) {
        if let Some(span) = &mut self.span {
            span.attributes.push((name, value.to_owned()));
        }
    }

    /// Ends the span, with the error if the operation failed.
    pub(crate) fn end(mut self, error: Option<&str>) {
        self.send(error);
    }

    fn send(&mut self, error: Option<&str>) {
        let Some(mut span) = self.span.take() else {
            return;
        };
        span.end_ns = now_ns();
        let first_line = |error: &str| error.lines().next().map(str::to_owned);
        span.error = error.and_then(first_line);
        span.error = span
            .error
            .map(|error| error.chars().take(ERROR_CHARS_MAX).collect());
        if span.context.is_sampled() {
            // If the queue is full the span is dropped: jobs never wait for a collector.
            let _ = self.spans.try_send(span);
        }
    }
}

impl Drop for OpenSpan {
    fn drop(&mut self) {
        self.send(Some("aborted"));
    }
}

/// The time in nanoseconds since 1970.
pub(super) fn now_ns() -> u64 {
    SystemClock.now_us().saturating_mul(1000)
}
