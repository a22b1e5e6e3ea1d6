//! The log of operator actions, newest first.

use askama::Template;
use windlass_api::request::{ActionReply, Actions as ListActions};
use windlass_api::{Reply, Request};

use super::PageRequest;
use super::format::Time;
use super::layout::View;
use crate::error::HttpError;
use crate::handlers::access::shows_action;
use crate::handlers::dispatch;
use crate::request::encode;

/// How many actions a page has.
const PAGE: usize = 100;

#[derive(Template)]
#[template(path = "actions.html")]
struct Actions {
    rows: Vec<(Time, ActionReply)>,
    next: Option<String>,
}

/// Renders the page. A token for some queues sees the actions on these.
pub(super) async fn view(request: &PageRequest) -> Result<View, HttpError> {
    let list = Request::Actions(ListActions {
        limit: Some(PAGE),
        cursor: request.query("cursor"),
    });
    let Reply::Actions(page) = dispatch(&request.state, None, list).await? else {
        return Err(windlass_api::Error::missing_reply().into());
    };
    let grant = &request.caller.grant;
    let rows = page.actions.into_iter();
    let rows = rows.filter(|action| shows_action(grant, action));
    let page = Actions {
        rows: rows.map(|action| (Time::new(&action.at), action)).collect(),
        next: page
            .next
            .map(|next| format!("/actions?cursor={}", encode(&next))),
    };
    View::new("Actions").live("actions", &page)
}
