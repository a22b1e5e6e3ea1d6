//! The interface between the runtime and the code that runs jobs.

use std::future::Future;
use std::pin::Pin;

use crate::context::AttemptContext;
use crate::outcome::Outcome;

/// The future of one attempt.
pub type AttemptFuture = Pin<Box<dyn Future<Output = Outcome> + Send>>;

/// Runs jobs. A panic fails the attempt and does not affect other jobs.
pub trait Handle: Send + Sync + 'static {
    /// Starts one attempt.
    fn handle(&self, context: AttemptContext) -> AttemptFuture;
}

impl<F, A> Handle for F
where
    F: Fn(AttemptContext) -> A + Send + Sync + 'static,
    A: Future<Output = Outcome> + Send + 'static,
{
    fn handle(&self, context: AttemptContext) -> AttemptFuture {
        Box::pin(self(context))
    }
}
