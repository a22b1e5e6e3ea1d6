//! Code around every attempt: timing, reports, a trace.

use std::fmt;
use std::future::Future;
use std::sync::Arc;

use windlass_worker::{AttemptFuture, Outcome};

use crate::caught::Caught;
use crate::context::Context;
use crate::handler::Run;

pub(crate) type Hook = Arc<dyn Fn(Context, Next) -> AttemptFuture + Send + Sync>;

/// What a hook is around: the next hook, or the handler.
///
/// ```
/// use windlass::{Context, Next, Outcome};
///
/// async fn timed(context: Context, next: Next) -> Outcome {
///     let began = std::time::Instant::now();
///     let outcome = next.run(context.clone()).await;
///     context.log(&format!("{} after {:?}", outcome.word(), began.elapsed()));
///     outcome
/// }
/// # let _ = |worker: windlass::Worker| worker.around(timed);
/// ```
pub struct Next {
    hooks: Arc<[Hook]>,
    at: usize,
    run: Run,
}

impl Next {
    pub(crate) fn new(hooks: Arc<[Hook]>, run: Run) -> Self {
        Self { hooks, at: 0, run }
    }

    /// Runs it, and says how the attempt ended. A panic of the handler is a failure here.
    pub async fn run(mut self, context: Context) -> Outcome {
        match self.hooks.get(self.at).cloned() {
            Some(hook) => {
                self.at += 1;
                hook(context, self).await
            }
            None => Caught((self.run)(context)).await,
        }
    }
}

impl fmt::Debug for Next {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Next").finish_non_exhaustive()
    }
}

pub(crate) fn hook<F, R>(function: F) -> Hook
where
    F: Fn(Context, Next) -> R + Send + Sync + 'static,
    R: Future<Output = Outcome> + Send + 'static,
{
    let function = Arc::new(function);
    Arc::new(move |context, next| {
        let function = Arc::clone(&function);
        // Inside of the future, so that whatever the hook does belongs to the attempt.
        Box::pin(async move { function(context, next).await })
    })
}
