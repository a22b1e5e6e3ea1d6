//! The dashboard: pages that the server renders from the replies of ops, for browsers with and without scripting.
//!
//! # Map
//!
//! A page is a function from a [`PageRequest`] to a [`View`], a list of fragments of HTML. `layout` wraps them into a
//! document; `live` renders the same fragments again while somebody watches, and sends those that changed. Buttons
//! are forms: `form` turns one into the request of an op and runs it. `session` knows who signed in (`sign_in`).
//! `chart` draws SVG, `format` formats numbers and times, `asset` serves the style sheet and the script.

mod actions;
mod asset;
mod bulk;
mod cached;
mod chart;
mod confirm;
mod errors;
mod form;
mod format;
mod health;
mod history;
mod home;
mod job;
mod jobs;
mod layout;
mod live;
mod overview;
mod queue;
mod schedules;
mod session;
mod settings;
mod sign_in;
mod workers;

use std::sync::Arc;

use axum::http::{HeaderMap, header};
use windlass_api::Method::{Get as GET, Post as POST};
use windlass_api::request::{
    Cancel, ClearError, CommandWorker, Delete, DeleteQueue, FailWorker, Pause, PauseGroup,
    PauseSchedule, Promote, Purge, QueueRequest, Resume, ResumeGroup, ResumeSchedule, Retry,
    RunSchedule, Set, SetGroup, StoreRequest,
};
use windlass_api::{Code, Route, Scope};
use windlass_core::QueueName;

use crate::caller::Caller;
use crate::error::HttpError;
use crate::handlers::{HandlerResult, json};
use crate::request::ApiRequest;
use crate::state::AppState;
use crate::table::Handler;

pub(crate) use asset::Asset;
pub(crate) use bulk::{BulkTasks, start as bulk, stop as stop_bulk};
pub(crate) use cached::Cached;
pub(crate) use form::{handle as form, purge};
pub(crate) use history::Point;
pub(crate) use home::HomeReply;
pub(crate) use layout::{Html, document, error};
pub(crate) use live::Live;
pub(crate) use session::{FormToken, Session, Sessions, cookie};
pub(crate) use sign_in::{not_signed_in, sign_in, sign_out};

use layout::View;

/// The pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Page {
    Overview,
    Queue,
    Settings,
    Group,
    Purge,
    DeleteQueue,
    Workers,
    StopWorker,
    FailWorker,
    Schedules,
    Jobs,
    Job,
    /// Asks before all jobs that match a filter are changed.
    ConfirmBulk,
    /// Shows how far such a change is.
    Bulk,
    Errors,
    Actions,
}

impl Page {
    /// The class of its style.
    const fn class(self) -> &'static str {
        match self {
            Self::Overview => "page overview",
            Self::Queue => "page queue",
            Self::Workers
            | Self::Schedules
            | Self::Jobs
            | Self::Job
            | Self::Errors
            | Self::Actions => "page",
            Self::ConfirmBulk
            | Self::Bulk
            | Self::Settings
            | Self::Group
            | Self::Purge
            | Self::DeleteQueue
            | Self::StopWorker
            | Self::FailWorker => "page narrow",
        }
    }
}

