//! Forms that change the settings of a queue, and the limits of a group.

use askama::Template;
use windlass_api::queue::describe_setting;
use windlass_api::request::{GetGroup, ShowSettings};
use windlass_api::{GroupReply, Reply, Request, Scope};

use super::PageRequest;
use super::layout::View;
use crate::error::HttpError;
use crate::handlers::dispatch;
use crate::request::encode;

/// A setting and its value.
pub(super) struct Setting {
    pub(super) name: String,
    pub(super) value: String,
    pub(super) about: &'static str,
}

#[derive(Template)]
#[template(path = "settings.html")]
struct Form {
    queue: String,
    settings: Vec<Setting>,
    may_change: bool,
}

#[derive(Template)]
#[template(path = "group.html")]
struct GroupForm {
    group: GroupReply,
    path: String,
    may_change: bool,
}

/// Reads the settings of the queue.
pub(super) async fn read(request: &PageRequest) -> Result<Vec<Setting>, HttpError> {
    let (queue, op) = (request.queue()?, Request::ShowSettings(ShowSettings {}));
    let Reply::ShowSettings(reply) = dispatch(&request.state, Some(&queue), op).await? else {
        return Err(windlass_api::Error::missing_reply().into());
    };
    let setting = |(name, value): (String, String)| Setting {
        about: describe_setting(&name),
        name,
        value,
    };
    Ok(reply.settings.into_iter().map(setting).collect())
}

/// Renders the form of a queue.
pub(super) async fn view(request: &PageRequest) -> Result<View, HttpError> {
    let queue = request.queue()?.to_string();
    let form = Form {
        settings: read(request).await?,
        queue: queue.clone(),
        may_change: request.may(Scope::Admin),
    };
    let view = View::new(format!("Settings of {queue}")).fixed("settings", &form)?;
    Ok(view.back_to(format!("/queues/{}", encode(&queue))))
}

/// Renders the form of a group.
pub(super) async fn group(request: &PageRequest) -> Result<View, HttpError> {
    let (queue, group) = (request.queue()?, request.parameter("group").to_owned());
    let op = Request::GetGroup(GetGroup { group });
    let Reply::GetGroup(group) = dispatch(&request.state, Some(&queue), op).await? else {
        return Err(windlass_api::Error::missing_reply().into());
    };
    let title = format!("Group {} of {queue}", group.group);
    let form = GroupForm {
        group,
        path: request.path.clone(),
        may_change: request.may(Scope::Operate),
    };
    View::new(title).fixed("group", &form)
}
