//! `/`: version, store and queues, as a page for browsers and as JSON for programs.

use std::fmt::Write;
use std::time::Duration;

use axum::http::{HeaderMap, header};
use schemars::JsonSchema;
use serde::Serialize;
use windlass_api::{QueueReply, Scope};
use windlass_core::duration;

use super::{escape, is_browser, page};
use crate::handlers::{HandlerResult, json, queue_stats};
use crate::scope::Grant;
use crate::state::AppState;

/// How many queues the page lists.
const QUEUES_MAX: usize = 200;

/// The page loads itself again after this many seconds.
const REFRESH_S: u32 = 10;

const MILLISECOND: u64 = 1000;

/// What the server is, and where to go on.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct HomeReply {
    /// `windlass`.
    name: &'static str,
    /// The version of the server.
    version: &'static str,
    /// The kind of store: `sqlite`, `redis`, `http` or `memory`.
    store: &'static str,
    /// The path of the reference of the API.
    docs: &'static str,
    /// The path of its `OpenAPI` document.
    openapi: &'static str,
    /// The path of the queues with their stats.
    queues: &'static str,
    /// The path of the metrics.
    metrics: &'static str,
}

/// Returns the page, or the JSON. Queues are those that the caller may read.
pub(crate) async fn handle(state: &AppState, grant: &Grant, headers: &HeaderMap) -> HandlerResult {
    let reply = HomeReply {
        name: "windlass",
        version: env!("CARGO_PKG_VERSION"),
        store: state.store_kind,
        docs: "/docs",
        openapi: "/openapi.json",
        queues: "/v1/queues",
        metrics: "/metrics",
    };
    if !is_browser(headers) {
        return json(&reply);
    }
    let queues = if grant.has(Scope::Read) {
        Some(queue_stats(state, grant).await?)
    } else {
        None
    };
    let head = format!("<meta http-equiv=\"refresh\" content=\"{REFRESH_S}\">");
    let host = headers
        .get(header::HOST)
        .and_then(|host| host.to_str().ok());
    let body = body(&reply, queues.as_deref(), host.unwrap_or("127.0.0.1:7700"));
    Ok(page("Windlass", &head, &body))
}

fn body(reply: &HomeReply, queues: Option<&[QueueReply]>, host: &str) -> String {
    let mut body = format!(
        "<main>\n<h1>Windlass</h1>\n\
        <p class=\"muted\">version {} · store {}</p>\n\
        <nav><a href=\"/docs\">API reference</a> <a href=\"/v1/queues\">Queues as JSON</a> \
        <a href=\"/v1/workers\">Workers</a> <a href=\"/metrics\">Metrics</a> <a href=\"/openapi.json\">OpenAPI</a></nav>\n\
        <h2>Queues</h2>\n",
        reply.version,
        escape(reply.store),
    );
    match queues {
        None => body.push_str("<p>The token lacks the scope <code>read</code>.</p>\n"),
        Some([]) => {
            // Writing to a String cannot fail, here and below.
            let _ = write!(
                body,
                "<p>There is no queue yet. The first job creates one:</p>\n\
                <pre>curl --json '{{\"payload\":\"hello\"}}' http://{}/v1/queues/mail/jobs</pre>\n",
                escape(host)
            );
        }
        Some(queues) => write_queues(&mut body, queues),
    }
    body.push_str("</main>\n");
    body
}

fn write_queues(body: &mut String, queues: &[QueueReply]) {
    body.push_str("<div class=\"scroll\"><table>\n<thead><tr><th>Queue</th>");
    for name in [
        "Ready",
        "Oldest",
        "Running",
        "Scheduled",
        "Dead",
        "In, last minute",
        "Out, last minute",
    ] {
        let _ = write!(body, "<th class=\"number\">{name}</th>");
    }
    body.push_str("</tr></thead>\n<tbody>\n");
    for queue in queues.iter().take(QUEUES_MAX) {
        let name = escape(&queue.queue);
        let paused = match (queue.paused, queue.resting_ms) {
            (true, _) => " <span class=\"tag\">paused</span>",
            (false, Some(_)) => " <span class=\"tag\">resting</span>",
            (false, None) => "",
        };
        let _ = write!(
            body,
            "<tr><td><a href=\"/v1/queues/{name}/jobs\">{name}</a>{paused}</td>"
        );
        let dead_class = if queue.dead > 0 { " bad" } else { "" };
        for (class, value) in [
            ("", queue.ready.to_string()),
            ("", queue.oldest_ms.map_or_else(|| "–".to_owned(), age)),
            ("", queue.running.to_string()),
            ("", queue.scheduled.to_string()),
            (dead_class, queue.dead.to_string()),
            ("", queue.last_minute.enqueued.to_string()),
            ("", queue.last_minute.finished.to_string()),
        ] {
            let _ = write!(body, "<td class=\"number{class}\">{value}</td>");
        }
        body.push_str("</tr>\n");
    }
    body.push_str("</tbody></table></div>\n");
    if queues.len() > QUEUES_MAX {
        let more = queues.len() - QUEUES_MAX;
        let _ = writeln!(
            body,
            "<p>{more} more are in <a href=\"/v1/queues\">the list</a>.</p>"
        );
    }
    let _ = writeln!(
        body,
        "<p class=\"muted\">This page loads itself again every {REFRESH_S} s.</p>"
    );
}

/// An age in whole seconds, minutes or hours.
fn age(ms: u64) -> String {
    let seconds = ms / MILLISECOND;
    let unit = match seconds {
        0..60 => 1,
        60..3600 => 60,
        _ => 3600,
    };
    duration::format(Duration::from_secs(seconds / unit * unit))
}

#[cfg(test)]
mod tests {
    use windlass_core::QueueName;
    use windlass_core::store::Stats;

    use super::super::{assert_plain, html};
    use super::*;

    fn reply() -> HomeReply {
        HomeReply {
            name: "windlass",
            version: "0",
            store: "<b>",
            docs: "",
            openapi: "",
            queues: "",
            metrics: "",
        }
    }

    #[test]
    fn the_front_page_shows_queues_and_has_no_script() {
        let stats = Stats {
            ready: 3,
            dead: 1,
            oldest_ms: Some(61_000),
            is_paused: true,
            ..Stats::default()
        };
        let queue = QueueReply::new(&QueueName::new("mail").unwrap(), &stats);
        let many = vec![queue; QUEUES_MAX + 2];

        let page = html("Windlass", "", &body(&reply(), Some(&many), "h"));

        assert_plain(&page);
        assert!(page.contains(">mail</a> <span class=\"tag\">paused</span>"));
        assert!(page.contains("<td class=\"number\">1m</td>"), "{page}");
        assert!(page.contains("<td class=\"number bad\">1</td>"));
        assert!(page.contains("2 more are in"));
        assert!(!page.contains("<b>"));
    }

    #[test]
    fn without_the_scope_read_no_queue_is_shown() {
        let page = body(&reply(), None, "h");
        assert!(page.contains("lacks the scope"));
    }

    #[test]
    fn a_server_without_queues_shows_how_to_enqueue_with_its_own_address() {
        let page = body(&reply(), Some(&[]), "jobs:80<b>");
        assert!(
            page.contains("http://jobs:80&lt;b&gt;/v1/queues/mail/jobs"),
            "{page}"
        );
    }
}
