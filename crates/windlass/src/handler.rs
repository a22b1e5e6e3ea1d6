//! The traits of handlers: async functions, by their arguments and return types.
//!
//! They are public only to document signatures. They are sealed: only functions of up to nine arguments
//! implement them.

mod function;
mod into_outcome;

use std::any::type_name;
use std::sync::Arc;

use windlass_core::QueueName;
use windlass_worker::{AttemptFuture, Outcome};

pub use function::{Function, RawArguments, TypedArguments};
pub use into_outcome::{IntoJobError, IntoOutcome, IntoOutput, IntoRawOutcome, IntoResult};

use crate::context::Context;
use crate::extract::{Needs, parsed};
use crate::job_error::JobError;

/// Seals the traits: only this crate can name it, so others cannot implement or call methods that take it.
mod seal {
    #[derive(Debug, Clone, Copy)]
    pub struct Seal;
}

use seal::Seal;

/// A type-erased handler.
pub(crate) type BoxedHandler = Arc<dyn Fn(Context) -> AttemptFuture + Send + Sync>;

/// A handler and what a worker must know about it.
#[derive(Clone)]
pub(crate) struct Entry {
    pub(crate) run: BoxedHandler,
    pub(crate) needs: Needs,
    /// The name of the function.
    pub(crate) name: &'static str,
    /// The queue of a typed job.
    pub(crate) queue: Option<QueueName>,
}

impl Entry {
    /// A handler of typed jobs.
    pub(crate) fn typed<F, A, M>(function: F) -> Self
    where
        F: Function<A>,
        F::Future: Send + 'static,
        F::Output: IntoOutcome<A::Job, M>,
        A: TypedArguments,
    {
        Self::new(
            function,
            A::needs,
            |context| parsed(context.job()).and_then(|job| A::extract(job, context, Seal)),
            |returned| returned.into_outcome(Seal),
        )
    }

    /// A handler whose arguments are all extractors.
    pub(crate) fn raw<F, A, M>(function: F) -> Self
    where
        F: Function<A>,
        F::Future: Send + 'static,
        F::Output: IntoRawOutcome<M>,
        A: RawArguments,
    {
        Self::new(
            function,
            A::needs,
            |context| A::extract(context, Seal),
            |returned| returned.into_outcome(Seal),
        )
    }

    fn new<F, A>(
        function: F,
        declare_needs: fn(&mut Needs),
        extract: fn(&Context) -> Result<A, JobError>,
        into_outcome: fn(F::Output) -> Outcome,
    ) -> Self
    where
        F: Function<A>,
        F::Future: Send + 'static,
        A: Send + 'static,
    {
        let mut needs = Needs::default();
        declare_needs(&mut needs);
        let function = Arc::new(function);
        let run: BoxedHandler = Arc::new(move |context| {
            let function = Arc::clone(&function);
            Box::pin(async move {
                match extract(&context) {
                    Ok(arguments) => into_outcome(function.call(arguments, Seal).await),
                    Err(error) => Outcome::from(error),
                }
            })
        });
        Self {
            run,
            needs,
            name: type_name::<F>(),
            queue: None,
        }
    }
}
