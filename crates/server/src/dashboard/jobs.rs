//! The jobs of a queue: a filter, and one page of what matches.

use askama::Template;
use windlass_api::request::{List, ListReply};
use windlass_api::{JobReply, Reply, Request};

use super::PageRequest;
use super::format::{Count, Time};
use super::layout::View;
use crate::error::HttpError;
use crate::handlers::dispatch;
use crate::request::encode;

/// How many jobs a page has.
const PAGE: usize = 50;

/// How many pages of a search are read for one page of the dashboard, each of at most 1000 jobs.
const SEARCHES_MAX: usize = 10;

/// The longest error in a row.
const ERROR_CHARS: usize = 160;

const STATES: [&str; 7] = [
    "ready",
    "running",
    "scheduled",
    "pending",
    "dead",
    "succeeded",
    "cancelled",
];

/// The text fields of the filter: name, label and an example.
const FIELDS: [(&str, &str, &str); 9] = [
    ("text", "Text in id, payload or error", "ann@example.org"),
    ("kind", "Kind", "letter"),
    ("group", "Group", "acme"),
    ("worker", "Worker id", "5a0b9b6794664019"),
    ("min_attempt", "Attempt, at least", "2"),
    ("header", "Header", "tenant=acme"),
    ("older_than", "Older than", "1h"),
    ("newer_than", "Newer than", "10m"),
    ("error_group", "Error group", "0123456789abcdef"),
];

#[derive(Template)]
#[template(path = "jobs.html")]
struct Jobs {
    queue: String,
    path: String,
    states: Vec<(&'static str, bool)>,
    fields: Vec<Field>,
    /// Whether a field besides the state is set, so that jobs had to be searched.
    is_search: bool,
    rows: Vec<Row>,
    scanned: Count,
    next: Option<String>,
    is_first: bool,
}

struct Field {
    name: &'static str,
    label: &'static str,
    example: &'static str,
    value: String,
}

struct Row {
    path: String,
    class: &'static str,
    created: Time,
    error: Option<String>,
    job: JobReply,
}

/// The class of a state.
pub(super) fn class(state: &str) -> &'static str {
    match state {
        "running" | "succeeded" => "good",
        "dead" => "bad",
        "cancelled" => "warn",
        _ => "",
    }
}

/// The address of a job.
pub(super) fn job_path(queue: &str, id: &str) -> String {
    format!("/queues/{}/jobs/{}", encode(queue), encode(id))
}

impl From<JobReply> for Row {
    fn from(job: JobReply) -> Self {
        let first_line = |error: &String| {
            let line = error.lines().next().unwrap_or_default();
            line.chars().take(ERROR_CHARS).collect()
        };
        Self {
            path: job_path(&job.queue, &job.id),
            class: class(job.state),
            created: Time::new(&job.created_at),
            error: job.error.as_ref().map(first_line),
            job,
        }
    }
}

/// Renders the page.
pub(super) async fn view(request: &PageRequest) -> Result<View, HttpError> {
    let queue = request.queue()?;
    let path = format!("/queues/{}", encode(queue.as_str()));
    let state = request.query("state");
    let value = |name: &str| request.query(name);
    let min_attempt = value("min_attempt").map(|text| text.trim().parse::<u32>());
    let min_attempt = min_attempt.transpose().map_err(|_| {
        let why = "the attempt is not a number";
        HttpError::new(
            windlass_api::Code::Invalid,
            why,
            "use a number of 1 or more",
        )
    })?;
    let list = List {
        state: state.clone(),
        kind: value("kind"),
        text: value("text"),
        older_than: value("older_than"),
        newer_than: value("newer_than"),
        worker: value("worker"),
        min_attempt,
        header: value("header"),
        group: value("group"),
        error_group: value("error_group"),
        ..List::default()
    };
    let page = search(request, &queue, &list).await?;
    let fields: Vec<_> = FIELDS
        .iter()
        .map(|&(name, label, example)| Field {
            name,
            label,
            example,
            value: value(name).unwrap_or_default(),
        })
        .collect();
    let next = page.next.map(|cursor| {
        let set = fields.iter().filter(|field| !field.value.is_empty());
        let set = set.map(|field| (field.name, field.value.as_str()));
        let set = state
            .as_deref()
            .map(|state| ("state", state))
            .into_iter()
            .chain(set);
        let set: String = set
            .map(|(name, value)| format!("{name}={}&", encode(value)))
            .collect();
        format!("{path}/jobs?{set}cursor={}", encode(&cursor))
    });
    let jobs = Jobs {
        queue: queue.to_string(),
        states: STATES
            .map(|name| (name, state.as_deref() == Some(name)))
            .to_vec(),
        is_search: fields.iter().any(|field| !field.value.is_empty()),
        fields,
        rows: page.jobs.into_iter().map(Row::from).collect(),
        scanned: Count(page.scanned as u64),
        next,
        is_first: request.query("cursor").is_none(),
        path,
    };
    View::new(format!("Jobs of {queue}")).fixed("jobs", &jobs)
}

/// Reads pages until one page of the dashboard is full, the list ends, or enough jobs were examined.
async fn search(
    request: &PageRequest,
    queue: &windlass_core::QueueName,
    list: &List,
) -> Result<ListReply, HttpError> {
    let mut found = ListReply {
        jobs: Vec::new(),
        next: request.query("cursor"),
        scanned: 0,
    };
    for _ in 0..SEARCHES_MAX {
        let list = List {
            limit: Some(PAGE - found.jobs.len()),
            cursor: found.next.take(),
            ..list.clone()
        };
        let reply = dispatch(&request.state, Some(queue), Request::List(list)).await?;
        let Reply::List(page) = reply else {
            return Err(windlass_api::Error::missing_reply().into());
        };
        found.jobs.extend(page.jobs);
        found.scanned += page.scanned;
        found.next = page.next;
        if found.jobs.len() >= PAGE || found.next.is_none() {
            break;
        }
    }
    Ok(found)
}
