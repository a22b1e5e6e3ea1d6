//! The schedules: of one queue, or of all.

use askama::Template;
use windlass_api::request::{Schedules as ListSchedules, SchedulesReply};
use windlass_api::{Reply, Request, ScheduleReply, Scope};
use windlass_core::QueueName;

use super::PageRequest;
use super::format::Time;
use super::layout::View;
use crate::error::HttpError;
use crate::handlers::{accessible_queues, dispatch};
use crate::request::encode;

/// How many schedules a page has.
const PAGE: usize = 50;

/// How many next instants are shown.
const NEXT_MAX: usize = 3;

#[derive(Template)]
#[template(path = "schedules.html")]
pub(super) struct Schedules {
    /// Whether the schedules are a part of the page of a queue.
    is_part: bool,
    rows: Vec<Row>,
    next: Option<String>,
    may_operate: bool,
}

struct Row {
    schedule: ScheduleReply,
    next: Vec<Time>,
    rule: String,
    last: Option<Time>,
}

impl From<ScheduleReply> for Row {
    fn from(schedule: ScheduleReply) -> Self {
        let zone = schedule.zone.as_deref().unwrap_or_default();
        let rule = match (&schedule.cron, &schedule.every) {
            (Some(cron), _) => format!("{cron} ({zone})"),
            (None, Some(every)) => format!("every {every}"),
            (None, None) => String::new(),
        };
        Self {
            next: schedule
                .next
                .iter()
                .take(NEXT_MAX)
                .map(|at| Time::new(at))
                .collect(),
            last: schedule
                .history
                .last()
                .map(|last| Time::new(&last.fired_at)),
            rule,
            schedule,
        }
    }
}

impl Schedules {
    pub(super) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }
}

/// Reads the schedules of a queue.
pub(super) async fn of_queue(
    request: &PageRequest,
    queue: &QueueName,
) -> Result<Schedules, HttpError> {
    let cursor = request.query("schedules");
    let page = read(request, queue, cursor, PAGE).await?;
    let link = |next: String| {
        format!(
            "/queues/{}?schedules={}#schedules",
            encode(queue.as_str()),
            encode(&next)
        )
    };
    Ok(Schedules {
        is_part: true,
        rows: page.schedules.into_iter().map(Row::from).collect(),
        next: page.next.map(link),
        may_operate: request.may(Scope::Operate),
    })
}

async fn read(
    request: &PageRequest,
    queue: &QueueName,
    cursor: Option<String>,
    limit: usize,
) -> Result<SchedulesReply, HttpError> {
    let list = ListSchedules {
        limit: Some(limit),
        cursor,
        full: None,
    };
    match dispatch(&request.state, Some(queue), Request::Schedules(list)).await? {
        Reply::Schedules(page) => Ok(page),
        _ => Err(windlass_api::Error::missing_reply().into()),
    }
}

/// Renders the schedules of all queues, ordered by queue. A page starts at a queue, and at a cursor in it.
pub(super) async fn view(request: &PageRequest) -> Result<View, HttpError> {
    let mut queues = accessible_queues(&request.state, &request.caller.grant).await?;
    queues.sort();
    let (from, mut cursor) = (request.query("from"), request.query("cursor"));
    let mut rows = Vec::new();
    let mut next = None;
    for queue in &queues {
        if from.as_deref().is_some_and(|from| queue.as_str() < from) {
            continue;
        }
        let is_first = from.as_deref() == Some(queue.as_str());
        let start = cursor.take().filter(|_| is_first);
        if rows.len() >= PAGE {
            next = Some(format!("/schedules?from={}", encode(queue.as_str())));
            break;
        }
        let page = read(request, queue, start, PAGE - rows.len()).await?;
        rows.extend(page.schedules.into_iter().map(Row::from));
        if let Some(more) = page.next {
            let queue = encode(queue.as_str());
            next = Some(format!("/schedules?from={queue}&cursor={}", encode(&more)));
            break;
        }
    }
    let page = Schedules {
        is_part: false,
        rows,
        next,
        may_operate: request.may(Scope::Operate),
    };
    View::new("Schedules").live("schedules", &page)
}
