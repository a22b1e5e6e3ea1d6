//! The HTTP API: every operation over HTTP, for programs in any language.
//!
//! The server only translates: path, query and body become the fields of an API operation, and the
//! operation's reply becomes the response. It keeps no state that must survive a restart.
//!
//! # Map
//!
//! `table` is the list of routes, most of them from `windlass-api`; `router` and `openapi` are built from it. `serve` accepts
//! connections, `connections` limits them, `timeouts` closes slow ones and those that
//! `framing` rejects, `budget` limits the memory of requests and responses. The middleware in `guard` authenticates every request ([`scope`],
//! [`token`]) and attaches a `caller` to it. `request` reads requests, `handlers` responds to them,
//! `error` turns errors into responses. `events`, `metrics`, `page` and `dashboard` are the routes outside the operations, `extra` one of another
//! crate. [`trusted_file`] checks who may write a file. [`client`] is the client used by `windlass submit` and by tests.

mod access_log;
mod budget;
mod caller;
pub mod client;
mod connections;
mod counters;
mod dashboard;
mod error;
mod events;
mod extra;
mod framing;
mod guard;
mod handlers;
mod idempotency;
mod metrics;
mod openapi;
mod page;
mod request;
mod router;
pub mod scope;
mod serve;
mod state;
mod table;
mod timeouts;
pub mod token;
pub mod trusted_file;

pub use crate::metrics::{
    METRIC_BUCKETS, MetricKey, MetricValue, MetricsListener, MetricsRecorder,
};
pub use client::HttpClient;
pub use error::ProblemDocument;
pub use extra::ExtraRoute;
pub use idempotency::IdempotencyKey;
pub use scope::{Grant, Scope};
pub use serve::{HttpServer, Options};
pub use timeouts::Timeouts;
pub use token::{NewToken, Tokens};
pub use tokio_util::sync::CancellationToken;

/// Returns the method, path and required scope of every route of the API.
pub fn api_routes() -> impl Iterator<Item = (&'static str, &'static str, Scope)> {
    table::api_routes().map(|(_, route)| (route.method.as_str(), route.path, route.scope))
}

/// Returns the method, path and required scope of every route, with those that only browsers use.
pub fn routes() -> impl Iterator<Item = (&'static str, &'static str, Scope)> {
    table::routes().map(|(_, route)| (route.method.as_str(), route.path, route.scope))
}
