//! The one table of routes: the router, the `OpenAPI` document, the reference page and the sweep of
//! scopes are made from it.

mod rows;

use axum::routing::MethodFilter;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use windlass_api::request::{QueueRequest, StoreRequest};

use crate::scope::Scope;

pub(crate) use rows::ROUTES;

/// The route of events, which the guard knows by its path.
pub(crate) const EVENTS: &str = "/v1/events";

/// How a route is asked.
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

    /// Whether fields come in the body; else they come in the query.
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

/// How a route is answered. Most are verbs and nothing else.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    Verb,
    Enqueue,
    Batch,
    Import,
    Export,
    Payload,
    Result,
    /// A verb whose answer holds jobs that must not be lost with it.
    Claim,
    Queues,
    Workers,
    /// A verb on one worker, whose queues the caller has to reach.
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

/// Makes the schema of a request or a reply.
pub(crate) type Shape = fn(&mut SchemaGenerator) -> Schema;

/// One route.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Route {
    pub(crate) method: Method,
    pub(crate) path: &'static str,
    pub(crate) scope: Scope,
    /// The verb behind it; for routes that are none, a name.
    pub(crate) op: &'static str,
    pub(crate) way: Way,
    pub(crate) summary: &'static str,
    pub(crate) request: Option<Shape>,
    pub(crate) reply: Option<Shape>,
}

impl Route {
    /// A verb on one queue.
    const fn queue<R: QueueRequest>(
        method: Method,
        path: &'static str,
        scope: Scope,
        summary: &'static str,
    ) -> Self {
        Self::verb::<R, R::Reply>(method, path, scope, R::OP, summary)
    }

    /// A verb on the whole store.
    const fn store<R: StoreRequest>(
        method: Method,
        path: &'static str,
        scope: Scope,
        summary: &'static str,
    ) -> Self {
        Self::verb::<R, R::Reply>(method, path, scope, R::OP, summary)
    }

    /// A verb, whose request and reply have shapes.
    const fn verb<R: JsonSchema, A: JsonSchema>(
        method: Method,
        path: &'static str,
        scope: Scope,
        op: &'static str,
        summary: &'static str,
    ) -> Self {
        let route = Self::other(method, path, scope, Way::Verb, op, summary);
        route.asked::<R>().answered::<A>()
    }

    /// A route without shapes: most that are no verbs.
    const fn other(
        method: Method,
        path: &'static str,
        scope: Scope,
        way: Way,
        op: &'static str,
        summary: &'static str,
    ) -> Self {
        Self {
            method,
            path,
            scope,
            op,
            way,
            summary,
            request: None,
            reply: None,
        }
    }

    const fn by(mut self, way: Way) -> Self {
        self.way = way;
        self
    }

    const fn asked<R: JsonSchema>(mut self) -> Self {
        self.request = Some(request::<R>);
        self
    }

    const fn answered<R: JsonSchema>(mut self) -> Self {
        self.reply = Some(reply::<R>);
        self
    }

    /// The names in the path.
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
    fn every_verb_has_a_route_and_no_route_is_there_twice() {
        for op in windlass_api::ops() {
            assert!(ROUTES.iter().any(|route| route.op == op), "{op}");
        }
        for (at, route) in ROUTES.iter().enumerate() {
            let same = |other: &&Route| other.path == route.path && other.method == route.method;
            assert!(!ROUTES[..at].iter().any(|other| same(&other)), "{route:?}");
        }
    }

    #[test]
    fn only_probes_are_open_and_no_get_asks_for_more_than_reading() {
        for route in ROUTES {
            let is_probe = matches!(route.way, Way::Health | Way::Ready);
            assert_eq!(route.scope == Scope::Open, is_probe, "{route:?}");
            let is_look = matches!(route.scope, Scope::Open | Scope::Any | Scope::Read);
            // A ticket is drawn for reading, and changes nothing that is stored.
            let is_get = route.method == Method::Get || route.way == Way::Ticket;
            assert_eq!(is_get, is_look, "{route:?}");
        }
    }
}
