//! The groups of errors of a queue.

use askama::Template;
use windlass_api::error_group::ErrorGroupReply;
use windlass_api::request::Errors as ListErrors;
use windlass_api::{Reply, Request};
use windlass_core::QueueName;

use super::PageRequest;
use super::chart::Sparkline;
use super::format::{Count, Time};
use super::layout::Html;
use crate::error::HttpError;
use crate::handlers::dispatch;

/// How many groups are listed, those seen last.
const GROUPS_MAX: usize = 10;

#[derive(Template)]
#[template(path = "queue/errors.html")]
pub(super) struct Errors {
    rows: Vec<Row>,
    found: usize,
}

struct Row {
    count: Count,
    hours: Html,
    seen: Time,
    group: ErrorGroupReply,
}

impl Errors {
    pub(super) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }
}

/// Reads the groups of errors of a queue.
pub(super) async fn of_queue(
    request: &PageRequest,
    queue: &QueueName,
) -> Result<Errors, HttpError> {
    let op = Request::Errors(ListErrors {});
    let Reply::Errors(reply) = dispatch(&request.state, Some(queue), op).await? else {
        return Err(windlass_api::Error::missing_reply().into());
    };
    let row = |group: ErrorGroupReply| {
        let today: u64 = group.hours.iter().sum();
        let about = format!("{} in the last 24 hours", Count(today));
        Ok(Row {
            count: Count(group.count),
            hours: Html::render(&Sparkline::new(about, &group.hours))?,
            seen: Time::new(&group.last_seen),
            group,
        })
    };
    let found = reply.errors.len();
    let shown = reply.errors.into_iter().take(GROUPS_MAX);
    let rows = shown.map(row).collect::<Result<_, HttpError>>()?;
    Ok(Errors { rows, found })
}
