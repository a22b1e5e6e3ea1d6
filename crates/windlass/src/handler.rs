//! What may be a handler: plain async functions, by their arguments and by what they return.
//!
//! These traits are only for reading signatures by. They are sealed: the implementations for functions
//! of up to nine arguments are all there are.

mod answer;
mod function;
mod seal;

use std::sync::Arc;

use windlass_worker::{AttemptFuture, Outcome};

pub use answer::{Answer, Failing, IntoResult, Promised, RawAnswer};
pub use function::{Function, RawArguments, TypedArguments};

use seal::Seal;

use crate::context::Context;
use crate::extract::parsed;

/// A handler whose types are known no more.
pub(crate) type Run = Arc<dyn Fn(Context) -> AttemptFuture + Send + Sync>;

/// A handler of typed jobs.
pub(crate) fn typed<F, A, M>(function: F) -> Run
where
    F: Function<A>,
    F::Future: Send + 'static,
    F::Output: Answer<A::Job, M>,
    A: TypedArguments,
{
    let function = Arc::new(function);
    Arc::new(move |context| {
        let function = Arc::clone(&function);
        Box::pin(async move {
            let arguments = parsed(context.job()).and_then(|job| A::take(job, &context, Seal));
            match arguments {
                Ok(arguments) => function.call(arguments, Seal).await.into_outcome(Seal),
                Err(error) => Outcome::from(error),
            }
        })
    })
}

/// A handler of jobs as they come.
pub(crate) fn raw<F, A, M>(function: F) -> Run
where
    F: Function<A>,
    F::Future: Send + 'static,
    F::Output: RawAnswer<M>,
    A: RawArguments,
{
    let function = Arc::new(function);
    Arc::new(move |context| {
        let function = Arc::clone(&function);
        Box::pin(async move {
            match A::take(&context, Seal) {
                Ok(arguments) => function.call(arguments, Seal).await.into_outcome(Seal),
                Err(error) => Outcome::from(error),
            }
        })
    })
}
