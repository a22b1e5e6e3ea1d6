//! Sends spans and metrics to an OpenTelemetry collector: OTLP over HTTP, as JSON.

mod json;

use std::env;
use std::sync::Mutex;
use std::time::Duration;

use serde_json::Value;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::{Instant, interval, sleep_until, timeout};
use windlass_server::{CancellationToken, MetricsRecorder};
use windlass_store_http::JsonPoster;

use super::span::{Span, now_ns};
use json::Resource;

/// The variable with the URL of the collector, and the one with a file of authorities to trust.
const ENDPOINT: &str = "OTEL_EXPORTER_OTLP_ENDPOINT";
const CERTIFICATE: &str = "OTEL_EXPORTER_OTLP_CERTIFICATE";

/// The most spans that wait to be sent, and the most in one request. Further ones are dropped.
const WAITING_MAX: usize = 4096;
const BATCH_MAX: usize = 512;

/// How often spans are sent.
const SPANS_EVERY: Duration = Duration::from_secs(1);

/// How often metrics are sent, unless `OTEL_METRIC_EXPORT_INTERVAL` is set.
const METRICS_EVERY: Duration = Duration::from_secs(60);

/// How long one request may take, and how long a process waits for the last ones.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(5);
const FINISH_TIMEOUT: Duration = Duration::from_secs(5);

/// Sends spans and metrics in the background.
pub(super) struct Exporter {
    spans: mpsc::Sender<Span>,
    stop: CancellationToken,
    task: Mutex<Option<JoinHandle<()>>>,
}

impl Exporter {
    /// Starts the exporter if `OTEL_EXPORTER_OTLP_ENDPOINT` is set. The variable may be meant for other
    /// programs too, so a value that is not supported is a warning.
    pub(super) fn from_env() -> Option<Self> {
        let is_disabled = variable("OTEL_SDK_DISABLED").is_some_and(|value| value == "true");
        let endpoint = variable(ENDPOINT).filter(|_| !is_disabled)?;
        let (origin, path) = split_path(&endpoint);
        let ca = variable(CERTIFICATE).filter(|_| origin.starts_with("https://"));
        let poster = match JsonPoster::new(origin, ca.map(Into::into)) {
            Ok(poster) => poster,
            Err(error) => {
                tracing::warn!(target: "windlass", "sending no traces and metrics: {ENDPOINT}: {error}; \
                    write http://HOST:PORT or https://HOST:PORT");
                return None;
            }
        };
        let every = variable("OTEL_METRIC_EXPORT_INTERVAL").and_then(|ms| ms.parse().ok());
        let collector = Collector {
            headers: headers(&variable("OTEL_EXPORTER_OTLP_HEADERS").unwrap_or_default()),
            resource: Resource::new(variable("OTEL_SERVICE_NAME")),
            base_path: path.trim_end_matches('/').to_owned(),
            poster,
            endpoint,
            recorder: MetricsRecorder::install(),
            started_ns: now_ns(),
            is_failing: false,
        };
        let (spans, waiting) = mpsc::channel(WAITING_MAX);
        let stop = CancellationToken::new();
        let every = every.map_or(METRICS_EVERY, Duration::from_millis);
        let task = tokio::spawn(collector.run(waiting, every, stop.clone()));
        Some(Self {
            spans,
            stop,
            task: Mutex::new(Some(task)),
        })
    }

    /// Returns where finished spans go.
    pub(super) fn spans(&self) -> mpsc::Sender<Span> {
        self.spans.clone()
    }

    /// Sends what is left, for a limited time.
    pub(super) async fn finish(&self) {
        self.stop.cancel();
        let task = self.task.lock().ok().and_then(|mut task| task.take());
        if let Some(task) = task {
            let _ = timeout(FINISH_TIMEOUT, task).await;
        }
    }
}

/// Returns a variable. An empty one counts as not set.
fn variable(name: &str) -> Option<String> {
    env::var(name).ok().filter(|value| !value.is_empty())
}

/// Splits a URL before its path.
fn split_path(url: &str) -> (&str, &str) {
    let host = url.find("://").map_or(0, |at| at + 3);
    let path = url[host..].find('/').map_or(url.len(), |at| host + at);
    url.split_at(path)
}

