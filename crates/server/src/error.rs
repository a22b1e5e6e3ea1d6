//! Error responses as RFC 9457 problem details, with Windlass error codes.

use std::time::Duration;

use axum::body::Body;
use axum::http::{HeaderValue, Response, StatusCode, header};
use serde::Serialize;
use windlass_api::{Code, Error};
use windlass_core::Error as CoreError;

use crate::metrics::count_store_error;

/// The default `Retry-After` in seconds.
const RETRY_AFTER: u64 = 1;

/// An error with its HTTP status.
#[derive(Debug)]
pub(crate) struct HttpError {
    pub(crate) status: StatusCode,
    pub(crate) inner: Error,
    retry_after: u64,
    /// How long to wait before the error is sent.
    pub(crate) delay: Duration,
}

/// An error as sent to the client: an RFC 9457 problem details object. It is also an extension of the
/// response, so that an [`ExtraRoute`](crate::ExtraRoute) can send it in another form.
#[derive(Debug, Clone, Serialize, schemars::JsonSchema)]
#[schemars(
    rename = "Error",
    description = "An error as sent to the client: an RFC 9457 problem details object."
)]
pub struct ProblemDocument {
    /// The error code as a URN.
    #[serde(rename = "type")]
    kind: String,
    /// The standard reason phrase of the status.
    title: &'static str,
    /// The HTTP status.
    status: u16,
    /// What failed and why.
    pub detail: String,
    /// The stable error code. Match on this in programs.
    code: Code,
    /// What to do next.
    help: String,
    /// The id of the request, also sent as the header `x-request-id`.
    pub request_id: String,
    /// The same text as `detail`. Only on `/` and unknown routes, for clients of the Delayed Queue App.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

/// Returns the HTTP status of an error code (default: 500).
pub(crate) fn status_of(code: Code) -> StatusCode {
    let status = code.status();
    let status = status.and_then(|status| StatusCode::from_u16(status).ok());
    status.unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
}

impl ProblemDocument {
    /// Creates a document with the status of the error code.
    pub fn new(error: Error, request_id: String) -> Self {
        let status = status_of(error.code);
        Self {
            kind: format!("urn:windlass:problem:{}", error.code.as_str()),
            title: status.canonical_reason().unwrap_or("Error"),
            status: status.as_u16(),
            detail: error.message,
            code: error.code,
            help: error.help,
            request_id,
            message: None,
        }
    }
}

impl HttpError {
    /// Creates an error.
    pub(crate) fn new(code: Code, message: impl Into<String>, help: impl Into<String>) -> Self {
        Self::from(Error::new(code, message, help))
    }

    /// Sets `Retry-After`, rounded up to whole seconds.
    pub(crate) fn retry_after(mut self, wait: Duration) -> Self {
        let has_fraction = wait.subsec_nanos() > 0;
        self.retry_after = (wait.as_secs() + u64::from(has_fraction)).max(RETRY_AFTER);
        self
    }

    /// Sets how long to wait before the error is sent.
    pub(crate) fn delay(mut self, delay: Duration) -> Self {
        self.delay = delay;
        self
    }

    /// Builds the response.
    pub(crate) fn response(self, request_id: &str) -> Response<Body> {
        count_store_error(self.inner.code.as_str());
        let document = ProblemDocument::new(self.inner, request_id.to_owned());
        let text = serde_json::to_string(&document).unwrap_or_default();
        let mut response = Response::new(Body::from(text));
        *response.status_mut() = self.status;
        response.extensions_mut().insert(document);
        let headers = response.headers_mut();
        let media_type = HeaderValue::from_static("application/problem+json");
        headers.insert(header::CONTENT_TYPE, media_type);
        match self.status {
            StatusCode::UNAUTHORIZED => {
                let scheme = HeaderValue::from_static("Bearer realm=\"windlass\"");
                headers.insert(header::WWW_AUTHENTICATE, scheme);
            }
            StatusCode::SERVICE_UNAVAILABLE | StatusCode::TOO_MANY_REQUESTS => {
                headers.insert(header::RETRY_AFTER, self.retry_after.into());
            }
            _ => {}
        }
        response
    }
}

impl From<Error> for HttpError {
    fn from(error: Error) -> Self {
        Self {
            status: status_of(error.code),
            inner: error,
            retry_after: RETRY_AFTER,
            delay: Duration::ZERO,
        }
    }
}

impl From<CoreError> for HttpError {
    fn from(error: CoreError) -> Self {
        Self::from(Error::from(&error))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use windlass_core::ErrorKind;

    #[test]
    fn retry_after_is_rounded_up_to_whole_seconds() {
        for (ms, seconds) in [(0, "1"), (1, "1"), (1000, "1"), (1001, "2"), (60_000, "60")] {
            let error = HttpError::new(Code::TooManyRequests, "why", "help");
            let response = error.retry_after(Duration::from_millis(ms)).response("r");
            assert_eq!(response.headers()[header::RETRY_AFTER], seconds, "{ms}");
        }
    }

    #[test]
    fn every_kind_of_error_has_its_status() {
        for (kind, status) in [
            (ErrorKind::Invalid, 400),
            (ErrorKind::NotFound, 404),
            (ErrorKind::Conflict, 409),
            (ErrorKind::StoreFull, 503),
            (ErrorKind::StoreBusy, 503),
            (ErrorKind::StoreUnreachable, 503),
            (ErrorKind::OutcomeUnknown, 503),
            (ErrorKind::Forbidden, 403),
            (ErrorKind::StoreReadOnly, 500),
            (ErrorKind::StoreForeign, 500),
            (ErrorKind::StoreDamaged, 500),
            (ErrorKind::StoreNewer, 500),
            (ErrorKind::StoreOlder, 500),
            (ErrorKind::StoreUnsupported, 500),
            (ErrorKind::Internal, 500),
        ] {
            assert_eq!(status_of(kind.into()), status, "{kind:?}");
            let error = HttpError::from(CoreError::new(kind, "what", "help"));
            let response = error.response("r-1");
            let has_retry_after = response.headers().contains_key(header::RETRY_AFTER);
            assert_eq!(has_retry_after, status == 503, "{kind:?}");
        }
    }
}
