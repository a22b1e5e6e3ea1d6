//! The workers: what they do, and commands for them.

use askama::Template;
use windlass_api::{Scope, WorkerReply};

use super::PageRequest;
use super::format::{Time, span};
use super::layout::View;
use crate::error::HttpError;

/// How many jobs of a worker are listed.
const JOBS_MAX: usize = 20;

#[derive(Template)]
#[template(path = "workers.html")]
struct Workers {
    rows: Vec<Row>,
    may_operate: bool,
}

struct Row {
    worker: WorkerReply,
    class: &'static str,
    started: Time,
    seen: String,
    more: usize,
    /// The command that it has not received yet.
    command: Option<&'static str>,
    is_paused: bool,
}

/// Returns the workers that the caller may access, those in trouble first.
pub(super) async fn read(request: &PageRequest) -> Result<Vec<WorkerReply>, HttpError> {
    let workers = request.state.store.workers().await?;
    let mut workers: Vec<_> = workers.iter().map(WorkerReply::new).collect();
    let grant = &request.caller.grant;
    workers.retain(|worker| grant.allows_worker(worker.queues.iter().map(String::as_str)));
    workers.sort_by(|a, b| (rank(a.state), &a.name, &a.id).cmp(&(rank(b.state), &b.name, &b.id)));
    Ok(workers)
}

fn rank(state: &str) -> usize {
    let order = ["late", "draining", "paused", "busy", "idle", "lost"];
    order.iter().position(|known| *known == state).unwrap_or(0)
}

/// The class of a worker's state.
pub(super) fn class(state: &str) -> &'static str {
    match state {
        "busy" | "idle" => "good",
        "lost" => "bad",
        _ => "warn",
    }
}

/// Renders the page.
pub(super) async fn view(request: &PageRequest) -> Result<View, HttpError> {
    let row = |mut worker: WorkerReply| {
        let more = worker.running.len().saturating_sub(JOBS_MAX);
        worker.running.truncate(JOBS_MAX);
        Row {
            class: class(worker.state),
            started: Time::new(&worker.started_at),
            seen: span(worker.last_seen_ms),
            more,
            command: (worker.command != "continue").then_some(worker.command),
            is_paused: worker.state == "paused" || worker.command == "pause",
            worker,
        }
    };
    let page = Workers {
        rows: read(request).await?.into_iter().map(row).collect(),
        may_operate: request.may(Scope::Operate),
    };
    View::new("Workers").live("workers", &page)
}
