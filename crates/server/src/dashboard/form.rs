//! Forms: a button sends the fields of an op, which runs like any request of the API. Then the browser returns to
//! the page it came from.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::body::Body;
use axum::http::{HeaderValue, Response, StatusCode, header};
use tokio::time::{Duration, Instant};
use windlass_api::request::{Delete, Purge, QueueRequest};
use windlass_api::{Code, Fields, Reply, Request};

use super::session::check_form;
use crate::error::HttpError;
use crate::handlers::{HandlerResult, action, execute};
use crate::request::{ApiRequest, encode};
use crate::state::AppState;

/// The largest form.
const FORM_BYTES_MAX: usize = 256 * 1024;

/// The query parameter with the op that a form ran, for a notice on the next page.
pub(super) const DONE: &str = "done";

/// The fields of a form that are not fields of an op: the form token, and where to go afterwards.
pub(super) const TOKEN: &str = "form_token";
const BACK: &str = "back";

/// Fields that are true or false.
const BOOLEAN: [&str; 1] = ["force"];

/// Fields of this form belong to the field before the dot.
const MAPS: [&str; 1] = ["settings"];

/// A field of this form has the value that the page showed. One that was not changed is not sent.
const WAS: &str = "was.";

/// How long a purge goes on before the browser gets a reply.
const PURGE_FOR: Duration = Duration::from_secs(3);

/// Returns what to say about an op that a form ran.
pub(super) fn notice(op: &str) -> Option<&'static str> {
    Some(match op {
        "pause" => "The queue is paused: claims return no jobs.",
        "resume" => "The queue is resumed.",
        "set" => "The settings are changed.",
        "purge" => "The queue is purged.",
        "purge_more" => "Not all jobs are deleted yet: continue.",
        "delete_queue" => "The queue is deleted.",
        "set_group" => "The limits of the group are changed.",
        "pause_group" => "The group is paused: claims return none of its jobs.",
        "resume_group" => "The group is resumed.",
        "run_schedule" => "A job of the schedule is enqueued.",
        "pause_schedule" => "The schedule is paused: its instants pass without firing.",
        "resume_schedule" => "The schedule is resumed.",
        "command" => "The worker gets the command with its next heartbeat.",
        "retry" => "The job is ready again.",
        "cancel" => "The job is cancelled; a running one is asked to stop.",
        "promote" => "The job is ready.",
        "delete" => "The job is deleted.",
        "clear_error" => {
            "The group of errors is deleted. It comes back with the next error of its kind."
        }
        "fail_worker" => "The worker is declared dead. Its jobs return to their queues.",
        _ => return None,
    })
}

/// Reads the fields of a form. A request without a body has none.
pub(super) async fn read(request: &mut ApiRequest) -> Result<Vec<(String, String)>, HttpError> {
    let media_type = request.media_type();
    let bytes = request.bytes(FORM_BYTES_MAX).await?;
    if !bytes.is_empty() && media_type != "application/x-www-form-urlencoded" {
        let why = "the content type is not that of a form";
        let help = "programs use the routes under /v1, see /docs";
        return Err(HttpError::new(Code::WrongMediaType, why, help));
    }
    Ok(form_urlencoded::parse(&bytes).into_owned().collect())
}

/// Returns a field of a form.
pub(super) fn field<'a>(form: &'a [(String, String)], name: &str) -> Option<&'a str> {
    let found = form.iter().find(|(field, _)| field == name);
    found.map(|(_, value)| value.as_str())
}

/// Runs the op of a form.
pub(crate) async fn handle(state: &Arc<AppState>, mut request: ApiRequest) -> HandlerResult {
    let form = read(&mut request).await?;
    check_form(state, &request.caller, field(&form, TOKEN))?;
    let fields = op_fields(&request, &form)?;
    let (queue, op) = Request::parse(request.route.op, fields)?;
    let entry = action::entry(&request, "dashboard", queue.as_ref(), &op);
    action::log(state, entry).await?;
    execute(state, &request.caller, request.route, queue.as_ref(), op).await?;
    let back = match &queue {
        // The page of a deleted job is gone.
        Some(queue) if request.route.op == Delete::OP => {
            format!("/queues/{}/jobs", encode(queue.as_str()))
        }
        _ => local_path(field(&form, BACK)),
    };
    Ok(see_other(&with_notice(&back, request.route.op)))
}

