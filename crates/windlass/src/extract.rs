//! Extractors: the arguments of a handler besides its job.

mod data;

use std::ops::Deref;

use serde::de::DeserializeOwned;
use windlass_core::store::ClaimedJob;
use windlass_core::{Bytes, Token};

use crate::client::Client;
use crate::context::Context;
use crate::job_error::JobError;

pub(crate) use data::DataMap;
pub use data::{Data, Needs};

/// An argument of a handler that can be extracted from the context of its job.
///
/// Implemented for [`Context`], [`Data<T>`], [`Client`], [`Token`] and [`RawJob`], and for the payload
/// as [`Bytes`] or [`Json<T>`]. A custom extractor needs one function:
///
/// ```
/// use windlass::extract::FromContext;
/// use windlass::{Context, JobError};
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
    message = "`{Self}` cannot be extracted from the context of a job",
    label = "this argument of the handler is not an extractor",
    note = "after the job a handler may take `Context`, `Data<T>`, `Client`, `Token` and `RawJob`",
    note = "add shared data with `Worker::data` and take it as `Data<{Self}>`"
)]
pub trait FromContext: Sized + Send + 'static {
    /// Extracts the value. An error ends the attempt before the handler runs.
    fn from_context(context: &Context) -> Result<Self, JobError>;

    /// Declares the shared data that it needs, so that a worker without it does not start.
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

/// JSON: the payload as an argument of a raw handler, or its result.
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

/// Parses the payload as JSON. A parse error is permanent, since retrying cannot help.
pub(crate) fn parsed<T: DeserializeOwned>(job: &ClaimedJob) -> Result<T, JobError> {
    serde_json::from_slice(&job.payload).map_err(|error| {
        let kind = job.kind.as_ref().map_or_else(
            || "a job without a kind".to_owned(),
            |kind| format!("kind {kind:?}"),
        );
        JobError::permanent(format!("cannot parse the payload of {kind}: {error}"))
    })
}
