//! A route that another crate adds, behind the same guard, scopes and limits.

use std::fmt;

use async_trait::async_trait;
use axum::Router;
use axum::body::Body;
use axum::http::{HeaderMap, Response};
use windlass_api::{Error, Route};
use windlass_core::{QueueName, Store};

/// A route of another system that adds jobs to one queue.
#[async_trait]
pub trait ExtraRoute: fmt::Debug + Send + Sync {
    /// The method, path, scope and schemas.
    fn route(&self) -> &'static Route;

    /// The queue. The token must allow it.
    fn queue(&self) -> &QueueName;

    /// Handles the JSON body of a request.
    async fn handle(
        &self,
        store: &dyn Store,
        headers: &HeaderMap,
        body: &str,
    ) -> Result<Response<Body>, Error>;

    /// Adds layers around the whole API, to change the body of errors. Those have a
    /// [`ProblemDocument`](crate::ProblemDocument) as an extension.
    fn wrap(&self, router: Router) -> Router;
}
