//! What stands before every route: the host, the origin, the token, and the headers of all answers.

mod auth_failures;
mod origin;

use std::net::IpAddr;
use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, Response, header};
use axum::middleware::Next;

use crate::caller::Pass;
use crate::error::Refusal;
use crate::scope::Scope;
use crate::state::Door;
use crate::table::{EVENTS, ROUTES};

pub(crate) use auth_failures::Failures;

/// The longest path and query.
const URL_BYTES_MAX: usize = 8 * 1024;

/// The most bytes of all headers.
pub(crate) const HEADER_BYTES_MAX: usize = 16 * 1024;

/// The longest id of a request that is echoed.
const REQUEST_ID_BYTES_MAX: usize = 128;

/// Who is at the other end of the connection.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Peer(pub(crate) IpAddr);

/// The id of a request, for logs on both sides.
#[derive(Debug, Clone)]
pub(crate) struct RequestId(pub(crate) String);

/// Lets a request in, or answers it here; and finishes every answer.
pub(crate) async fn stand(
    State(door): State<Arc<Door>>,
    mut request: Request,
    next: Next,
) -> Response<Body> {
    let id = request_id(request.headers());
    // Callers of the delayed queue look for `message`.
    let is_old = request.uri().path() == "/";
    let admitted = admit(&door, &request);
    let permit = Arc::clone(&door.requests).try_acquire_owned();
    let mut response = match (admitted, permit) {
        (Err(refusal), _) => refusal.response(&id, is_old),
        (Ok(pass), Err(_)) if !door.is_probe(&pass) => overloaded().response(&id, is_old),
        (Ok(pass), _permit) => {
            request.extensions_mut().insert(pass);
            request.extensions_mut().insert(RequestId(id.clone()));
            next.run(request).await
        }
    };
    door.counts.answered(response.status());
    finish(response.headers_mut(), &id);
    response
}

fn overloaded() -> Refusal {
    let why = "too many requests are under way";
    Refusal::new("overloaded", why, "try again in a moment")
}

/// Checks what can be checked without knowing the route.
fn admit(door: &Door, request: &Request) -> Result<Pass, Refusal> {
    let uri = request.uri();
    let url_bytes = uri.path().len() + uri.query().map_or(0, str::len);
    if url_bytes > URL_BYTES_MAX {
        let why = format!("the URL has {url_bytes} bytes, the limit is {URL_BYTES_MAX}");
        let help = "put fields into the body";
        return Err(Refusal::new("url_too_long", why, help));
    }
    let bytes = |headers: &HeaderMap| -> usize {
        let each = headers.iter();
        each.map(|(name, value)| name.as_str().len() + value.len() + 4)
            .sum()
    };
    if bytes(request.headers()) > HEADER_BYTES_MAX {
        let why = format!("the headers are too large, the limit is {HEADER_BYTES_MAX} bytes");
        return Err(Refusal::new(
            "too_large",
            why,
            "send fewer or shorter headers",
        ));
    }
    origin::check_host(&door.hosts, request)?;
    let pass = authenticate(door, request)?;
    pass.meter.count()?;
    let is_unsafe = !matches!(
        *request.method(),
        Method::GET | Method::HEAD | Method::OPTIONS
    );
    if is_unsafe || uri.path() == EVENTS {
        origin::check_origin(request.headers())?;
    }
    if request.headers().contains_key(header::CONTENT_ENCODING) {
        let why = "compressed bodies are not taken";
        let help = "send the body as it is, without content-encoding";
        return Err(Refusal::new("wrong_media_type", why, help));
    }
    Ok(pass)
}

fn authenticate(door: &Door, request: &Request) -> Result<Pass, Refusal> {
    let path = request.uri().path();
    let is_open = |scope| scope == Scope::Open;
    if ROUTES
        .iter()
        .any(|route| is_open(route.scope) && route.path == path)
    {
        // Probes have no token; nothing behind them asks what the grant is.
        return Ok(door.probe.clone());
    }
    if door.is_open() {
        return Ok(door.everybody.clone());
    }
    let found = match request.headers().get(header::AUTHORIZATION) {
        Some(header) => bearer(header).map(|secret| door.pass(secret).cloned()),
        None => ticket(request).map(|ticket| door.tickets.redeem(&ticket)),
    };
    let Some(found) = found else {
        let help = "send the header authorization: Bearer TOKEN";
        return Err(Refusal::new("unauthorized", "no token was sent", help));
    };
    if let Some(pass) = found {
        return Ok(pass);
    }
    let peer = request.extensions().get::<Peer>().map(|peer| peer.0);
    door.failures.count(peer)?;
    let help = "check the token, and whether the server's file of tokens has its digest; \
        a ticket is good once, for 30 s";
    let why = "the token or ticket is not known";
    Err(Refusal::new("unauthorized", why, help))
}

/// The ticket in the query: only where a browser opens a stream of events, which can send no header.
fn ticket(request: &Request) -> Option<String> {
    if request.uri().path() != EVENTS || request.method() != Method::GET {
        return None;
    }
    let query = request.uri().query()?;
    let mut fields = form_urlencoded::parse(query.as_bytes());
    let found = fields.find(|(name, _)| name == "ticket");
    found.map(|(_, ticket)| ticket.into_owned())
}

fn bearer(value: &HeaderValue) -> Option<&str> {
    let (way, secret) = value.to_str().ok()?.split_once(' ')?;
    way.eq_ignore_ascii_case("bearer").then(|| secret.trim())
}

/// The caller's id of the request where it can be echoed, else one of ours.
fn request_id(headers: &HeaderMap) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "._:-".contains(c);
    let given = headers.get("x-request-id").and_then(|id| id.to_str().ok());
    let given = given.filter(|id| !id.is_empty() && id.len() <= REQUEST_ID_BYTES_MAX);
    given
        .filter(|id| id.chars().all(is_plain))
        .map_or_else(|| format!("{:016x}", fastrand::u64(..)), str::to_owned)
}

/// The headers of every answer: its id, and what keeps browsers from making anything of it. A page
/// may have a policy of its own.
fn finish(headers: &mut HeaderMap, id: &str) {
    if let Ok(id) = HeaderValue::from_str(id) {
        headers.insert("x-request-id", id);
    }
    for (name, value) in [
        ("x-content-type-options", "nosniff"),
        ("referrer-policy", "no-referrer"),
        ("cross-origin-opener-policy", "same-origin"),
        ("cache-control", "no-store"),
    ] {
        headers.insert(
            HeaderName::from_static(name),
            HeaderValue::from_static(value),
        );
    }
    let nothing = "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'";
    headers
        .entry(header::CONTENT_SECURITY_POLICY)
        .or_insert(HeaderValue::from_static(nothing));
}
