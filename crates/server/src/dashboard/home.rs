//! What `/` replies to programs.

use schemars::JsonSchema;
use serde::Serialize;

/// What the server is, and where to go on.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct HomeReply {
    /// `windlass`.
    name: &'static str,
    /// The version of the server.
    version: &'static str,
    /// The kind of store: `sqlite`, `redis`, `http` or `memory`.
    store: &'static str,
    /// The path of the reference of the API.
    docs: &'static str,
    /// The path of its `OpenAPI` document.
    openapi: &'static str,
    /// The path of the queues with their stats.
    queues: &'static str,
    /// The path of the metrics.
    metrics: &'static str,
}

impl HomeReply {
    pub(super) const fn new(store: &'static str) -> Self {
        Self {
            name: "windlass",
            version: env!("CARGO_PKG_VERSION"),
            store,
            docs: "/docs",
            openapi: "/openapi.json",
            queues: "/v1/queues",
            metrics: "/metrics",
        }
    }
}
