//! OpenTelemetry: a trace follows a job from `windlass enqueue` to its attempts. With the variable
//! `OTEL_EXPORTER_OTLP_ENDPOINT`, spans and metrics are sent to a collector.

#[cfg_attr(not(feature = "otlp"), path = "telemetry/disabled.rs")]
mod otlp;
mod span;

use std::sync::Arc;

use windlass::QueueName;
use windlass_api::{TraceHeaders, TraceParent};
use windlass_worker::{AttemptContext, AttemptFuture, Handle, Outcome};

use otlp::Exporter;
use span::{OpenSpan, SpanKind};

/// Sends spans and metrics, if a collector is configured.
pub(crate) struct Telemetry(Option<Exporter>);

impl Telemetry {
    /// Starts the exporter that the environment asks for. Call it before a worker starts.
    pub(crate) fn from_env() -> Self {
        Self(Exporter::from_env())
    }

    /// Starts the span of an enqueue, and returns the trace of its jobs: that span, or else the trace in
    /// the environment, as set by `windlass exec` or a CI system.
    pub(crate) fn start_enqueue(
        &self,
        queue: &QueueName,
    ) -> (Option<OpenSpan>, Option<TraceHeaders>) {
        let text = |name| std::env::var(name).ok();
        let (parent, state) = (text("TRACEPARENT"), text("TRACESTATE"));
        let inherited = TraceHeaders::new(parent.as_deref(), state.as_deref());
        let parent = inherited.as_ref().map(|inherited| inherited.parent);
        let Some(span) = self.start(SpanKind::Producer, "enqueue", queue, parent) else {
            return (None, inherited);
        };
        let trace = TraceHeaders::of_span(span.context, inherited);
        (Some(span), Some(trace))
    }

    /// Records a span for each attempt of a handler.
    pub(crate) fn trace_attempts(self: &Arc<Self>, handler: Arc<dyn Handle>) -> Arc<dyn Handle> {
        if self.0.is_none() {
            return handler;
        }
        let telemetry = Arc::clone(self);
        Arc::new(move |context: AttemptContext| telemetry.attempt(context, handler.as_ref()))
    }

    fn attempt(&self, context: AttemptContext, handler: &dyn Handle) -> AttemptFuture {
        let job = context.job();
        let parent = context
            .trace_header("traceparent")
            .and_then(TraceParent::parse);
        let Some(mut span) = self.start(SpanKind::Consumer, "attempt", context.queue(), parent)
        else {
            return handler.handle(context);
        };
        span.set("messaging.message.id", job.id.as_str());
        span.set("windlass.attempt", &job.attempt.to_string());
        if let Some(kind) = &job.kind {
            span.set("windlass.kind", kind.as_str());
        }
        context.set_traceparent(span.context.to_string());
        let attempt = handler.handle(context);
        Box::pin(async move {
            let outcome = attempt.await;
            span.set("windlass.outcome", outcome.as_str());
            span.end(match &outcome {
                Outcome::Failed { error, .. } => Some(error),
                _ => None,
            });
            outcome
        })
    }

    fn start(
        &self,
        kind: SpanKind,
        operation: &'static str,
        queue: &QueueName,
        parent: Option<TraceParent>,
    ) -> Option<OpenSpan> {
        let spans = self.0.as_ref()?.spans();
        Some(OpenSpan::start(spans, kind, operation, queue, parent))
    }

    /// Sends what is left.
    pub(crate) async fn finish(&self) {
        if let Some(exporter) = &self.0 {
            exporter.finish().await;
        }
    }
}
