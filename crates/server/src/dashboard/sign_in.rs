//! Signing in with a token, and out.

use std::sync::Arc;

use askama::Template;
use axum::body::Body;
use axum::extract::Request;
use axum::http::{HeaderMap, HeaderValue, Method, Response, StatusCode, header};
use windlass_api::{Code, Method as RouteMethod};

use super::asset::{self, Addresses};
use super::form::{field, local_path, read, see_other};
use super::layout::{Html, error, respond};
use super::session::{VALID_FOR, check_form, cookie, cookie_name};
use crate::error::HttpError;
use crate::guard::Delay;
use crate::handlers::HandlerResult;
use crate::request::ApiRequest;
use crate::state::AppState;

/// The field, and the query parameter, with the page to go to after signing in.
const TO: &str = "to";

#[derive(Template)]
#[template(path = "sign_in.html")]
struct SignIn<'a> {
    assets: &'static Addresses,
    to: &'a str,
    message: Option<&'a str>,
}

#[derive(Template)]
#[template(path = "reload.html")]
struct Reload;

/// Shows the form, or signs in.
pub(crate) async fn sign_in(state: &Arc<AppState>, mut request: ApiRequest) -> HandlerResult {
    let query: Vec<_> = form_urlencoded::parse(request.query.as_bytes())
        .into_owned()
        .collect();
    let to = local_path(field(&query, TO));
    if state.is_open() {
        return Ok(see_other(&to));
    }
    if request.route.method == RouteMethod::Get {
        return page(StatusCode::OK, &to, None);
    }
    let form = read(&mut request).await?;
    let to = local_path(field(&form, TO));
    let secret = field(&form, "token").unwrap_or_default().trim();
    if secret.is_empty() {
        return page(StatusCode::BAD_REQUEST, &to, Some("Enter a token."));
    }
    let Some(caller) = state.caller(secret) else {
        let counted = state.auth_failures.count(request.peer.map(|peer| peer.0));
        let (status, delay) = counted.map_or_else(
            |error| (error.status, error.delay),
            |()| (StatusCode::UNAUTHORIZED, std::time::Duration::ZERO),
        );
        let message = "This server does not know that token.";
        let mut response = page(status, &to, Some(message))?;
        response.extensions_mut().insert(Delay(delay));
        return Ok(response);
    };
    // The session before, if there is one, ends.
    if let Some(before) = cookie(&request.headers).and_then(|id| state.sessions.find(id))
        && let Some(session) = before.session()
    {
        state.sessions.close(session);
    }
    let id = state.sessions.open(caller.clone())?;
    let mut response = see_other(&to);
    set_cookie(&mut response, &request.headers, &id, VALID_FOR.as_secs())?;
    Ok(response)
}

/// Ends the session.
pub(crate) async fn sign_out(state: &Arc<AppState>, mut request: ApiRequest) -> HandlerResult {
    let form = read(&mut request).await?;
    check_form(state, &request.caller, field(&form, "form_token"))?;
    if let Some(session) = request.caller.session() {
        state.sessions.close(session);
    }
    let mut response = see_other("/sign-in");
    set_cookie(&mut response, &request.headers, "", 0)?;
    Ok(response)
}

/// Returns what a browser sees that has no session, or one that ended: the form, which leads back to where it was.
pub(crate) fn not_signed_in(request: &Request) -> Response<Body> {
    let uri = request.uri();
    let text = |name: &str| {
        request
            .headers()
            .get(name)
            .and_then(|value| value.to_str().ok())
    };
    let is_link_elsewhere = request.method() == Method::GET
        && text("sec-fetch-mode") == Some("navigate")
        && matches!(text("sec-fetch-site"), Some("cross-site" | "same-site"));
    let to = if request.method() == Method::GET {
        local_path(uri.path_and_query().map(|address| address.as_str()))
    } else {
        page_of(uri.path())
    };
    let shown = if is_link_elsewhere {
        // A browser sends no strict cookie with a link from another site. Loaded again by our own page, it does.
        Html::render(&Reload).map(|html| {
            let mut response = respond(html);
            *response.status_mut() = StatusCode::UNAUTHORIZED;
            response
        })
    } else {
        page(StatusCode::UNAUTHORIZED, &to, None)
    };
    shown.unwrap_or_else(|failed| error(failed, ""))
}

/// The page whose form has this address: `/queues/mail/pause` belongs to `/queues/mail`.
fn page_of(path: &str) -> String {
    let parts: Vec<_> = path.split('/').collect();
    let path = match parts.as_slice() {
        ["", "queues", queue, ..] => format!("/queues/{queue}"),
        ["", first, _, ..] => format!("/{first}"),
        _ => "/".to_owned(),
    };
    local_path(Some(&path))
}

fn page(status: StatusCode, to: &str, message: Option<&str>) -> HandlerResult {
    let page = SignIn {
        assets: asset::addresses(),
        to,
        message,
    };
    let mut response = respond(Html::render(&page)?);
    *response.status_mut() = status;
    if status == StatusCode::UNAUTHORIZED {
        let scheme = HeaderValue::from_static("Bearer realm=\"windlass\"");
        let headers = response.headers_mut();
        headers.insert(header::WWW_AUTHENTICATE, scheme);
    }
    Ok(response)
}

/// Sets the cookie. It is `Secure` if the browser used TLS, which a proxy in front of this server ends.
fn set_cookie(
    response: &mut Response<Body>,
    headers: &HeaderMap,
    id: &str,
    seconds: u64,
) -> Result<(), HttpError> {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let is_secure = text("origin").is_some_and(|origin| origin.starts_with("https://"))
        || text("x-forwarded-proto") == Some("https");
    let secure = if is_secure { "; Secure" } else { "" };
    let name = cookie_name(headers);
    let cookie =
        format!("{name}={id}; Path=/; Max-Age={seconds}; HttpOnly; SameSite=Strict{secure}");
    let cookie = HeaderValue::from_str(&cookie).map_err(|_| {
        let why = "the cookie of the session has an invalid character";
        HttpError::new(
            Code::Internal,
            why,
            "this is a bug in Windlass; please report it",
        )
    })?;
    response.headers_mut().insert(header::SET_COOKIE, cookie);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_form_whose_session_ended_leads_back_to_its_page() {
        for (path, page) in [
            ("/queues/mail/pause", "/queues/mail"),
            ("/queues/mail/groups/a%2Fb/pause", "/queues/mail"),
            ("/workers/w-1/fail", "/workers"),
            ("/sign-out", "/"),
            ("//evil/x", "/"),
        ] {
            assert_eq!(page_of(path), page, "{path}");
        }
    }
}
