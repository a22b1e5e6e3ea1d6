//! One queue: its numbers, priorities, schedules, groups and settings.

use askama::Template;
use windlass_api::request::{Groups as ListGroups, GroupsReply};
use windlass_api::{GroupReply, QueueReply, Reply, Request, Scope};
use windlass_core::QueueName;

use super::chart::Bars;
use super::format::{Count, Time, bytes, forecast, span};
use super::layout::View;
use super::settings::{self, Setting};
use super::{PageRequest, errors, history, schedules};
use crate::error::HttpError;
use crate::handlers::{dispatch, queue_reply};
use crate::request::encode;

/// How many groups are listed at once.
const GROUPS_MAX: usize = 50;

#[derive(Template)]
#[template(path = "queue/head.html")]
struct Head {
    queue: QueueReply,
    path: String,
    resting: Option<String>,
    may_operate: bool,
    may_change: bool,
}

#[derive(Template)]
#[template(path = "queue/totals.html")]
struct Totals {
    ready: Count,
    running: Count,
    scheduled: Count,
    pending: Count,
    dead: Count,
    succeeded: Count,
    cancelled: Count,
    added: Count,
    done: Count,
    oldest: Option<String>,
    forecast: Option<String>,
    bytes: String,
    total: [(&'static str, Count); 4],
}

#[derive(Template)]
#[template(path = "queue/groups.html")]
struct Groups {
    path: String,
    rows: Vec<GroupRow>,
    next: Option<String>,
    may_operate: bool,
}

struct GroupRow {
    path: String,
    opens: Option<Time>,
    rests: Option<Time>,
    group: GroupReply,
}

#[derive(Template)]
#[template(path = "queue/settings.html")]
struct Settings {
    path: String,
    all: Vec<Setting>,
    may_change: bool,
}

impl Totals {
    fn new(queue: &QueueReply) -> Self {
        Self {
            ready: Count(queue.ready),
            running: Count(queue.running),
            scheduled: Count(queue.scheduled),
            pending: Count(queue.pending),
            dead: Count(queue.dead),
            succeeded: Count(queue.succeeded),
            cancelled: Count(queue.cancelled),
            added: Count(queue.last_minute.enqueued),
            done: Count(queue.last_minute.finished),
            oldest: queue.oldest_ms.map(span),
            forecast: forecast(queue),
            bytes: bytes(queue.bytes),
            total: [
                ("enqueued", Count(queue.total.enqueued)),
                ("succeeded", Count(queue.total.succeeded)),
                ("dead", Count(queue.total.dead)),
                ("rescued", Count(queue.total.rescued)),
            ],
        }
    }
}

/// Renders the page.
pub(super) async fn view(request: &PageRequest) -> Result<View, HttpError> {
    let name = request.queue()?;
    let queue = queue_reply(&request.state, &name).await?;
    let path = format!("/queues/{}", encode(name.as_str()));
    let totals = Totals::new(&queue);
    let priorities = priorities(&queue);
    let has_schedules = queue.schedules > 0;
    let head = Head {
        resting: queue.resting_ms.map(span),
        path: path.clone(),
        queue,
        may_operate: request.may(Scope::Operate),
        may_change: request.may(Scope::Admin),
    };
    let mut view = View::new(name.to_string())
        .live("head", &head)?
        .live("totals", &totals)?;
    let charts = history::charts(request, vec![name.clone()]).await?;
    view = view.live("history", &charts)?;
    if let Some(priorities) = priorities {
        view = view.live("priorities", &priorities)?;
    }
    let errors = errors::of_queue(request, &name).await?;
    if !errors.is_empty() {
        view = view.live("errors", &errors)?;
    }
    if has_schedules {
        let schedules = schedules::of_queue(request, &name).await?;
        if !schedules.is_empty() {
            view = view.live("schedules", &schedules)?;
        }
    }
    let groups = groups(request, &name, &path).await?;
    if !groups.rows.is_empty() {
        view = view.live("groups", &groups)?;
    }
    let settings = Settings {
        path,
        all: settings::read(request).await?,
        may_change: request.may(Scope::Admin),
    };
    view.live("settings", &settings)
}

/// The ready jobs of each priority, if there is more than one.
fn priorities(queue: &QueueReply) -> Option<Bars> {
    let all = queue.ready_by_priority.iter().enumerate();
    let used: Vec<_> = all
        .filter(|(_, ready)| **ready > 0)
        .map(|(priority, ready)| (format!("Priority {priority}"), *ready))
        .collect();
    (used.len() > 1).then(|| Bars::new("Ready jobs by priority", used))
}

async fn groups(request: &PageRequest, queue: &QueueName, path: &str) -> Result<Groups, HttpError> {
    let list = ListGroups {
        limit: Some(GROUPS_MAX),
        cursor: request.query("groups"),
    };
    let reply = dispatch(&request.state, Some(queue), Request::Groups(list)).await?;
    let Reply::Groups(GroupsReply { groups, next }) = reply else {
        return Err(windlass_api::Error::missing_reply().into());
    };
    let row = |group: GroupReply| GroupRow {
        path: format!("{path}/groups/{}", encode(&group.group)),
        opens: group.opens_at.as_deref().map(Time::new),
        rests: group.resting_until.as_deref().map(Time::new),
        group,
    };
    Ok(Groups {
        path: path.to_owned(),
        rows: groups.into_iter().map(row).collect(),
        next: next.map(|next| format!("{path}?groups={}#groups", encode(&next))),
        may_operate: request.may(Scope::Operate),
    })
}
