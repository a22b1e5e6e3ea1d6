//! The return types of handlers.

use serde::Serialize;
use windlass_core::Bytes;
use windlass_worker::Outcome;

use super::seal::Seal;
use crate::extract::Json;
use crate::job_error::JobError;
use crate::typed::TypedJob;

/// The return type of a handler of the typed job `J`: `Result<J::Output, E>`.
#[diagnostic::on_unimplemented(
    message = "a handler of `{J}` cannot return `{Self}`",
    label = "this handler returns `{Self}`",
    note = "return `Result<Output, E>`: the output of the job, and `JobError` or any error"
)]
pub trait IntoOutcome<J, Marker> {
    /// Converts the value into the outcome of the attempt.
    fn into_outcome(self, seal: Seal) -> Outcome;
}

/// The return type of a raw handler: `Result<T, E>`.
#[diagnostic::on_unimplemented(
    message = "a raw handler cannot return `{Self}`",
    label = "this handler returns `{Self}`",
    note = "return `Result<T, E>`: `T` is `()`, bytes, a string or `Json<…>`, `E` is `JobError` or any error"
)]
pub trait IntoRawOutcome<Marker> {
    /// Converts the value into the outcome of the attempt.
    fn into_outcome(self, seal: Seal) -> Outcome;
}

/// The output type of a typed job.
#[diagnostic::on_unimplemented(
    message = "the handler returns `{Self}`, but the output type of its job is `{Output}`",
    label = "this handler does not return the output type of its job",
    note = "set the output type of the job with `type Output` or `#[job(output = …)]` (default: `()`)"
)]
pub trait IntoOutput<Output> {
    /// Returns the output.
    fn into_output(self, seal: Seal) -> Output;
}

/// The error type of a handler.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an error that a handler can return",
    label = "the error of this handler cannot be converted into a `JobError`",
    note = "use `JobError`, or a type that implements `std::error::Error + Send + Sync`",
    note = "convert a string with `JobError::new`"
)]
pub trait IntoJobError<Marker> {
    /// Converts the error.
    fn into_job_error(self, seal: Seal) -> JobError;
}

/// The result type of a raw handler.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a result that a handler can return",
    label = "not `()`, bytes, a string or `Json<…>`"
)]
pub trait IntoResult {
    /// Returns the bytes to store, if any.
    fn into_result(self, seal: Seal) -> Result<Option<Bytes>, JobError>;
}

/// Marks the impl for errors that convert into a [`JobError`].
#[derive(Debug)]
pub enum AnyError {}

/// Marks an impl that never applies. With two impls the compiler shows the messages above; with one it
/// would report the unmet `From` bound instead.
#[derive(Debug)]
pub enum NeverMatches {}

/// A trait that no type implements.
pub trait Uninhabited {
    /// Never called.
    fn become_anything<T>(self) -> T;
}

impl<T> IntoOutput<T> for T {
    fn into_output(self, _: Seal) -> T {
        self
    }
}

impl<E: Into<JobError>> IntoJobError<AnyError> for E {
    fn into_job_error(self, _: Seal) -> JobError {
        self.into()
    }
}

impl<E: Uninhabited> IntoJobError<NeverMatches> for E {
    fn into_job_error(self, _: Seal) -> JobError {
        self.become_anything()
    }
}

impl<J, T, E, N> IntoOutcome<J, N> for Result<T, E>
where
    J: TypedJob,
    T: IntoOutput<J::Output>,
    E: IntoJobError<N>,
{
    fn into_outcome(self, _: Seal) -> Outcome {
        outcome(self.map(|output| Json(output.into_output(Seal))))
    }
}

impl<T: IntoResult, E: IntoJobError<N>, N> IntoRawOutcome<N> for Result<T, E> {
    fn into_outcome(self, _: Seal) -> Outcome {
        outcome(self)
    }
}

fn outcome<T: IntoResult, E: IntoJobError<N>, N>(returned: Result<T, E>) -> Outcome {
    let returned = returned.map_err(|error| error.into_job_error(Seal));
    match returned.and_then(|output| output.into_result(Seal)) {
        Ok(result) => Outcome::Done(result),
        Err(error) => Outcome::from(error),
    }
}

impl IntoResult for () {
    fn into_result(self, _: Seal) -> Result<Option<Bytes>, JobError> {
        Ok(None)
    }
}

macro_rules! stored_unchanged {
    ($($bytes:ty),*) => {$(
        impl IntoResult for $bytes {
            fn into_result(self, _: Seal) -> Result<Option<Bytes>, JobError> {
                Ok(Some(self.into()))
            }
        }
    )*};
}

stored_unchanged!(Bytes, Vec<u8>, String, &'static str);

impl<T: Serialize> IntoResult for Json<T> {
    /// JSON `null` is stored as no result.
    fn into_result(self, _: Seal) -> Result<Option<Bytes>, JobError> {
        // Permanent: a retry would end in the same way.
        let bytes = serde_json::to_vec(&self.0).map_err(|error| {
            JobError::permanent(format!("cannot serialize the result as JSON: {error}"))
        })?;
        Ok((bytes != b"null").then(|| bytes.into()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn null_is_stored_as_no_result() {
        let stored = |value: Option<u8>| Json(value).into_result(Seal).unwrap();
        assert_eq!(stored(None), None);
        assert_eq!(stored(Some(7)).unwrap(), "7");
        assert_eq!(Json(()).into_result(Seal).unwrap(), None);
        assert_eq!(().into_result(Seal).unwrap(), None);
    }

    #[test]
    fn bytes_and_strings_are_stored_unchanged() {
        assert_eq!("null".into_result(Seal).unwrap().unwrap(), "null");
        assert_eq!(
            vec![0, 255].into_result(Seal).unwrap().unwrap(),
            &[0, 255][..]
        );
        assert_eq!(Bytes::new().into_result(Seal).unwrap(), Some(Bytes::new()));
    }
}
