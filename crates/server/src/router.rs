//! The router, made from the table.

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::rejection::RawPathParamsRejection;
use axum::extract::{RawPathParams, Request};
use axum::http::Response;
use axum::middleware::from_fn_with_state;
use axum::routing::{MethodRouter, on};

use crate::caller::Pass;
use crate::error::Refusal;
use crate::guard::{self, RequestId};
use crate::handlers::answer;
use crate::request::{Call, path_of};
use crate::scope::Scope;
use crate::state::Door;
use crate::table::{ROUTES, Route};

/// All routes behind the guard, and what is no route as well.
pub(crate) fn router(door: &Arc<Door>) -> Router {
    let mut router = Router::new();
    for route in ROUTES {
        router = router.route(route.path, method(Arc::clone(door), route));
    }
    router
        .method_not_allowed_fallback(wrong_method)
        .fallback(nowhere)
        .layer(from_fn_with_state(Arc::clone(door), guard::stand))
}

fn method(door: Arc<Door>, route: &'static Route) -> MethodRouter {
    on(
        route.method.filter(),
        move |params: Result<RawPathParams, RawPathParamsRejection>, request: Request| {
            let door = Arc::clone(&door);
            async move { handle(&door, route, params, request).await }
        },
    )
}

async fn handle(
    door: &Arc<Door>,
    route: &'static Route,
    params: Result<RawPathParams, RawPathParamsRejection>,
    request: Request,
) -> Response<Body> {
    let id = id_of(&request);
    let params = params.map_err(|_| {
        let why = "a part of the path is not UTF-8 once it is decoded";
        Refusal::new("invalid", why, "write the bytes of UTF-8 as %XX")
    });
    let answered = match params.and_then(|params| call(door, route, &params, request)) {
        Ok(call) => answer(door, call).await,
        Err(refusal) => Err(refusal),
    };
    answered.unwrap_or_else(|refusal| refusal.response(&id, route.path == "/"))
}

/// The request, where its caller has the scope.
fn call(
    door: &Door,
    route: &'static Route,
    params: &RawPathParams,
    request: Request,
) -> Result<Call, Refusal> {
    let (mut parts, body) = request.into_parts();
    // The guard left it; without one nothing is granted.
    let pass = parts.extensions.remove::<Pass>();
    let pass = pass.filter(|pass| pass.grant.has(route.scope) || route.scope == Scope::Open);
    let Pass { grant, meter } = pass.ok_or_else(|| {
        let why = format!("the token does not have the scope {}", route.scope.as_str());
        Refusal::new("forbidden", why, "use a token that has it")
    })?;
    Ok(Call {
        route,
        path: path_of(params),
        query: parts.uri.query().unwrap_or_default().to_owned(),
        headers: parts.headers,
        body,
        grant,
        meter,
        body_wait: door.waits.body,
    })
}

fn id_of(request: &Request) -> String {
    let id = request.extensions().get::<RequestId>();
    id.map(|id| id.0.clone()).unwrap_or_default()
}

async fn nowhere(request: Request) -> Response<Body> {
    let help = "see the routes at /docs or /openapi.json";
    let refusal = Refusal::new("not_found", "there is no such route", help);
    refusal.response(&id_of(&request), request.uri().path() == "/")
}

async fn wrong_method(request: Request) -> Response<Body> {
    let path = request.uri().path();
    if path == "/" {
        // The older system answers so, and its callers expect it.
        let refusal = Refusal::new("not_found", "not found", "use POST");
        return refusal.response(&id_of(&request), true);
    }
    let help = "see the routes at /docs or /openapi.json";
    let why = "the route does not take this method";
    let refusal = Refusal::new("method_not_allowed", why, help);
    refusal.response(&id_of(&request), false)
}
