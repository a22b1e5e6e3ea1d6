//! How the door says no: RFC 9457, with our codes and the statuses of their table.

use std::time::Duration;

use axum::body::Body;
use axum::http::{HeaderValue, Response, StatusCode, header};
use serde::Serialize;
use windlass_api::{Code, Error};
use windlass_core::Error as CoreError;

/// How many seconds a caller should wait who was told to come back, unless there is a reason.
const RETRY_AFTER: u64 = 1;

/// A problem and its status.
#[derive(Debug)]
pub(crate) struct Refusal {
    pub(crate) status: StatusCode,
    pub(crate) problem: Error,
    retry_after: u64,
}

/// A problem as it is sent.
#[derive(Debug, Serialize, schemars::JsonSchema)]
#[schemars(rename = "Error")]
pub(crate) struct ProblemDocument {
    /// The code again, as a URN.
    #[serde(rename = "type")]
    kind: String,
    title: &'static str,
    status: u16,
    /// What happened and why.
    detail: String,
    /// Programs match on this; it never changes.
    code: String,
    /// What to do next.
    help: String,
    request_id: String,
    /// The detail again, for callers of the delayed queue.
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<String>,
}

/// The status of a code; one that this door does not know is a fault.
pub(crate) fn status_of(code: &str) -> StatusCode {
    let status = Code::find(code).and_then(|code| code.status);
    let status = status.and_then(|status| StatusCode::from_u16(status).ok());
    status.unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
}

impl Refusal {
    /// A refusal with a code of the door's own.
    pub(crate) fn new(
        code: &'static str,
        message: impl Into<String>,
        help: impl Into<String>,
    ) -> Self {
        Self::from(Error::new(code, message, help))
    }

    /// Says how long to wait before it is worth trying again.
    pub(crate) fn after(mut self, wait: Duration) -> Self {
        let is_more = wait.subsec_nanos() > 0;
        self.retry_after = (wait.as_secs() + u64::from(is_more)).max(RETRY_AFTER);
        self
    }

    /// The answer. `is_old` is for callers that look for `message`.
    pub(crate) fn response(self, request_id: &str, is_old: bool) -> Response<Body> {
        let message = is_old.then(|| self.problem.message.clone());
        let document = ProblemDocument {
            kind: format!("urn:windlass:problem:{}", self.problem.code),
            title: self.status.canonical_reason().unwrap_or("Error"),
            status: self.status.as_u16(),
            detail: self.problem.message,
            code: self.problem.code.into_owned(),
            help: self.problem.help,
            request_id: request_id.to_owned(),
            message,
        };
        let text = serde_json::to_string(&document).unwrap_or_default();
        let mut response = Response::new(Body::from(text));
        *response.status_mut() = self.status;
        let headers = response.headers_mut();
        let media = if is_old {
            "application/json; charset=utf-8"
        } else {
            "application/problem+json"
        };
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(media));
        match self.status {
            StatusCode::UNAUTHORIZED => {
                let way = HeaderValue::from_static("Bearer realm=\"windlass\"");
                headers.insert(header::WWW_AUTHENTICATE, way);
            }
            StatusCode::SERVICE_UNAVAILABLE | StatusCode::TOO_MANY_REQUESTS => {
                headers.insert(header::RETRY_AFTER, self.retry_after.into());
            }
            _ => {}
        }
        response
    }
}

impl From<Error> for Refusal {
    fn from(problem: Error) -> Self {
        Self {
            status: status_of(&problem.code),
            problem,
            retry_after: RETRY_AFTER,
        }
    }
}

impl From<CoreError> for Refusal {
    fn from(error: CoreError) -> Self {
        Self::from(Error::from(&error))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use windlass_core::ErrorKind;

    #[test]
    fn whoever_has_to_wait_is_told_for_how_long() {
        for (ms, seconds) in [(0, "1"), (1, "1"), (1000, "1"), (1001, "2"), (60_000, "60")] {
            let refusal = Refusal::new("too_many_requests", "why", "help");
            let response = refusal
                .after(Duration::from_millis(ms))
                .response("r", false);
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
            (ErrorKind::StoreReadOnly, 500),
            (ErrorKind::StoreForeign, 500),
            (ErrorKind::StoreDamaged, 500),
            (ErrorKind::StoreNewer, 500),
            (ErrorKind::StoreUnsupported, 500),
            (ErrorKind::Internal, 500),
        ] {
            assert_eq!(status_of(kind.code()), status, "{kind:?}");
            let refusal = Refusal::from(CoreError::new(kind, "what", "help"));
            let response = refusal.response("r-1", false);
            let is_later = response.headers().contains_key(header::RETRY_AFTER);
            assert_eq!(is_later, status == 503, "{kind:?}");
        }
    }
}
