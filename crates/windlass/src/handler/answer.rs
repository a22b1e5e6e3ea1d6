//! What handlers return.

use serde::Serialize;
use windlass_core::Bytes;
use windlass_worker::Outcome;

use super::seal::Seal;
use crate::extract::Json;
use crate::job_error::JobError;
use crate::typed::TypedJob;

/// What a handler of the typed job `J` returns: `Result<J::Output, E>`.
#[diagnostic::on_unimplemented(
    message = "a handler of `{J}` cannot return `{Self}`",
    label = "this handler returns `{Self}`",
    note = "return `Result<Output, E>`: the output of the job, and `JobError` or any error"
)]
pub trait Answer<J, Marker> {
    /// How the attempt ended.
    fn into_outcome(self, seal: Seal) -> Outcome;
}

/// What a raw handler returns: `Result<T, E>`.
#[diagnostic::on_unimplemented(
    message = "a raw handler cannot return `{Self}`",
    label = "this handler returns `{Self}`",
    note = "return `Result<T, E>`: `T` is `()`, bytes, text or `Json<…>`, `E` is `JobError` or any error"
)]
pub trait RawAnswer<Marker> {
    /// How the attempt ended.
    fn into_outcome(self, seal: Seal) -> Outcome;
}

/// The output that a typed job promises.
#[diagnostic::on_unimplemented(
    message = "a handler returns `{Self}`, but its job promises `{Output}`",
    label = "this handler returns another type than its job promises",
    note = "a job says what it puts out: `type Output`, or `#[job(output = …)]`; `()` unless said"
)]
pub trait Promised<Output> {
    /// The output.
    fn into_output(self, seal: Seal) -> Output;
}

/// The error of a handler.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an error that a handler may return",
    label = "the error of this handler does not say what comes next",
    note = "use `JobError`, or a type that is a `std::error::Error + Send + Sync`",
    note = "a text becomes an error with `JobError::new`"
)]
pub trait Failing<Marker> {
    /// What comes next.
    fn into_job_error(self, seal: Seal) -> JobError;
}

/// What a raw handler leaves behind.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a result that a job can leave",
    label = "not `()`, bytes, text or `Json<…>`"
)]
pub trait IntoResult {
    /// The bytes to keep, if any.
    fn into_result(self, seal: Seal) -> Result<Option<Bytes>, JobError>;
}

/// The way that fits: an error that becomes a [`JobError`].
#[derive(Debug)]
pub enum Fitting {}

/// A way that fits nothing. Two ways make the compiler say *our* words when the first does not
/// fit; with one it would go on into its bounds, and talk of `From`.
#[derive(Debug)]
pub enum Unfitting {}

/// Nothing is one.
pub trait Nothing {
    /// So this is never called.
    fn become_anything<T>(self) -> T;
}

impl<T> Promised<T> for T {
    fn into_output(self, _: Seal) -> T {
        self
    }
}

impl<E: Into<JobError>> Failing<Fitting> for E {
    fn into_job_error(self, _: Seal) -> JobError {
        self.into()
    }
}

impl<E: Nothing> Failing<Unfitting> for E {
    fn into_job_error(self, _: Seal) -> JobError {
        self.become_anything()
    }
}

impl<J, T, E, N> Answer<J, N> for Result<T, E>
where
    J: TypedJob,
    T: Promised<J::Output>,
    E: Failing<N>,
{
    fn into_outcome(self, _: Seal) -> Outcome {
        outcome(self.map(|output| Json(output.into_output(Seal))))
    }
}

impl<T: IntoResult, E: Failing<N>, N> RawAnswer<N> for Result<T, E> {
    fn into_outcome(self, _: Seal) -> Outcome {
        outcome(self)
    }
}

fn outcome<T: IntoResult, E: Failing<N>, N>(answer: Result<T, E>) -> Outcome {
    let answer = answer.map_err(|error| error.into_job_error(Seal));
    match answer.and_then(|output| output.into_result(Seal)) {
        Ok(result) => Outcome::Done(result),
        Err(error) => Outcome::from(error),
    }
}

impl IntoResult for () {
    fn into_result(self, _: Seal) -> Result<Option<Bytes>, JobError> {
        Ok(None)
    }
}

impl IntoResult for Bytes {
    fn into_result(self, _: Seal) -> Result<Option<Bytes>, JobError> {
        Ok(Some(self))
    }
}

impl IntoResult for Vec<u8> {
    fn into_result(self, _: Seal) -> Result<Option<Bytes>, JobError> {
        Ok(Some(self.into()))
    }
}

impl IntoResult for String {
    fn into_result(self, _: Seal) -> Result<Option<Bytes>, JobError> {
        Ok(Some(self.into()))
    }
}

impl IntoResult for &'static str {
    fn into_result(self, _: Seal) -> Result<Option<Bytes>, JobError> {
        Ok(Some(self.into()))
    }
}

impl<T: Serialize> IntoResult for Json<T> {
    /// JSON's null is no result.
    fn into_result(self, _: Seal) -> Result<Option<Bytes>, JobError> {
        // The work is done, and doing it again would end the same way.
        let bytes = serde_json::to_vec(&self.0).map_err(|error| {
            JobError::permanent(format!("the result cannot be written as JSON: {error}"))
        })?;
        Ok((bytes != b"null").then(|| bytes.into()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn null_leaves_no_result() {
        let left = |value: Option<u8>| Json(value).into_result(Seal).unwrap();
        assert_eq!(left(None), None);
        assert_eq!(left(Some(7)).unwrap(), "7");
        assert_eq!(Json(()).into_result(Seal).unwrap(), None);
        assert_eq!(().into_result(Seal).unwrap(), None);
    }

    #[test]
    fn bytes_and_text_are_left_as_they_are() {
        assert_eq!("null".into_result(Seal).unwrap().unwrap(), "null");
        assert_eq!(
            vec![0, 255].into_result(Seal).unwrap().unwrap(),
            &[0, 255][..]
        );
        assert_eq!(Bytes::new().into_result(Seal).unwrap(), Some(Bytes::new()));
    }
}
