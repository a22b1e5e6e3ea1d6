//! Documents: the frame around the fragments of a page, and short messages such as errors.

use std::fmt;
use std::sync::Arc;

use askama::Template;
use askama::filters::HtmlSafe;
use axum::body::Body;
use axum::http::{HeaderValue, Response, header};
use windlass_api::Code;

use super::asset::{self, Addresses};
use super::session::form_token;
use super::{Page, PageRequest, form};
use crate::caller::Caller;
use crate::error::HttpError;
use crate::handlers::{HandlerResult, text};
use crate::metrics::count_store_error;
use crate::state::AppState;

/// Pages load only files of this server, and run no text as code.
const POLICY: &str = "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src 'self'; \
    form-action 'self'; frame-ancestors 'none'; base-uri 'none'";

/// The entries of the navigation: page, address, name, and the second key of its shortcut.
const NAVIGATION: &[(Page, &str, &str, &str)] = &[
    (Page::Overview, "/", "Overview", "o"),
    (Page::Errors, "/errors", "Errors", "e"),
    (Page::Workers, "/workers", "Workers", "w"),
    (Page::Schedules, "/schedules", "Schedules", "s"),
    (Page::Actions, "/actions", "Actions", "a"),
];

/// HTML made by a template, which escapes all text. It is not escaped again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Html(String);

impl Html {
    /// Renders a template.
    pub(super) fn render(template: &impl Template) -> Result<Self, HttpError> {
        let html = template.render().map_err(|error| {
            let why = format!("cannot render the page: {error}");
            HttpError::new(
                Code::Internal,
                why,
                "this is a bug in Windlass; please report it",
            )
        })?;
        Ok(Self(html))
    }

    /// Wraps HTML whose text is escaped already.
    pub(crate) const fn escaped(html: String) -> Self {
        Self(html)
    }

    pub(super) fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Html {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl HtmlSafe for Html {}

/// A part of a page.
#[derive(Debug)]
pub(super) struct Fragment {
    pub(super) id: &'static str,
    /// Whether it is rendered again while somebody watches. It must not contain secrets of one viewer.
    pub(super) is_live: bool,
    pub(super) html: Html,
}

/// A page without its frame.
#[derive(Debug)]
pub(super) struct View {
    pub(super) title: String,
    pub(super) fragments: Vec<Fragment>,
    /// Where its forms lead to, if not back to the page.
    back: Option<String>,
}

impl View {
    pub(super) fn new(title: impl Into<String>) -> Self {
        Self {
            title: title.into(),
            fragments: Vec::new(),
            back: None,
        }
    }

    /// Sets where forms of the page lead to.
    pub(super) fn back_to(mut self, path: String) -> Self {
        self.back = Some(path);
        self
    }

    /// Adds a fragment that is rendered again while somebody watches.
    pub(super) fn live(self, id: &'static str, part: &impl Template) -> Result<Self, HttpError> {
        self.add(id, true, part)
    }

    /// Adds a fragment that stays as it is, such as a form.
    pub(super) fn fixed(self, id: &'static str, part: &impl Template) -> Result<Self, HttpError> {
        self.add(id, false, part)
    }

    fn add(
        mut self,
        id: &'static str,
        is_live: bool,
        part: &impl Template,
    ) -> Result<Self, HttpError> {
        let html = Html::render(part)?;
        self.fragments.push(Fragment { id, is_live, html });
        Ok(self)
    }
}

#[derive(Template)]
#[template(path = "layout.html")]
struct Layout<'a> {
    title: &'a str,
    class: &'a str,
    frame: Frame<'a>,
    notice: Option<&'static str>,
    fragments: Vec<Fragment>,
    /// Where forms lead back to.
    back: String,
    is_live: bool,
}

/// An entry of the navigation.
struct Entry {
    address: &'static str,
    name: &'static str,
    key: &'static str,
    is_current: bool,
}

/// What is the same on all pages.
struct Frame<'a> {
    assets: &'static Addresses,
    navigation: Vec<Entry>,
    is_docs: bool,
    /// The name of the token, if the browser signed in.
    signed_in: Option<Arc<str>>,
    form_token: Arc<str>,
    version: &'static str,
    store: &'a str,
}

impl<'a> Frame<'a> {
    fn new(state: &'a AppState, caller: &Caller, current: Option<Page>) -> Result<Self, HttpError> {
        let navigation = NAVIGATION.iter();
        let navigation = navigation.map(|&(page, address, name, key)| Entry {
            address,
            name,
            key,
            is_current: current == Some(page),
        });
        let name = || caller.name.clone().unwrap_or_default();
        Ok(Self {
            assets: asset::addresses(),
            navigation: navigation.collect(),
            is_docs: current.is_none(),
            signed_in: caller.session().map(|_| name()),
            form_token: form_token(state, caller)?,
            version: env!("CARGO_PKG_VERSION"),
            store: state.store_kind,
        })
    }
}

/// Returns the document of a page.
pub(super) fn page(request: &PageRequest, view: View) -> HandlerResult {
    let done = request.query(form::DONE);
    let layout = Layout {
        title: &view.title,
        class: request.page.class(),
        frame: Frame::new(&request.state, &request.caller, Some(request.page))?,
        notice: done.as_deref().and_then(form::notice),
        is_live: view.fragments.iter().any(|fragment| fragment.is_live),
        fragments: view.fragments,
        back: view
            .back
            .unwrap_or_else(|| form::without_notice(&request.path, &request.query)),
    };
    Ok(respond(Html::render(&layout)?))
}

/// Returns a document whose whole content is given, such as the reference of the API.
pub(crate) fn document(
    state: &AppState,
    caller: &Caller,
    title: &str,
    class: &str,
    html: Html,
) -> HandlerResult {
    let layout = Layout {
        title,
        class,
        frame: Frame::new(state, caller, None)?,
        notice: None,
        is_live: false,
        fragments: vec![Fragment {
            id: "content",
            is_live: false,
            html,
        }],
        back: "/".to_owned(),
    };
    Ok(respond(Html::render(&layout)?))
}

#[derive(Template)]
#[template(path = "error.html")]
struct ErrorPage<'a> {
    assets: &'static Addresses,
    title: &'a str,
    status: u16,
    message: &'a str,
    help: &'a str,
    request_id: &'a str,
}

/// Returns the page of an error: what failed, why, and what to do.
pub(crate) fn error(error: HttpError, request_id: &str) -> Response<Body> {
    count_store_error(error.inner.code.as_str());
    let page = ErrorPage {
        assets: asset::addresses(),
        title: error.status.canonical_reason().unwrap_or("Error"),
        status: error.status.as_u16(),
        message: &error.inner.message,
        help: &error.inner.help,
        request_id,
    };
    match Html::render(&page) {
        Ok(html) => {
            let mut response = respond(html);
            *response.status_mut() = error.status;
            response
        }
        Err(_) => error.response(request_id),
    }
}

/// Returns a document with the policy of all pages.
pub(super) fn respond(html: Html) -> Response<Body> {
    let mut response = text("text/html; charset=utf-8", html.0);
    let policy = HeaderValue::from_static(POLICY);
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_SECURITY_POLICY, policy);
    response
}