/// The routes that only browsers use.
#[rustfmt::skip]
pub(crate) const ROUTES: &[(Handler, Route)] = &[
    (Handler::Page(Page::Queue), Route::new(GET, "/queues/{queue}", Scope::Read, "page", "Shows a queue")),
    (Handler::Form, Route::new(POST, "/queues/{queue}/pause", Scope::Operate, Pause::OP, "Pauses a queue")),
    (Handler::Form, Route::new(POST, "/queues/{queue}/resume", Scope::Operate, Resume::OP, "Resumes a queue")),
    (Handler::Page(Page::Settings), Route::new(GET, "/queues/{queue}/settings", Scope::Read, "page", "Shows the settings of a queue")),
    (Handler::Form, Route::new(POST, "/queues/{queue}/settings", Scope::Admin, Set::OP, "Changes the settings of a queue")),
    (Handler::Page(Page::Purge), Route::new(GET, "/queues/{queue}/purge", Scope::Read, "page", "Asks before a queue is purged")),
    (Handler::Purge, Route::new(POST, "/queues/{queue}/purge", Scope::Admin, Purge::OP, "Purges a queue")),
    (Handler::Page(Page::DeleteQueue), Route::new(GET, "/queues/{queue}/delete", Scope::Read, "page", "Asks before a queue is deleted")),
    (Handler::Form, Route::new(POST, "/queues/{queue}/delete", Scope::Admin, DeleteQueue::OP, "Deletes a queue")),
    (Handler::Page(Page::Group), Route::new(GET, "/queues/{queue}/groups/{group}", Scope::Read, "page", "Shows a group")),
    (Handler::Form, Route::new(POST, "/queues/{queue}/groups/{group}", Scope::Operate, SetGroup::OP, "Changes the limits of a group")),
    (Handler::Form, Route::new(POST, "/queues/{queue}/groups/{group}/pause", Scope::Operate, PauseGroup::OP, "Pauses a group")),
    (Handler::Form, Route::new(POST, "/queues/{queue}/groups/{group}/resume", Scope::Operate, ResumeGroup::OP, "Resumes a group")),
    (Handler::Form, Route::new(POST, "/queues/{queue}/schedules/{name}/run", Scope::Operate, RunSchedule::OP, "Enqueues a job of a schedule now")),
    (Handler::Form, Route::new(POST, "/queues/{queue}/schedules/{name}/pause", Scope::Operate, PauseSchedule::OP, "Pauses a schedule")),
    (Handler::Form, Route::new(POST, "/queues/{queue}/schedules/{name}/resume", Scope::Operate, ResumeSchedule::OP, "Resumes a schedule")),
    (Handler::Page(Page::Workers), Route::new(GET, "/workers", Scope::Read, "page", "Shows the workers")),
    (Handler::Form, Route::new(POST, "/workers/{worker}/command", Scope::Operate, CommandWorker::OP, "Queues a command for a worker")),
    (Handler::Page(Page::StopWorker), Route::new(GET, "/workers/{worker}/stop", Scope::Read, "page", "Asks before a worker is stopped")),
    (Handler::Form, Route::new(POST, "/workers/{worker}/stop", Scope::Operate, CommandWorker::OP, "Stops a worker")),
    (Handler::Page(Page::FailWorker), Route::new(GET, "/workers/{worker}/fail", Scope::Read, "page", "Asks before a worker is declared dead")),
    (Handler::Form, Route::new(POST, "/workers/{worker}/fail", Scope::Operate, FailWorker::OP, "Declares a worker dead")),
    (Handler::Page(Page::Schedules), Route::new(GET, "/schedules", Scope::Read, "page", "Shows the schedules of all queues")),
    (Handler::Page(Page::Jobs), Route::new(GET, "/queues/{queue}/jobs", Scope::Read, "page", "Shows jobs of a queue, by filter")),
    (Handler::Page(Page::Job), Route::new(GET, "/queues/{queue}/jobs/{id}", Scope::Read, "page", "Shows a job")),
    (Handler::Form, Route::new(POST, "/queues/{queue}/jobs/{id}/retry", Scope::Operate, Retry::OP, "Retries a dead job")),
    (Handler::Form, Route::new(POST, "/queues/{queue}/jobs/{id}/cancel", Scope::Operate, Cancel::OP, "Cancels a job")),
    (Handler::Form, Route::new(POST, "/queues/{queue}/jobs/{id}/promote", Scope::Operate, Promote::OP, "Makes a job ready now")),
    (Handler::Form, Route::new(POST, "/queues/{queue}/jobs/{id}/delete", Scope::Operate, Delete::OP, "Deletes a finished job")),
    (Handler::Page(Page::ConfirmBulk), Route::new(GET, "/queues/{queue}/bulk/{change}", Scope::Read, "page", "Asks before all jobs that match a filter are changed")),
    (Handler::Bulk, Route::new(POST, "/queues/{queue}/bulk/{change}", Scope::Operate, "bulk", "Changes selected jobs, or all that match a filter, in the background")),
    (Handler::Page(Page::Bulk), Route::new(GET, "/queues/{queue}/bulk/{change}/{task}", Scope::Read, "page", "Shows the progress of a change of many jobs")),
    (Handler::StopBulk, Route::new(POST, "/queues/{queue}/bulk/{change}/{task}/stop", Scope::Operate, "stop_bulk", "Stops a change of many jobs")),
    (Handler::Page(Page::Errors), Route::new(GET, "/errors", Scope::Read, "page", "Shows the groups of errors of all queues")),
    (Handler::Form, Route::new(POST, "/queues/{queue}/errors/{fingerprint}/clear", Scope::Operate, ClearError::OP, "Deletes a group of errors")),
    (Handler::Page(Page::Actions), Route::new(GET, "/actions", Scope::Read, "page", "Shows the log of operator actions")),
    (Handler::SignIn, Route::new(GET, "/sign-in", Scope::Open, "sign_in", "Shows the page for signing in")),
    (Handler::SignIn, Route::new(POST, "/sign-in", Scope::Open, "sign_in", "Signs a browser in")),
    (Handler::SignOut, Route::new(POST, "/sign-out", Scope::Any, "sign_out", "Ends the session of a browser")),
    (Handler::Asset(Asset::Style), Route::new(GET, Asset::Style.path(), Scope::Open, "asset", "Returns the style sheet")),
    (Handler::Asset(Asset::Script), Route::new(GET, Asset::Script.path(), Scope::Open, "asset", "Returns the script")),
    (Handler::Asset(Asset::Icon), Route::new(GET, Asset::Icon.path(), Scope::Open, "asset", "Returns the icon")),
];