/// Parses `name=value,name=value`, with `%20` and the like in values.
fn headers(text: &str) -> Vec<(String, String)> {
    let pairs = text.split(',').filter_map(|pair| pair.split_once('='));
    let decode = |value: &str| {
        let mut parts = value.split('%');
        let mut decoded = parts.next().unwrap_or_default().to_owned();
        for part in parts {
            let code = part
                .get(..2)
                .and_then(|hex| u8::from_str_radix(hex, 16).ok());
            if let Some(code) = code.filter(u8::is_ascii) {
                decoded.push(char::from(code));
                decoded.push_str(&part[2..]);
            } else {
                decoded.push('%');
                decoded.push_str(part);
            }
        }
        decoded
    };
    let pairs = pairs.map(|(name, value)| (name.trim().to_owned(), decode(value.trim())));
    pairs.collect()
}

/// The collector, as the task that sends to it sees it.
struct Collector {
    endpoint: String,
    base_path: String,
    poster: JsonPoster,
    headers: Vec<(String, String)>,
    resource: Resource,
    recorder: &'static MetricsRecorder,
    started_ns: u64,
    /// The last request failed, which was logged.
    is_failing: bool,
}

impl Collector {
    async fn run(
        mut self,
        mut waiting: mpsc::Receiver<Span>,
        metrics_every: Duration,
        stop: CancellationToken,
    ) {
        let mut metrics = interval(metrics_every.max(SPANS_EVERY));
        metrics.reset();
        let mut spans = Vec::new();
        loop {
            let send_at = Instant::now() + SPANS_EVERY;
            let is_stopping = tokio::select! {
                () = fill(&mut spans, &mut waiting, send_at) => false,
                () = stop.cancelled() => true,
            };
            let is_due = futures_util::FutureExt::now_or_never(metrics.tick()).is_some();
            if is_stopping {
                while let Ok(span) = waiting.try_recv() {
                    spans.push(span);
                }
            }
            for batch in spans.chunks(BATCH_MAX) {
                let traces = self.resource.traces(batch);
                self.send("/v1/traces", &traces).await;
            }
            spans.clear();
            if is_due || is_stopping {
                let values = self.recorder.values();
                let metrics = self.resource.metrics(&values, self.started_ns, now_ns());
                self.send("/v1/metrics", &metrics).await;
            }
            if is_stopping {
                return;
            }
        }
    }

    async fn send(&mut self, path: &str, body: &Value) {
        let sent = timeout(REQUEST_TIMEOUT, self.post(path, body)).await;
        let failed = match sent {
            Ok(Ok(())) => None,
            Ok(Err(why)) => Some(why),
            Err(_) => Some(format!("timed out ({REQUEST_TIMEOUT:?})")),
        };
        let was_failing = std::mem::replace(&mut self.is_failing, failed.is_some());
        if let (Some(why), false) = (failed, was_failing) {
            // Without the headers, which may have secrets.
            tracing::warn!(target: "windlass", "cannot send telemetry to {}: {why}; jobs are not affected", self.endpoint);
        }
    }

    async fn post(&self, path: &str, body: &Value) -> Result<(), String> {
        let path = format!("{}{path}", self.base_path);
        let posted = self.poster.post(&path, &self.headers, body.to_string());
        match posted.await {
            Ok(200..300) => Ok(()),
            Ok(status) => Err(format!("the collector replied {status}")),
            Err(error) => Err(error.to_string()),
        }
    }
}

/// Waits until `send_at`, or until there are enough spans for a request.
async fn fill(spans: &mut Vec<Span>, waiting: &mut mpsc::Receiver<Span>, send_at: Instant) {
    let time = sleep_until(send_at);
    tokio::pin!(time);
    while spans.len() < BATCH_MAX {
        tokio::select! {
            () = &mut time => return,
            Some(span) = waiting.recv() => spans.push(span),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_is_split_before_its_path() {
        for (url, origin, path) in [
            ("https://h:1/a/b", "https://h:1", "/a/b"),
            ("http://h", "http://h", ""),
            ("h/a", "h", "/a"),
        ] {
            assert_eq!(split_path(url), (origin, path));
        }
    }

    #[test]
    fn headers_are_decoded() {
        let found = headers("api-key=a%20b, x=100%,broken");
        let expected = [("api-key", "a b"), ("x", "100%")];
        assert_eq!(
            found,
            expected.map(|(name, value)| (name.to_owned(), value.to_owned()))
        );
    }
}
