//! The jobs of a queue: a filter, and one page of what matches.

use std::iter;

use askama::Template;
use windlass_api::request::{List, ListReply};
use windlass_api::{Fields, JobReply, Reply, Request, Scope};
use windlass_core::{Change, QueueName};

use super::format::{Count, Time};
use super::layout::View;
use super::{PageRequest, bulk, query_value};
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

/// The filter in the query of a page: the conditions that are set, by name.
#[derive(Debug)]
pub(super) struct JobFilter(Vec<(&'static str, String)>);

impl JobFilter {
    pub(super) fn of(request: &PageRequest) -> Self {
        Self::of_query(&request.query)
    }

    pub(super) fn of_query(query: &str) -> Self {
        let names = iter::once("state").chain(FIELDS.map(|(name, _, _)| name));
        let set = names.filter_map(|name| Some((name, query_value(query, name)?)));
        Self(set.collect())
    }

    pub(super) fn get(&self, name: &str) -> Option<&str> {
        let found = self.0.iter().find(|(set, _)| *set == name);
        found.map(|(_, value)| value.as_str())
    }

    /// Returns whether a condition besides the state is set, so that jobs have to be searched.
    fn is_search(&self) -> bool {
        self.0.iter().any(|(name, _)| *name != "state")
    }

    /// Returns it as the query of an address.
    pub(super) fn query(&self) -> String {
        let pair = |(name, value): &(&str, String)| format!("{name}={}", encode(value));
        self.0.iter().map(pair).collect::<Vec<_>>().join("&")
    }

    /// Returns its conditions as text.
    pub(super) fn about(&self) -> String {
        let pair = |(name, value): &(&str, String)| format!("{} {value}", name.replace('_', " "));
        self.0.iter().map(pair).collect::<Vec<_>>().join(", ")
    }

    /// Returns it as fields of a request.
    pub(super) fn fields(&self) -> Result<Fields<'static>, HttpError> {
        let mut fields = Fields::default();
        for (name, value) in &self.0 {
            match value.trim().parse::<u32>() {
                Ok(number) if *name == "min_attempt" => fields.put(name, &number)?,
                _ => fields.put(name, value)?,
            }
        }
        Ok(fields)
    }
}

#[derive(Template)]
#[template(path = "jobs.html")]
struct Jobs {
    queue: String,
    path: String,
    states: Vec<(&'static str, bool)>,
    fields: Vec<Field>,
    is_search: bool,
    /// The filter as the query of an address.
    query: String,
    /// The changes that apply to the jobs shown, if the caller may make them.
    changes: Vec<&'static str>,
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
    let filter = JobFilter::of(request);
    let page = search(request, &queue, &filter.fields()?.read()?).await?;
    let fields = FIELDS.map(|(name, label, example)| Field {
        name,
        label,
        example,
        value: filter.get(name).unwrap_or_default().to_owned(),
    });
    let query = filter.query();
    let next = page
        .next
        .map(|cursor| format!("{path}/jobs?{query}&cursor={}", encode(&cursor)));
    let may_operate = request.may(Scope::Operate);
    let changes = bulk::changes_of(filter.get("state")).into_iter();
    let jobs = Jobs {
        queue: queue.to_string(),
        states: STATES
            .map(|name| (name, filter.get("state") == Some(name)))
            .to_vec(),
        is_search: filter.is_search(),
        fields: fields.into(),
        query,
        changes: changes
            .filter(|_| may_operate)
            .map(Change::as_str)
            .collect(),
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
    queue: &QueueName,
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
