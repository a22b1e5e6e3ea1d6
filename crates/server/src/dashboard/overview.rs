//! The overview: all queues of the store at a glance.

use std::cmp::Reverse;

use askama::Template;
use windlass_api::health::{Check, CheckStatus};
use windlass_api::{QueueReply, Scope, WorkerReply};
use windlass_core::QueueName;

use super::format::{Count, forecast, plural, span};
use super::layout::View;
use super::{PageRequest, health, history, workers};
use crate::error::HttpError;
use crate::handlers::queue_stats;

/// How many queues are listed. More can be found by name.
const QUEUES_MAX: usize = 500;

/// The columns of the list: the value of `sort`, and the heading.
const COLUMNS: [(&str, &str); 8] = [
    ("name", "Queue"),
    ("ready", "Ready"),
    ("oldest", "Oldest"),
    ("running", "Running"),
    ("scheduled", "Scheduled"),
    ("dead", "Dead"),
    ("in", "In/min"),
    ("out", "Out/min"),
];

#[derive(Template)]
#[template(path = "overview/totals.html")]
struct Totals {
    ready: Count,
    running: Count,
    scheduled: Count,
    dead: Count,
    added: Count,
    done: Count,
    oldest: Option<(String, String)>,
}

impl Totals {
    fn new(queues: &[QueueReply]) -> Self {
        let sum = |part: fn(&QueueReply) -> u64| Count(queues.iter().map(part).sum());
        let oldest = queues.iter().max_by_key(|queue| queue.oldest_ms);
        Self {
            ready: sum(|queue| queue.ready),
            running: sum(|queue| queue.running),
            scheduled: sum(|queue| queue.scheduled + queue.pending),
            dead: sum(|queue| queue.dead),
            added: sum(|queue| queue.last_minute.enqueued),
            done: sum(|queue| queue.last_minute.finished),
            oldest: oldest.and_then(|queue| Some((queue.queue.clone(), span(queue.oldest_ms?)))),
        }
    }
}

#[derive(Template)]
#[template(path = "overview/queues.html")]
struct Queues {
    rows: Vec<Row>,
    columns: Vec<Column>,
    /// The text that the names contain.
    filter: String,
    sort: String,
    found: Count,
    hidden: Count,
    has_none: bool,
    may_operate: bool,
}

struct Column {
    name: &'static str,
    key: &'static str,
    is_sorted: bool,
}

struct Row {
    name: String,
    ready: Count,
    oldest: Option<String>,
    running: Count,
    scheduled: Count,
    dead: Count,
    added: Count,
    done: Count,
    is_paused: bool,
    is_resting: bool,
    forecast: Option<String>,
}

impl From<QueueReply> for Row {
    fn from(queue: QueueReply) -> Self {
        Self {
            forecast: forecast(&queue),
            ready: Count(queue.ready),
            oldest: queue.oldest_ms.map(span),
            running: Count(queue.running),
            scheduled: Count(queue.scheduled + queue.pending),
            dead: Count(queue.dead),
            added: Count(queue.last_minute.enqueued),
            done: Count(queue.last_minute.finished),
            is_paused: queue.paused,
            is_resting: queue.resting_ms.is_some(),
            name: queue.queue,
        }
    }
}

#[derive(Template)]
#[template(path = "overview/workers.html")]
struct Workers {
    alive: usize,
    running: Count,
    /// How many there are in each state.
    states: Vec<(&'static str, &'static str, usize)>,
}

impl Workers {
    fn new(all: &[WorkerReply]) -> Self {
        let mut states: Vec<(&'static str, &'static str, usize)> = Vec::new();
        for worker in all {
            match states
                .iter_mut()
                .find(|(state, _, _)| *state == worker.state)
            {
                Some((_, _, count)) => *count += 1,
                None => states.push((worker.state, workers::class(worker.state), 1)),
            }
        }
        let running: usize = all.iter().map(|worker| worker.running.len()).sum();
        Self {
            alive: all.iter().filter(|worker| worker.state != "lost").count(),
            running: Count(running as u64),
            states,
        }
    }
}

/// How many findings are listed; the most serious come first.
const FINDINGS_MAX: usize = 12;

#[derive(Template)]
#[template(path = "overview/health.html")]
struct Findings {
    /// Whether the first checks still run.
    is_pending: bool,
    /// Each with its label and class.
    checks: Vec<(&'static str, &'static str, Check)>,
    fine: String,
    more: usize,
}

impl Findings {
    fn new(checks: Option<Vec<Check>>) -> Self {
        let is_pending = checks.is_none();
        let checks = checks.unwrap_or_default();
        let (fine, found): (Vec<_>, Vec<_>) = checks
            .into_iter()
            .partition(|check| check.status == CheckStatus::Ok);
        let labelled = |check: &Check| {
            let (label, class) = health::label(check.status);
            (label, class, check.clone())
        };
        let shown = found.iter().take(FINDINGS_MAX);
        Self {
            is_pending,
            fine: plural(fine.len(), "check passes", "checks pass"),
            more: found.len().saturating_sub(FINDINGS_MAX),
            checks: shown.map(labelled).collect(),
        }
    }
}

/// Renders the page.
pub(super) async fn view(request: &PageRequest) -> Result<View, HttpError> {
    let grant = &request.caller.grant;
    // Findings and charts may both be read for the first time, which takes a while.
    let findings = async { Ok(health::findings(&request.state, grant).await) };
    let numbers = async {
        let queues = queue_stats(&request.state, grant).await?;
        let workers = workers::read(request).await?;
        let names = queues.iter().flat_map(|queue| QueueName::new(&queue.queue));
        let charts = history::charts(request, names.collect()).await?;
        Ok::<_, HttpError>((queues, workers, charts))
    };
    let (findings, (queues, workers, charts)) = tokio::try_join!(findings, numbers)?;
    View::new("Overview")
        .live("totals", &Totals::new(&queues))?
        .live("history", &charts)?
        .live("queues", &list(request, queues))?
        .live("health", &Findings::new(findings))?
        .live("workers", &Workers::new(&workers))
}

fn list(request: &PageRequest, mut queues: Vec<QueueReply>) -> Queues {
    let filter = request.query("q").unwrap_or_default();
    let sort = request.query("sort").unwrap_or_else(|| "name".to_owned());
    let has_none = queues.is_empty();
    queues.retain(|queue| queue.queue.contains(&filter));
    sort_by(&mut queues, &sort);
    let found = queues.len();
    queues.truncate(QUEUES_MAX);
    let column = |(key, name): (&'static str, &'static str)| Column {
        is_sorted: key == sort,
        name,
        key,
    };
    Queues {
        columns: COLUMNS.map(column).into(),
        found: Count(found as u64),
        hidden: Count((found - queues.len()) as u64),
        rows: queues.into_iter().map(Row::from).collect(),
        filter,
        sort,
        has_none,
        may_operate: request.may(Scope::Operate),
    }
}

/// Sorts queues by a column, the largest number first. Queues are listed by name.
fn sort_by(queues: &mut [QueueReply], column: &str) {
    let number: fn(&QueueReply) -> u64 = match column {
        "ready" => |queue| queue.ready,
        "oldest" => |queue| queue.oldest_ms.map_or(0, |ms| ms + 1),
        "running" => |queue| queue.running,
        "scheduled" => |queue| queue.scheduled + queue.pending,
        "dead" => |queue| queue.dead,
        "in" => |queue| queue.last_minute.enqueued,
        "out" => |queue| queue.last_minute.finished,
        _ => return,
    };
    queues.sort_by_key(|queue| Reverse(number(queue)));
}