/// Purges a queue, page by page. If that takes long, the browser asks again.
pub(crate) async fn purge(state: &Arc<AppState>, mut request: ApiRequest) -> HandlerResult {
    let form = read(&mut request).await?;
    check_form(state, &request.caller, field(&form, TOKEN))?;
    let (queue, began) = (request.queue()?, Instant::now());
    let entry = action::entry(
        &request,
        "dashboard",
        Some(&queue),
        &Request::Purge(Purge {}),
    );
    action::log(state, entry).await?;
    loop {
        let op = Request::Purge(Purge {});
        let reply = execute(state, &request.caller, request.route, Some(&queue), op).await?;
        let has_more = matches!(&reply, Reply::Purge(reply) if reply.more);
        if !has_more {
            let back = local_path(field(&form, BACK));
            return Ok(see_other(&with_notice(&back, request.route.op)));
        }
        if began.elapsed() >= PURGE_FOR {
            return Ok(see_other(&with_notice(&request.url_path(), "purge_more")));
        }
    }
}

/// Combines the parameters of the path and the fields of the form. The path counts.
fn op_fields(
    request: &ApiRequest,
    form: &[(String, String)],
) -> Result<Fields<'static>, HttpError> {
    let mut fields = Fields::default();
    let mut maps: BTreeMap<&str, BTreeMap<&str, &str>> = BTreeMap::new();
    for (name, value) in &request.path {
        fields.put(name, value)?;
    }
    for (name, value) in form {
        let is_own = [TOKEN, BACK].contains(&name.as_str()) || name.starts_with(WAS);
        let was = form
            .iter()
            .find(|(field, _)| field.strip_prefix(WAS) == Some(name));
        if was.is_some_and(|(_, was)| was == value) {
            continue;
        }
        if is_own || request.path_parameter(name).is_some() {
            continue;
        }
        match name.split_once('.') {
            Some((map, key)) if MAPS.contains(&map) => {
                maps.entry(map).or_default().insert(key, value);
            }
            _ if BOOLEAN.contains(&name.as_str()) => fields.put(name, &(value == "true"))?,
            _ => fields.put(name, value)?,
        }
    }
    for (name, map) in maps {
        fields.put(name, &map)?;
    }
    Ok(fields)
}

/// Returns a path of this server that a form or a link named, or `/`. Another site must not be able to choose
/// where a browser goes.
pub(super) fn local_path(text: Option<&str>) -> String {
    let is_local = |path: &&str| {
        path.starts_with('/')
            && !path.starts_with("//")
            && path
                .bytes()
                .all(|byte| byte.is_ascii_graphic() && byte != b'\\')
    };
    text.filter(is_local).unwrap_or("/").to_owned()
}

/// Returns an address without an earlier notice.
pub(super) fn without_notice(path: &str, query: &str) -> String {
    let kept: Vec<_> = query
        .split('&')
        .filter(|pair| !pair.is_empty() && pair.split('=').next() != Some(DONE))
        .collect();
    if kept.is_empty() {
        return path.to_owned();
    }
    format!("{path}?{}", kept.join("&"))
}

fn with_notice(address: &str, op: &str) -> String {
    let (path, query) = address.split_once('?').unwrap_or((address, ""));
    let address = without_notice(path, query);
    let separator = if address.contains('?') { '&' } else { '?' };
    format!("{address}{separator}{DONE}={op}")
}

/// Sends the browser to another page.
pub(super) fn see_other(address: &str) -> Response<Body> {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::SEE_OTHER;
    let address = HeaderValue::from_str(address).unwrap_or(HeaderValue::from_static("/"));
    response.headers_mut().insert(header::LOCATION, address);
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_paths_of_this_server_are_followed() {
        for path in ["/", "/queues/mail?sort=ready", "/queues/a%20b"] {
            assert_eq!(local_path(Some(path)), path);
        }
        for other in [
            "",
            "evil",
            "//evil",
            "/\\evil",
            "https://evil",
            "/a\r\nset-cookie: x",
            "/a\tb",
            "\\\\evil",
            "/é",
        ] {
            assert_eq!(local_path(Some(other)), "/", "{other:?}");
        }
        assert_eq!(local_path(None), "/");
    }

    #[test]
    fn a_notice_replaces_the_one_before() {
        assert_eq!(with_notice("/", "pause"), "/?done=pause");
        assert_eq!(
            with_notice("/?done=resume&q=a", "pause"),
            "/?q=a&done=pause"
        );
        assert_eq!(without_notice("/", "done=x"), "/");
    }
}
