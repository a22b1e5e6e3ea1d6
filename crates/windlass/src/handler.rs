//! The traits of handlers: async functions, by their arguments and return types.
//!
//! They are public only to document signatures. They are sealed: only functions of up to nine arguments
//! implement them.

mod function;
mod into_outcome;
mod seal;

use std::sync::Arc;

use windlass_worker::{AttemptFuture, Outcome};

pub use function::{Function, RawArguments, TypedArguments};
pub use into_outcome::{IntoJobError, IntoOutcome, IntoOutput, IntoRawOutcome, IntoResult};

use seal::Seal;

use crate::context::Context;
use crate::extract::parsed;

/// A type-erased handler.
pub(crate) type BoxedHandler = Arc<dyn Fn(Context) -> AttemptFuture + Send + Sync>;

/// Creates a handler of typed jobs.
pub(crate) fn typed<F, A, M>(function: F) -> BoxedHandler
where
    F: Function<A>,
    F::Future: Send + 'static,
    F::Output: IntoOutcome<A::Job, M>,
    A: TypedArguments,
{
    let function = Arc::new(function);
    Arc::new(move |context| {
        let function = Arc::clone(&function);
        Box::pin(async move {
            let arguments = parsed(context.job()).and_then(|job| A::extract(job, &context, Seal));
            match arguments {
                Ok(arguments) => function.call(arguments, Seal).await.into_outcome(Seal),
                Err(error) => Outcome::from(error),
            }
        })
    })
}

/// Creates a handler of raw jobs.
pub(crate) fn raw<F, A, M>(function: F) -> BoxedHandler
where
    F: Function<A>,
    F::Future: Send + 'static,
    F::Output: IntoRawOutcome<M>,
    A: RawArguments,
{
    let function = Arc::new(function);
    Arc::new(move |context| {
        let function = Arc::clone(&function);
        Box::pin(async move {
            match A::extract(&context, Seal) {
                Ok(arguments) => function.call(arguments, Seal).await.into_outcome(Seal),
                Err(error) => Outcome::from(error),
            }
        })
    })
}