/// Returns whether a browser asks for a page, rather than a program for JSON.
pub(crate) fn is_browser(headers: &HeaderMap) -> bool {
    accepts(headers, "text/html")
}

/// Returns whether a page asks for its own changes.
pub(crate) fn wants_events(headers: &HeaderMap) -> bool {
    accepts(headers, "text/event-stream")
}

fn accepts(headers: &HeaderMap, media_type: &str) -> bool {
    let accepted = headers.get_all(header::ACCEPT).iter();
    let mut accepted = accepted.filter_map(|value| value.to_str().ok());
    accepted.any(|value| value.contains(media_type))
}

/// A request for a page. It has what the content depends on, and nothing else.
#[derive(Debug, Clone)]
pub(crate) struct PageRequest {
    state: Arc<AppState>,
    page: Page,
    /// Its permissions decide what is shown.
    caller: Caller,
    /// The parameters of the path.
    parameters: Vec<(String, String)>,
    /// The path as requested.
    path: String,
    query: String,
}

impl PageRequest {
    fn new(state: &Arc<AppState>, page: Page, request: &ApiRequest) -> Self {
        Self {
            state: Arc::clone(state),
            page,
            caller: request.caller.clone(),
            parameters: request.path.clone(),
            path: request.url_path(),
            query: request.query.clone(),
        }
    }

    /// Returns a parameter of the query; an empty one counts as missing.
    fn query(&self, name: &str) -> Option<String> {
        query_value(&self.query, name)
    }

    /// Returns a parameter of the path.
    fn parameter(&self, name: &str) -> &str {
        let found = self
            .parameters
            .iter()
            .find(|(parameter, _)| parameter == name);
        found.map_or("", |(_, value)| value)
    }

    /// Returns the queue in the path.
    fn queue(&self) -> Result<QueueName, HttpError> {
        Ok(QueueName::new(self.parameter("queue"))?)
    }

    fn may(&self, scope: Scope) -> bool {
        self.caller.grant.has(scope)
    }

    /// Renders the page.
    async fn view(&self) -> Result<View, HttpError> {
        match self.page {
            Page::Overview => overview::view(self).await,
            Page::Queue => queue::view(self).await,
            Page::Settings => settings::view(self).await,
            Page::Group => settings::group(self).await,
            Page::Workers => workers::view(self).await,
            Page::Schedules => schedules::view(self).await,
            Page::Jobs => jobs::view(self).await,
            Page::Job => job::view(self).await,
            Page::ConfirmBulk => bulk::confirm(self).await,
            Page::Bulk => bulk::view(self),
            Page::Errors => errors::view(self).await,
            Page::Actions => actions::view(self).await,
            Page::Purge | Page::DeleteQueue | Page::StopWorker | Page::FailWorker => {
                confirm::view(self).await
            }
        }
    }
}

fn query_value(query: &str, name: &str) -> Option<String> {
    let mut fields = form_urlencoded::parse(query.as_bytes());
    let found = fields.find(|(field, value)| field == name && !value.is_empty());
    found.map(|(_, value)| value.into_owned())
}

/// Shows a page, or streams its changes. `/` is also an address for programs, which get JSON.
pub(crate) async fn page(state: &Arc<AppState>, page: Page, request: ApiRequest) -> HandlerResult {
    let is_stream = wants_events(&request.headers);
    if page == Page::Overview && !is_stream && !is_browser(&request.headers) {
        return json(&HomeReply::new(state.store_kind));
    }
    if !request.caller.grant.has(Scope::Read) {
        let why = "the token lacks the scope read";
        return Err(HttpError::new(
            Code::Forbidden,
            why,
            "sign in with another token",
        ));
    }
    let page = PageRequest::new(state, page, &request);
    if is_stream {
        return live::stream(page);
    }
    let view = page.view().await?;
    layout::page(&page, view)
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    #[test]
    fn only_browsers_get_pages() {
        for (accept, is_page) in [
            ("text/html,application/xhtml+xml,*/*;q=0.8", true),
            ("*/*", false),
            ("application/json", false),
        ] {
            let headers =
                HeaderMap::from_iter([(header::ACCEPT, HeaderValue::from_str(accept).unwrap())]);
            assert_eq!(is_browser(&headers), is_page, "{accept}");
        }
        assert!(!is_browser(&HeaderMap::new()));
    }
}
