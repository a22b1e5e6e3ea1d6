//! Async functions and their arguments.

use std::future::Future;

use super::seal::Seal;
use crate::context::Context;
use crate::extract::{FromContext, Needs};
use crate::job_error::JobError;
use crate::typed::TypedJob;

/// An async function of up to nine arguments.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a handler",
    label = "not an `async fn` with a job and up to eight extractors",
    note = "a handler is an `async fn(job, extractors…) -> Result<Output, Error>`, for example\n\
            `async fn send(mail: SendMail, context: Context) -> Result<(), JobError>`"
)]
pub trait Function<Arguments>: Send + Sync + 'static {
    /// The future it returns.
    type Future: Future<Output = Self::Output>;

    /// The output of the future.
    type Output;

    /// Calls the function.
    fn call(&self, arguments: Arguments, seal: Seal) -> Self::Future;
}

/// The arguments of a handler of typed jobs: the job, then extractors.
#[diagnostic::on_unimplemented(
    message = "the first argument of a typed handler must be its job",
    label = "the arguments of this handler are `{Self}`",
    note = "for untyped jobs use `Worker::handle_raw`"
)]
pub trait TypedArguments: Sized + Send + 'static {
    /// The job.
    type Job: TypedJob;

    /// Extracts the arguments after the job from the context.
    fn extract(job: Self::Job, context: &Context, seal: Seal) -> Result<Self, JobError>;

    /// Declares the shared data that they need.
    fn needs(needs: &mut Needs);
}

/// The arguments of a raw handler: extractors.
#[diagnostic::on_unimplemented(
    message = "these are not the arguments of a raw handler",
    label = "the arguments of this handler are `{Self}`",
    note = "a raw handler takes up to eight extractors: `RawJob`, `Bytes`, `Json<T>`, `Context`, …"
)]
pub trait RawArguments: Sized + Send + 'static {
    /// Extracts the arguments from the context.
    fn extract(context: &Context, seal: Seal) -> Result<Self, JobError>;

    /// Declares the shared data that they need.
    fn needs(needs: &mut Needs);
}

macro_rules! function {
    ($($argument:ident)*) => {
        impl<F, R, $($argument,)*> Function<($($argument,)*)> for F
        where
            F: Fn($($argument),*) -> R + Send + Sync + 'static,
            R: Future,
        {
            type Future = R;
            type Output = R::Output;

            #[allow(non_snake_case, reason = "variables are named after their types")]
            fn call(&self, ($($argument,)*): ($($argument,)*), _: Seal) -> R {
                self($($argument),*)
            }
        }
    };
}

macro_rules! arguments {
    ($($argument:ident)*) => {
        impl<J: TypedJob, $($argument: FromContext,)*> TypedArguments for (J, $($argument,)*) {
            type Job = J;

            #[allow(unused_variables, reason = "unused without extractors")]
            fn extract(job: J, context: &Context, _: Seal) -> Result<Self, JobError> {
                Ok((job, $($argument::from_context(context)?,)*))
            }

            #[allow(unused_variables, reason = "unused without extractors")]
            fn needs(needs: &mut Needs) {
                $($argument::needs(needs);)*
            }
        }

        impl<$($argument: FromContext,)*> RawArguments for ($($argument,)*) {
            #[allow(unused_variables, reason = "unused without extractors")]
            fn extract(context: &Context, _: Seal) -> Result<Self, JobError> {
                Ok(($($argument::from_context(context)?,)*))
            }

            #[allow(unused_variables, reason = "unused without extractors")]
            fn needs(needs: &mut Needs) {
                $($argument::needs(needs);)*
            }
        }
    };
}

function!();
function!(A);
function!(A B);
function!(A B C);
function!(A B C D);
function!(A B C D E);
function!(A B C D E G);
function!(A B C D E G H);
function!(A B C D E G H I);
function!(A B C D E G H I K);

arguments!();
arguments!(A);
arguments!(A B);
arguments!(A B C);
arguments!(A B C D);
arguments!(A B C D E);
arguments!(A B C D E G);
arguments!(A B C D E G H);
arguments!(A B C D E G H I);
