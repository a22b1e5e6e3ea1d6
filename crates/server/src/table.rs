//! The table of routes. The router, the `OpenAPI` document, the page `/docs` and the tests of scopes
//! are built from it.

mod rows;

use axum::routing::MethodFilter;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use windlass_api::request::{QueueRequest, StoreRequest};

use crate::scope::Scope;

pub(crate) use rows::ROUTES;

/// The path of event streams, which the guard handles specially.
pub(crate) const EVENTS: &str = "/v1/events";

/// The HTTP method of a route.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Method {
    Get,
    Post,
    Put,
    Delete,
}

impl Method {
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Get => "GET",
            Self::Post => "POST",
            Self::Put => "PUT",
            Self::Delete => "DELETE",
        }
    }

    /// Returns whether fields are sent in the body instead of the query.
    pub(crate) const fn has_body(self) -> bool {
        matches!(self, Self::Post | Self::Put)
    }

    pub(crate) const fn filter(self) -> MethodFilter {
        match self {
            Self::Get => MethodFilter::GET,
            Self::Post => MethodFilter::POST,
            Self::Put => MethodFilter::PUT,
            Self::Delete => MethodFilter::DELETE,
        }
    }
}

/// The handler of a route. Most routes only run an API operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Handler {
    Operation,
    Enqueue,
    Batch,
    Import,
    Export,
    Payload,
    Result,
    /// An operation whose reply carries claimed jobs, which are released if it is not delivered.
    Claim,
    Queues,
    Workers,
    /// An operation on one worker, if the caller may access its queues.
    Worker,
    Register,
    Heartbeat,
    Events,
    Ticket,
    Metrics,
    Health,
    Ready,
    OpenApi,
    Docs,
    Delayed,
}

/// Generates the schema of a request or a reply.
pub(crate) type SchemaFn = fn(&mut SchemaGenerator) -> Schema;

/// One route.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Route {
    pub(crate) method: Method,
    pub(crate) path: &'static str,
    pub(crate) scope: Scope,
    /// The API operation, or a name for routes without one.
    pub(crate) op: &'static str,
    pub(crate) handler: Handler,
    pub(crate) summary: &'static str,
    pub(crate) request: Option<SchemaFn>,
    pub(crate) reply: Option<SchemaFn>,
}

impl Route {
    /// An operation on one queue.
    const fn queue<R: QueueRequest>(
        method: Method,
        path: &'static str,
        scope: Scope,
        summary: &'static str,
    ) -> Self {
        Self::operation::<R, R::Reply>(method, path, scope, R::OP, summary)
    }

    /// An operation on the whole store.
    const fn store<R: StoreRequest>(
        method: Method,
        path: &'static str,
        scope: Scope,
        summary: &'static str,
    ) -> Self {
        Self::operation::<R, R::Reply>(method, path, scope, R::OP, summary)
    }

    /// An operation with the schemas of its request and its reply.
    const fn operation<R: JsonSchema, A: JsonSchema>(
        method: Method,
        path: &'static str,
        scope: Scope,
        op: &'static str,
        summary: &'static str,
    ) -> Self {
        let route = Self::other(method, path, scope, Handler::Operation, op, summary);
        route.with_request::<R>().with_reply::<A>()
    }

    /// A route without schemas, for most routes that are not operations.
    const fn other(
        method: Method,
        path: &'static str,
        scope: Scope,
        handler: Handler,
        op: &'static str,
        summary: &'static str,
    ) -> Self {
        Self {
            method,
            path,
            scope,
            op,
            handler,
            summary,
            request: None,
            reply: None,
        }
    }

    const fn handled_by(mut self, handler: Handler) -> Self {
        self.handler = handler;
        self
    }

    const fn with_request<R: JsonSchema>(mut self) -> Self {
        self.request = Some(request::<R>);
        self
    }

    const fn with_reply<R: JsonSchema>(mut self) -> Self {
        self.reply = Some(reply::<R>);
        self
    }

    /// Returns the names of the path parameters.
    pub(crate) fn path_fields(&self) -> impl Iterator<Item = &'static str> {
        let parts = self.path.split('/');
        parts.filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'))
    }
}

fn request<R: JsonSchema>(generator: &mut SchemaGenerator) -> Schema {
    R::json_schema(generator)
}

fn reply<R: JsonSchema>(generator: &mut SchemaGenerator) -> Schema {
    generator.subschema_for::<R>()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_operation_has_a_route_and_no_route_is_there_twice() {
        for op in windlass_api::Request::OPS {
            assert!(ROUTES.iter().any(|route| route.op == *op), "{op}");
        }
        for (at, route) in ROUTES.iter().enumerate() {
            let same = |other: &&Route| other.path == route.path && other.method == route.method;
            assert!(!ROUTES[..at].iter().any(|other| same(&other)), "{route:?}");
        }
    }

    #[test]
    fn only_health_checks_are_open_and_no_get_requires_more_than_read() {
        for route in ROUTES {
            let is_probe = matches!(route.handler, Handler::Health | Handler::Ready);
            assert_eq!(route.scope == Scope::Open, is_probe, "{route:?}");
            let is_read = matches!(route.scope, Scope::Open | Scope::Any | Scope::Read);
            // Issuing a ticket requires `read` and changes nothing in the store.
            let is_get = route.method == Method::Get || route.handler == Handler::Ticket;
            assert_eq!(is_get, is_read, "{route:?}");
        }
    }
}
