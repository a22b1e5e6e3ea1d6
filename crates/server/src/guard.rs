//! The middleware of every route: checks host, origin and token, and sets the common headers.

mod auth_failures;
mod origin;

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, Response, StatusCode, header};
use axum::middleware::Next;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hyper::body::Body as _;
use windlass_api::Code;

use crate::access_log::LoggedRequest;
use crate::budget::hold;
use crate::caller::{Caller, Limiter};
use crate::connections::Connection;
use crate::dashboard;
use crate::error::HttpError;
use crate::scope::Scope;
use crate::state::AppState;
use crate::table::{EVENTS, Handler, routes};

pub(crate) use auth_failures::{AuthFailures, network};

/// The longest path and query.
const URL_BYTES_MAX: usize = 8 * 1024;

/// The largest total size of the headers.
pub(crate) const HEADER_BYTES_MAX: usize = 16 * 1024;

/// Replies below this size are not counted: as many as there are connections fit into memory.
const SMALL_REPLY_BYTES: usize = 16 * 1024;

/// The longest request id that is echoed.
const REQUEST_ID_BYTES_MAX: usize = 128;

/// The address of the client.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Peer(pub(crate) IpAddr);

/// How long to wait before a response is sent, as an extension of it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Delay(pub(crate) Duration);

/// The id of a request, for logs on both ends.
#[derive(Debug, Clone)]
pub(crate) struct RequestId(pub(crate) String);

/// Checks a request before it reaches its route, and sets the common headers of every response.
pub(crate) async fn middleware(
    State(state): State<Arc<AppState>>,
    mut request: Request,
    next: Next,
) -> Response<Body> {
    let id = request_id(request.headers());
    let logged = LoggedRequest::new(&request);
    let checked = check(&state, &request);
    let name = match (&logged, &checked) {
        (Some(_), Ok(caller)) => caller.name.clone(),
        _ => None,
    };
    if let Err(error) = &checked {
        // No permit is held meanwhile, so that other clients are not affected.
        state.pause(error.delay).await;
    }
    let permit = Arc::clone(&state.requests).try_acquire_owned();
    let mut response = match (checked, permit) {
        (Err(error), _)
            if error.status == StatusCode::UNAUTHORIZED
                && dashboard::is_browser(request.headers()) =>
        {
            dashboard::not_signed_in(&request)
        }
        (Err(error), _) => error.response(&id),
        (Ok(caller), Err(_)) if !state.is_probe(&caller) => overloaded().response(&id),
        (Ok(caller), _) if !state.is_unproven(&caller) && !prove(&request) => {
            overloaded().response(&id)
        }
        (Ok(caller), _permit) => match caller.limiter.start_request() {
            Err(error) => error.response(&id),
            Ok(_token_permit) => {
                let limiter = Arc::clone(&caller.limiter);
                let is_read = request.method() == Method::GET;
                request.extensions_mut().insert(caller);
                request.extensions_mut().insert(RequestId(id.clone()));
                let response = next.run(request).await;
                reserve_reply(&limiter, is_read, response)
                    .unwrap_or_else(|error| error.response(&id))
            }
        },
    };
    if let Some(Delay(delay)) = response.extensions_mut().remove() {
        // By now no permit is held.
        state.pause(delay).await;
    }
    state.counters.request_done(response.status());
    if let Some(logged) = logged {
        logged.answered(name.as_deref(), response.status());
    }
    set_common_headers(response.headers_mut(), &id);
    response
}

/// Marks the connection of a request as one with a valid token. Returns false if there are too many.
fn prove(request: &Request) -> bool {
    let connection = request.extensions().get::<Arc<Connection>>();
    connection.is_none_or(|connection| connection.prove())
}

/// Reserves memory for a reply until it was sent. Only a reply that changed nothing can be replaced
/// by an error.
fn reserve_reply(
    limiter: &Limiter,
    is_read: bool,
    response: Response<Body>,
) -> Result<Response<Body>, HttpError> {
    // Streamed bodies have no exact size; their handlers reserve memory themselves.
    let Some(bytes) = response.body().size_hint().exact() else {
        return Ok(response);
    };
    let bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
    if bytes < SMALL_REPLY_BYTES {
        return Ok(response);
    }
    let reserved = if is_read {
        limiter.reserve(bytes)?
    } else {
        limiter.reserve_available(bytes)
    };
    Ok(response.map(|body| hold(body, reserved)))
}

fn overloaded() -> HttpError {
    let why = "too many requests are in flight, or too many clients are connected";
    HttpError::new(Code::Overloaded, why, "retry in a few seconds")
}

