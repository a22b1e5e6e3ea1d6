//! A typed job: a Rust value with a stable kind, a queue and the type of its result.

use serde::Serialize;
use serde::de::DeserializeOwned;
use windlass_core::NewJob;

/// A job as a Rust type. It is stored as JSON, under its kind.
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
/// With the feature `derive` the same is `#[derive(TypedJob)]` and
/// `#[job(kind = "mail.send", queue = "mail")]`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a typed job",
    label = "the first argument of a handler is its job",
    note = "derive it: `#[derive(Serialize, Deserialize, TypedJob)] #[job(kind = \"mail.send\")]`",
    note = "for jobs without a type of their own use `Worker::handle_raw`"
)]
pub trait TypedJob: Serialize + DeserializeOwned + Send + 'static {
    /// What chooses the handler. It is stored with every job: change the name of the type as you
    /// like, never this.
    const KIND: &'static str;

    /// The queue it goes to unless said when it is enqueued.
    const QUEUE: &'static str = "default";

    /// What a handler returns and a waiting client gets; `()` leaves no result behind.
    type Output: Serialize + DeserializeOwned + Send + 'static;

    /// Options that all jobs of this type have; what is said when one is enqueued comes on top.
    fn options(job: NewJob) -> NewJob {
        job
    }
}
