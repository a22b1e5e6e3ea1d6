//! A typed job: a Rust value with a stable kind, a queue and the type of its result.

use serde::Serialize;
use serde::de::DeserializeOwned;
use windlass_core::NewJob;

/// A job as a Rust type. It is stored as JSON, together with its kind.
///
/// ```
/// use serde::{Deserialize, Serialize};
/// use windlass::{NewJob, RetryPolicy, TypedJob};
///
/// #[derive(Serialize, Deserialize)]
/// struct SendMail {
///     to: String,
/// }
///
/// impl TypedJob for SendMail {
///     const KIND: &'static str = "mail.send";
///     const QUEUE: &'static str = "mail";
///     type Output = ();
///
///     fn options(job: NewJob) -> NewJob {
///         job.retry(RetryPolicy::default().max_attempts(5))
///     }
/// }
/// ```
///
/// With the feature `derive`, use `#[derive(TypedJob)]` and
/// `#[job(kind = "mail.send", queue = "mail")]` instead.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a typed job",
    label = "the first argument of a handler must be its job",
    note = "derive it: `#[derive(Serialize, Deserialize, TypedJob)] #[job(kind = \"mail.send\")]`",
    note = "for untyped jobs use `Worker::handle_raw`"
)]
pub trait TypedJob: Serialize + DeserializeOwned + Send + 'static {
    /// Selects the handler. It is stored with every job: you may rename the type, but do not change
    /// this.
    const KIND: &'static str;

    /// The default queue of these jobs.
    const QUEUE: &'static str = "default";

    /// What the handler returns and a waiting client receives; `()` stores no result.
    type Output: Serialize + DeserializeOwned + Send + 'static;

    /// Sets default options for all jobs of this type; options set when enqueueing override them.
    fn options(job: NewJob) -> NewJob {
        job
    }
}
