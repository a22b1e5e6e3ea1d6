//! The traits of handlers: async functions, by their arguments and return types.
//!
//! They are public only to document signatures. They are sealed: only functions of up to nine arguments
//! implement them.

mod function;
mod into_outcome;

use std::sync::Arc;

use windlass_worker::{AttemptFuture, Outcome};

pub use function::{Function, RawArguments, TypedArguments};
pub use into_outcome::{IntoJobError, IntoOutcome, IntoOutput, IntoRawOutcome, IntoResult};

use crate::context::Context;
use crate::extract::parsed;
use crate::job_error::JobError;

/// Seals the traits: only this crate can name it, so others cannot implement or call methods that take it.
mod seal {
    #[derive(Debug, Clone, Copy)]
    pub struct Seal;
}

use seal::Seal;

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
    boxed(
        function,
        |context| parsed(context.job()).and_then(|job| A::extract(job, context, Seal)),
        |returned| returned.into_outcome(Seal),
    )
}

/// Creates a handler of raw jobs.
pub(crate) fn raw<F, A, M>(function: F) -> BoxedHandler
where
    F: Function<A>,
    F::Future: Send + 'static,
    F::Output: IntoRawOutcome<M>,
    A: RawArguments,
{
    boxed(
        function,
        |context| A::extract(context, Seal),
        |returned| returned.into_outcome(Seal),
    )
}

fn boxed<F, A>(
    function: F,
    extract: fn(&Context) -> Result<A, JobError>,
    into_outcome: fn(F::Output) -> Outcome,
) -> BoxedHandler
where
    F: Function<A>,
    F::Future: Send + 'static,
    A: Send + 'static,
{
    let function = Arc::new(function);
    Arc::new(move |context| {
        let function = Arc::clone(&function);
        Box::pin(async move {
            match extract(&context) {
                Ok(arguments) => into_outcome(function.call(arguments, Seal).await),
                Err(error) => Outcome::from(error),
            }
        })
    })
}