/// Runs all checks that do not depend on the route. Returns the caller.
fn check(state: &AppState, request: &Request) -> Result<Caller, HttpError> {
    let uri = request.uri();
    let url_bytes = uri.path().len() + uri.query().map_or(0, str::len);
    if url_bytes > URL_BYTES_MAX {
        let why = format!("URL too long: {url_bytes} bytes; maximum {URL_BYTES_MAX}");
        let help = "send fields in the body";
        return Err(HttpError::new(Code::UrlTooLong, why, help));
    }
    let bytes = |headers: &HeaderMap| -> usize {
        let each = headers.iter();
        each.map(|(name, value)| name.as_str().len() + value.len() + 4)
            .sum()
    };
    if bytes(request.headers()) > HEADER_BYTES_MAX {
        let why = format!("headers too large; maximum {HEADER_BYTES_MAX} bytes");
        return Err(HttpError::new(
            Code::TooLarge,
            why,
            "send fewer or shorter headers",
        ));
    }
    origin::check_host(&state.hosts, request)?;
    let caller = authenticate(state, request)?;
    caller.limiter.check_rate()?;
    let is_unsafe = !matches!(
        *request.method(),
        Method::GET | Method::HEAD | Method::OPTIONS
    );
    if is_unsafe || uri.path() == EVENTS || dashboard::wants_events(request.headers()) {
        origin::check_origin(request.headers())?;
    }
    if request.headers().contains_key(header::CONTENT_ENCODING) {
        let why = "compressed bodies are not supported";
        let help = "send the body uncompressed, without content-encoding";
        return Err(HttpError::new(Code::WrongMediaType, why, help));
    }
    Ok(caller)
}

fn authenticate(state: &AppState, request: &Request) -> Result<Caller, HttpError> {
    if let Some(handler) = open_route(request) {
        return Ok(if handler.is_probe() {
            state.probe.clone()
        } else {
            state.visitor.clone()
        });
    }
    if state.is_open() {
        return Ok(state.anonymous.clone());
    }
    let found = match request.headers().get(header::AUTHORIZATION) {
        Some(header) => {
            let token = bearer_token(header).map(str::to_owned);
            let token = token.or_else(|| password(request.method(), header));
            token.map(|secret| state.caller(&secret).cloned())
        }
        None => ticket_parameter(request).map(|ticket| state.tickets.redeem(&ticket)),
    };
    let Some(found) = found else {
        if let Some(caller) = signed_in(state, request) {
            return Ok(caller);
        }
        let help = "set the header authorization: Bearer TOKEN";
        return Err(HttpError::new(Code::Unauthorized, "missing token", help));
    };
    if let Some(caller) = found {
        return Ok(caller);
    }
    let peer = request.extensions().get::<Peer>().map(|peer| peer.0);
    state.auth_failures.count(peer)?;
    let help = "check that the server's token file contains the SHA-256 of the token, which has \
        at least 32 characters (`windlass token new`); a ticket is valid once, for 30s";
    let why = "unknown token or ticket";
    Err(HttpError::new(Code::Unauthorized, why, help))
}

/// Returns the handler of a route that needs no token.
fn open_route(request: &Request) -> Option<Handler> {
    let path = request.uri().path();
    let mut open = routes().filter(|(_, route)| route.scope == Scope::Open);
    let found = open.find(|(_, route)| route.path == path);
    found.map(|(handler, _)| handler)
}

/// Returns the caller whose browser signed in. The cookie counts only for requests of our own pages, and of
/// the user.
fn signed_in(state: &AppState, request: &Request) -> Option<Caller> {
    let id = dashboard::cookie(request.headers())?;
    origin::check_origin(request.headers()).ok()?;
    state.sessions.find(id)
}

/// Returns the ticket in the query. Accepted only for event streams, where browsers cannot send
/// headers.
fn ticket_parameter(request: &Request) -> Option<String> {
    if request.uri().path() != EVENTS || request.method() != Method::GET {
        return None;
    }
    let query = request.uri().query()?;
    let mut fields = form_urlencoded::parse(query.as_bytes());
    let found = fields.find(|(name, _)| name == "ticket");
    found.map(|(_, ticket)| ticket.into_owned())
}

fn bearer_token(value: &HeaderValue) -> Option<&str> {
    let (scheme, secret) = value.to_str().ok()?.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| secret.trim())
}

