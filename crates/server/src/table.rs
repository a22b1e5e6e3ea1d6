//! The table of routes: those of the ops, which `windlass-api` defines, and the others. The router, the
//! `OpenAPI` document, the page `/docs` and the tests of scopes are built from it.

use windlass_api::Method::{Get as GET, Post as POST};
use windlass_api::request::Export;
use windlass_api::{Request, Route, Scope};

use crate::dashboard::{self, Asset, HomeReply, Page};
use crate::events::{EventsRequest, TicketReply};

/// The path of event streams, which the guard handles specially.
pub(crate) const EVENTS: &str = "/v1/events";

/// The handler of a route.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Handler {
    /// Runs the op of the route.
    Operation,
    Import,
    Export,
    Payload,
    Result,
    Events,
    Ticket,
    Metrics,
    Health,
    Ready,
    OpenApi,
    Docs,
    /// Shows a page of the dashboard.
    Page(Page),
    /// Runs the op of the route for a form of the dashboard.
    Form,
    /// Purges a queue for a form of the dashboard.
    Purge,
    /// Changes many jobs for a form of the dashboard.
    Bulk,
    StopBulk,
    SignIn,
    SignOut,
    Asset(Asset),
    /// The route of another crate.
    Extra,
}

impl Handler {
    /// Returns whether it is a health check.
    pub(crate) const fn is_probe(self) -> bool {
        matches!(self, Self::Health | Self::Ready)
    }

    /// Returns whether browsers show its replies, and send its requests.
    pub(crate) const fn is_page(self) -> bool {
        matches!(
            self,
            Self::Page(_)
                | Self::Form
                | Self::Purge
                | Self::Bulk
                | Self::StopBulk
                | Self::SignIn
                | Self::SignOut
        )
    }
}

/// The routes that are not ops.
#[rustfmt::skip]
const OTHERS: &[(Handler, Route)] = &[
    (Handler::Import, Route::new(POST, "/v1/queues/{queue}/jobs/import", Scope::Enqueue, "import", "Enqueues one job per line of NDJSON, or puts a schedule, and streams one reply line for each")),
    (Handler::Export, Route::new(GET, "/v1/queues/{queue}/jobs/export", Scope::Read, "export", "Exports all jobs with their payloads, and the schedules, one per line of NDJSON").with_request::<Export>()),
    (Handler::Payload, Route::new(GET, "/v1/queues/{queue}/jobs/{id}/payload", Scope::Read, "payload", "Returns the payload of a job as raw bytes")),
    (Handler::Result, Route::new(GET, "/v1/queues/{queue}/jobs/{id}/result", Scope::Read, "result", "Returns the result of a job as raw bytes")),
    (Handler::Events, Route::new(GET, EVENTS, Scope::Read, "events", "Streams job events as server-sent events").with_request::<EventsRequest>()),
    (Handler::Ticket, Route::new(POST, "/v1/events/ticket", Scope::Read, "ticket", "Issues a one-time ticket for an event stream, for browsers").with_reply::<TicketReply>()),
    (Handler::Metrics, Route::new(GET, "/metrics", Scope::Read, "metrics", "Returns metrics of all queues and of this server, for Prometheus")),
    (Handler::Page(Page::Overview), Route::new(GET, "/", Scope::Any, "home", "Returns version, kind of store and links; for browsers, the dashboard").with_reply::<HomeReply>()),
    (Handler::OpenApi, Route::new(GET, "/openapi.json", Scope::Any, "openapi", "Returns this document")),
    (Handler::Docs, Route::new(GET, "/docs", Scope::Any, "docs", "Returns this reference as a page")),
    (Handler::Health, Route::new(GET, "/healthz", Scope::Open, "health", "Returns 200 if the server is running")),
    (Handler::Ready, Route::new(GET, "/readyz", Scope::Open, "ready", "Returns 200 if the store is available")),
];

/// Returns the routes of the API with their handlers.
pub(crate) fn api_routes() -> impl Iterator<Item = (Handler, &'static Route)> {
    let ops = Request::ROUTES.iter();
    let ops = ops.map(|route| (Handler::Operation, route));
    ops.chain(OTHERS.iter().map(|(handler, route)| (*handler, route)))
}

/// Returns all routes with their handlers: those of the API, and those that only browsers use.
pub(crate) fn routes() -> impl Iterator<Item = (Handler, &'static Route)> {
    let pages = dashboard::ROUTES.iter();
    api_routes().chain(pages.map(|(handler, route)| (*handler, route)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_operation_has_a_route_and_no_route_is_there_twice() {
        for op in Request::OPS {
            assert!(routes().any(|(_, route)| route.op == *op), "{op}");
        }
        for (at, (_, route)) in routes().enumerate() {
            let is_same = |other: &Route| other.path == route.path && other.method == route.method;
            let mut earlier = routes().take(at);
            assert!(!earlier.any(|(_, other)| is_same(other)), "{route:?}");
        }
    }

    #[test]
    fn only_health_checks_and_signing_in_are_open_and_no_get_requires_more_than_read() {
        for (handler, route) in routes() {
            let is_open = matches!(
                handler,
                Handler::Health | Handler::Ready | Handler::SignIn | Handler::Asset(_)
            );
            assert_eq!(route.scope == Scope::Open, is_open, "{route:?}");
            let is_read = matches!(route.scope, Scope::Open | Scope::Any | Scope::Read);
            // Issuing a ticket requires `read`; like signing in and out it changes nothing in the store.
            let is_get = route.method == GET
                || matches!(
                    handler,
                    Handler::Ticket | Handler::SignIn | Handler::SignOut
                );
            assert_eq!(is_get, is_read, "{route:?}");
        }
    }
}
