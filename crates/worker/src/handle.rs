//! What runs the jobs: one method, whatever is behind it.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use crate::context::Context;
use crate::outcome::Outcome;

/// An attempt under way.
pub type Attempt = Pin<Box<dyn Future<Output = Outcome> + Send>>;

/// Runs jobs. A panic is a failed attempt and harms nobody else.
pub trait Handle: Send + Sync + 'static {
    /// Starts one attempt.
    fn handle(&self, context: Context) -> Attempt;
}

impl<F, A> Handle for F
where
    F: Fn(Context) -> A + Send + Sync + 'static,
    A: Future<Output = Outcome> + Send + 'static,
{
    fn handle(&self, context: Context) -> Attempt {
        Box::pin(self(context))
    }
}

impl Handle for Arc<dyn Handle> {
    fn handle(&self, context: Context) -> Attempt {
        self.as_ref().handle(context)
    }
}
