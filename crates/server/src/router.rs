//! The router, built from the table of routes.

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::rejection::RawPathParamsRejection;
use axum::extract::{RawPathParams, Request};
use axum::http::Response;
use axum::middleware::from_fn_with_state;
use axum::routing::{MethodFilter, MethodRouter, on};
use windlass_api::{Code, Method, Route};

use crate::caller::Caller;
use crate::dashboard;
use crate::error::HttpError;
use crate::guard::{self, Peer, RequestId};
use crate::handlers;
use crate::request::{ApiRequest, path_parameters};
use crate::scope::Scope;
use crate::state::AppState;
use crate::table::{Handler, routes};

const ROUTES_HELP: &str = "see /docs or /openapi.json for all routes";

/// Builds the router. The guard also runs for unknown paths and methods.
pub(crate) fn router(state: &Arc<AppState>) -> Router {
    let mut router = Router::new();
    let extra = state.extra_route().map(|route| (Handler::Extra, route));
    for (handler, route) in routes().chain(extra) {
        router = router.route(route.path, method(Arc::clone(state), handler, route));
    }
    let router = router
        .method_not_allowed_fallback(method_not_allowed)
        .fallback(not_found)
        .layer(from_fn_with_state(Arc::clone(state), guard::middleware));
    match &state.extra {
        Some(extra) => extra.wrap(router),
        None => router,
    }
}

fn method(state: Arc<AppState>, handler: Handler, route: &'static Route) -> MethodRouter {
    let filter = match route.method {
        Method::Get => MethodFilter::GET,
        Method::Post => MethodFilter::POST,
        Method::Put => MethodFilter::PUT,
        Method::Delete => MethodFilter::DELETE,
    };
    on(
        filter,
        move |params: Result<RawPathParams, RawPathParamsRejection>, request: Request| {
            let state = Arc::clone(&state);
            async move { respond(&state, handler, route, params, request).await }
        },
    )
}

async fn respond(
    state: &Arc<AppState>,
    handler: Handler,
    route: &'static Route,
    params: Result<RawPathParams, RawPathParamsRejection>,
    request: Request,
) -> Response<Body> {
    let id = request_id(&request);
    let is_page = handler.is_page();
    let params = params.map_err(|_| {
        let why = "a path parameter is not valid UTF-8";
        HttpError::new(Code::Invalid, why, "percent-encode the UTF-8 bytes as %XX")
    });
    let result =
        match params.and_then(|params| api_request(state, handler, route, &params, request)) {
            Ok(request) => handlers::handle(state, handler, request).await,
            Err(error) => Err(error),
        };
    result.unwrap_or_else(|error| {
        if is_page {
            dashboard::error(error, &id)
        } else {
            error.response(&id)
        }
    })
}

/// Builds the request for the handler. Fails if the caller does not have the scope of the route.
fn api_request(
    state: &AppState,
    handler: Handler,
    route: &'static Route,
    params: &RawPathParams,
    request: Request,
) -> Result<ApiRequest, HttpError> {
    let id = request_id(&request);
    let (mut parts, body) = request.into_parts();
    // Set by the guard. Without a caller nothing is granted.
    let caller = parts.extensions.remove::<Caller>();
    let caller =
        caller.filter(|caller| caller.grant.has(route.scope) || route.scope == Scope::Open);
    let caller = caller.ok_or_else(|| {
        let why = format!("the token lacks the scope {}", route.scope.as_str());
        HttpError::new(Code::Forbidden, why, "use a token with this scope")
    })?;
    if caller.session().is_some() && route.method != Method::Get && !handler.is_page() {
        let why = "a browser that signed in cannot call this route";
        let help = "set the header authorization: Bearer TOKEN";
        return Err(HttpError::new(Code::Unauthorized, why, help));
    }
    Ok(ApiRequest {
        route,
        path: path_parameters(params),
        query: parts.uri.query().unwrap_or_default().to_owned(),
        headers: parts.headers,
        body,
        caller,
        id,
        peer: parts.extensions.remove::<Peer>(),
        reserved: Vec::new(),
        body_timeout: state.timeouts.body,
    })
}

fn request_id(request: &Request) -> String {
    let id = request.extensions().get::<RequestId>();
    id.map(|id| id.0.clone()).unwrap_or_default()
}

async fn not_found(request: Request) -> Response<Body> {
    let error = HttpError::new(Code::NotFound, "not found", ROUTES_HELP);
    let id = request_id(&request);
    if dashboard::is_browser(request.headers()) {
        return dashboard::error(error, &id);
    }
    error.response(&id)
}

async fn method_not_allowed(request: Request) -> Response<Body> {
    let why = "method not allowed for this route";
    let error = HttpError::new(Code::MethodNotAllowed, why, ROUTES_HELP);
    error.response(&request_id(&request))
}
