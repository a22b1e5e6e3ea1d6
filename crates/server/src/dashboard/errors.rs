//! Groups of errors: of one queue, or of all.

use askama::Template;
use futures_util::{StreamExt, TryStreamExt, stream};
use windlass_api::error_group::ErrorGroupReply;
use windlass_api::request::Errors as ListErrors;
use windlass_api::{Reply, Request, Scope};
use windlass_core::QueueName;

use super::PageRequest;
use super::chart::Sparkline;
use super::format::{Count, Time};
use super::jobs::job_path;
use super::layout::{Html, View};
use crate::error::HttpError;
use crate::handlers::{accessible_queues, dispatch};
use crate::request::encode;

/// How many groups are listed, those seen last: on the page of a queue, and on the page of all errors.
const PART_MAX: usize = 10;
const PAGE_MAX: usize = 200;

/// How many queues are read at the same time.
const READS_MAX: usize = 16;

#[derive(Template)]
#[template(path = "errors.html")]
pub(super) struct Errors {
    rows: Vec<Row>,
    found: usize,
    /// Whether it is part of the page of a queue.
    is_part: bool,
    may_operate: bool,
}

struct Row {
    queue: String,
    queue_path: String,
    last_job: String,
    count: Count,
    hours: Html,
    first_seen: Time,
    last_seen: Time,
    group: ErrorGroupReply,
}

impl Errors {
    fn new(
        request: &PageRequest,
        mut groups: Vec<(QueueName, ErrorGroupReply)>,
        is_part: bool,
    ) -> Result<Self, HttpError> {
        groups.sort_by(|(_, a), (_, b)| b.last_seen.cmp(&a.last_seen));
        let found = groups.len();
        groups.truncate(if is_part { PART_MAX } else { PAGE_MAX });
        let rows = groups
            .into_iter()
            .map(|(queue, group)| Row::new(&queue, group));
        Ok(Self {
            rows: rows.collect::<Result<_, _>>()?,
            found,
            is_part,
            may_operate: request.may(Scope::Operate),
        })
    }

    pub(super) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }
}

impl Row {
    fn new(queue: &QueueName, group: ErrorGroupReply) -> Result<Self, HttpError> {
        let today: u64 = group.hours.iter().sum();
        let about = format!("{} in the last 24 hours", Count(today));
        Ok(Self {
            queue: queue.to_string(),
            queue_path: format!("/queues/{}", encode(queue.as_str())),
            last_job: job_path(queue.as_str(), &group.last_job),
            count: Count(group.count),
            hours: Html::render(&Sparkline::new(about, &group.hours))?,
            first_seen: Time::new(&group.first_seen),
            last_seen: Time::new(&group.last_seen),
            group,
        })
    }
}

async fn read(
    request: &PageRequest,
    queue: QueueName,
) -> Result<Vec<(QueueName, ErrorGroupReply)>, HttpError> {
    let op = Request::Errors(ListErrors {});
    let Reply::Errors(reply) = dispatch(&request.state, Some(&queue), op).await? else {
        return Err(windlass_api::Error::missing_reply().into());
    };
    let groups = reply.errors.into_iter();
    Ok(groups.map(|group| (queue.clone(), group)).collect())
}

/// Reads the groups of errors of a queue.
pub(super) async fn of_queue(
    request: &PageRequest,
    queue: &QueueName,
) -> Result<Errors, HttpError> {
    Errors::new(request, read(request, queue.clone()).await?, true)
}

/// Renders the page of all errors.
pub(super) async fn view(request: &PageRequest) -> Result<View, HttpError> {
    let queues = accessible_queues(&request.state, &request.caller.grant).await?;
    let reads = stream::iter(queues).map(|queue| read(request, queue));
    let groups = reads.buffer_unordered(READS_MAX).try_concat().await?;
    View::new("Errors").live("errors", &Errors::new(request, groups, false)?)
}
