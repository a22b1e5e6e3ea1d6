//! What a handler may ask for besides its job: each argument takes itself from the context.

mod data;

use std::ops::Deref;

use serde::de::DeserializeOwned;
use windlass_core::{Bytes, ClaimedJob, Token};

use crate::client::Client;
use crate::context::Context;
use crate::job_error::JobError;

pub(crate) use data::DataMap;
pub use data::{Data, Needs};

/// An argument of a handler: something that can be taken from the context of a job.
///
/// There are [`Context`], [`Data<T>`], [`Client`], [`Token`] and [`RawJob`], and for raw handlers also
/// [`Bytes`] and [`Json<T>`], the payload. An extractor of your own is one function:
///
/// ```
/// use windlass::{Context, FromContext, JobError};
///
/// struct Tenant(String);
///
/// impl FromContext for Tenant {
///     fn from_context(context: &Context) -> Result<Self, JobError> {
///         let tenant = context.job().headers.get("tenant");
///         let tenant = tenant.ok_or_else(|| JobError::permanent("the job has no tenant"))?;
///         Ok(Self(tenant.to_owned()))
///     }
/// }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be taken from the context of a job",
    label = "this argument of the handler is no extractor",
    note = "after the job a handler may have `Context`, `Data<T>`, `Client`, `Token` and `RawJob`",
    note = "shared data is given with `Worker::data` and taken as `Data<{Self}>`"
)]
pub trait FromContext: Sized + Send + 'static {
    /// Takes it from the context; an error ends the attempt before the handler begins.
    fn from_context(context: &Context) -> Result<Self, JobError>;

    /// Declares the shared data it will ask for, so that a worker without it does not start.
    fn needs(needs: &mut Needs) {
        let _ = needs;
    }
}

/// The job as it was claimed: id, kind, payload, headers, limits.
///
/// ```
/// use windlass::{JobError, RawJob};
///
/// async fn any(job: RawJob) -> Result<String, JobError> {
///     Ok(format!("{} bytes of {:?}", job.payload.len(), job.kind))
/// }
/// ```
#[derive(Debug, Clone)]
pub struct RawJob(Context);

impl Deref for RawJob {
    type Target = ClaimedJob;

    fn deref(&self) -> &ClaimedJob {
        self.0.job()
    }
}

/// JSON: a payload where a raw handler asks for it, a result where it returns it.
///
/// ```
/// use windlass::{JobError, Json};
///
/// async fn sum(Json(numbers): Json<Vec<u64>>) -> Result<Json<u64>, JobError> {
///     Ok(Json(numbers.iter().sum()))
/// }
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Json<T>(pub T);

impl FromContext for Context {
    fn from_context(context: &Context) -> Result<Self, JobError> {
        Ok(context.clone())
    }
}

impl FromContext for RawJob {
    fn from_context(context: &Context) -> Result<Self, JobError> {
        Ok(Self(context.clone()))
    }
}

impl FromContext for Client {
    fn from_context(context: &Context) -> Result<Self, JobError> {
        Ok(context.client().clone())
    }
}

impl FromContext for Token {
    fn from_context(context: &Context) -> Result<Self, JobError> {
        Ok(context.token())
    }
}

impl FromContext for Bytes {
    fn from_context(context: &Context) -> Result<Self, JobError> {
        Ok(context.job().payload.clone())
    }
}

impl<T: DeserializeOwned + Send + 'static> FromContext for Json<T> {
    fn from_context(context: &Context) -> Result<Self, JobError> {
        parsed(context.job()).map(Self)
    }
}

/// The payload as JSON. One that does not parse will not the next time either.
pub(crate) fn parsed<T: DeserializeOwned>(job: &ClaimedJob) -> Result<T, JobError> {
    serde_json::from_slice(&job.payload).map_err(|error| {
        let kind = job.kind.as_ref().map_or_else(
            || "a job without a kind".to_owned(),
            |kind| format!("kind {kind:?}"),
        );
        JobError::permanent(format!("the payload of {kind} does not parse: {error}"))
    })
}