/// Returns the password of a browser, which is the token. Browsers send it by themselves, also for pages
/// of other sites, so it is accepted only for requests that change nothing.
fn password(method: &Method, value: &HeaderValue) -> Option<String> {
    if !matches!(*method, Method::GET | Method::HEAD) {
        return None;
    }
    let (scheme, encoded) = value.to_str().ok()?.split_once(' ')?;
    let is_basic = scheme.eq_ignore_ascii_case("basic");
    let decoded = STANDARD.decode(encoded.trim()).ok().filter(|_| is_basic)?;
    let (_, password) = std::str::from_utf8(&decoded).ok()?.split_once(':')?;
    Some(password.to_owned())
}

/// Returns the request id sent by the client if it is safe to echo, else a random one.
fn request_id(headers: &HeaderMap) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "._:-".contains(c);
    let sent = headers.get("x-request-id").and_then(|id| id.to_str().ok());
    let sent = sent.filter(|id| !id.is_empty() && id.len() <= REQUEST_ID_BYTES_MAX);
    sent.filter(|id| id.chars().all(is_plain))
        .map_or_else(|| format!("{:016x}", fastrand::u64(..)), str::to_owned)
}

/// Sets the headers of every response: the request id, and headers that stop browsers from
/// interpreting the body. Keeps a content security policy that is already set.
fn set_common_headers(headers: &mut HeaderMap, id: &str) {
    if let Ok(id) = HeaderValue::from_str(id) {
        headers.insert("x-request-id", id);
    }
    for (name, value) in [
        ("x-content-type-options", "nosniff"),
        ("referrer-policy", "no-referrer"),
        ("cross-origin-opener-policy", "same-origin"),
        ("cross-origin-resource-policy", "same-origin"),
    ] {
        headers.insert(
            HeaderName::from_static(name),
            HeaderValue::from_static(value),
        );
    }
    headers
        .entry(header::CACHE_CONTROL)
        .or_insert(HeaderValue::from_static("no-store"));
    let policy = "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'";
    headers
        .entry(header::CONTENT_SECURITY_POLICY)
        .or_insert(HeaderValue::from_static(policy));
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use hyper::service::Service;
    use hyper_util::service::TowerToHyperService;
    use tokio::time::Instant;
    use windlass_core::SystemClock;
    use windlass_store_memory::MemoryStore;

    use super::*;
    use crate::router::router;
    use crate::serve::Options;
    use crate::token::Tokens;

    const SECRET: &str = "0123456789abcdef0123456789abcdef";

    /// Sends a request from an address. Returns the status and how long that took.
    async fn send(state: &Arc<AppState>, address: &str, token: &str) -> (StatusCode, Duration) {
        let mut request = Request::get("/v1/queues")
            .header("host", "localhost")
            .header("authorization", format!("Bearer {token}"))
            .body(Body::empty())
            .unwrap();
        request
            .extensions_mut()
            .insert(Peer(address.parse().unwrap()));
        let started = Instant::now();
        let service = TowerToHyperService::new(router(state));
        let response = service.call(request).await.unwrap();
        (response.status(), started.elapsed())
    }

    #[tokio::test(start_paused = true)]
    async fn wrong_tokens_are_answered_later_and_later_and_right_ones_at_once() {
        let store = MemoryStore::new(Arc::new(SystemClock));
        let mut options = Options::new("127.0.0.1:0".parse().unwrap()).unwrap();
        options.tokens = Tokens::single(SECRET).unwrap();
        options.requests_max = 1;
        let state = Arc::new(AppState::new(Arc::new(store), options));
        let wrong = SECRET.replace('0', "1");
        let started = Instant::now();
        for _ in 0..40 {
            send(&state, "10.0.0.1", &wrong).await;
        }
        let rate = 40.0 / started.elapsed().as_secs_f64().max(0.001);
        assert!(rate < 0.2, "{rate} guesses per second");

        // Right ones are accepted while a wrong one waits, from the same address and from others.
        let guessing = tokio::spawn({
            let state = Arc::clone(&state);
            async move { send(&state, "10.0.0.1", &wrong).await }
        });
        tokio::task::yield_now().await;
        for address in ["10.0.0.1", "10.0.0.2"] {
            let right = send(&state, address, SECRET).await;
            assert_eq!(right, (StatusCode::OK, Duration::ZERO), "{address}");
        }
        assert!(!guessing.is_finished());
        let (status, delay) = guessing.await.unwrap();
        assert_eq!(status, StatusCode::TOO_MANY_REQUESTS);
        assert!(delay >= Duration::from_secs(10), "{delay:?}");
    }
}
