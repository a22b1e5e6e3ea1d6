//! Middleware: code that wraps every attempt.

use std::fmt;
use std::future::Future;
use std::sync::Arc;

use windlass_worker::{AttemptFuture, Outcome, run_handler};

use crate::context::Context;
use crate::handler::BoxedHandler;

pub(crate) type Middleware = Arc<dyn Fn(Context, Next) -> AttemptFuture + Send + Sync>;

/// The rest of the chain: the next middleware, or the handler.
///
/// ```
/// use windlass::{Context, Next, Outcome};
///
/// async fn timed(context: Context, next: Next) -> Outcome {
///     let began = std::time::Instant::now();
///     let outcome = next.run(context.clone()).await;
///     context.log(&format!("{} after {:?}", outcome.as_str(), began.elapsed()));
///     outcome
/// }
/// # let _ = |worker: windlass::Worker| worker.middleware(timed);
/// ```
pub struct Next {
    middleware: Arc<[Middleware]>,
    at: usize,
    run: BoxedHandler,
}

impl Next {
    pub(crate) fn new(middleware: Arc<[Middleware]>, run: BoxedHandler) -> Self {
        Self {
            middleware,
            at: 0,
            run,
        }
    }

    /// Runs it and returns the outcome of the attempt. A panic of the handler becomes a failure.
    pub async fn run(mut self, context: Context) -> Outcome {
        match self.middleware.get(self.at).cloned() {
            Some(layer) => {
                self.at += 1;
                layer(context, self).await
            }
            // A panic becomes a failure here, so that middleware can see it.
            None => run_handler(&context, || (self.run)(context.clone())).await,
        }
    }
}

impl fmt::Debug for Next {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Next").finish_non_exhaustive()
    }
}

pub(crate) fn middleware<F, R>(function: F) -> Middleware
where
    F: Fn(Context, Next) -> R + Send + Sync + 'static,
    R: Future<Output = Outcome> + Send + 'static,
{
    let function = Arc::new(function);
    Arc::new(move |context, next| {
        let function = Arc::clone(&function);
        // Called inside the future, so that all it does is part of the attempt.
        Box::pin(async move { function(context, next).await })
    })
}
