//! A request as handlers see it: path, query, body and caller.

use std::collections::BTreeMap;
use std::time::Duration;

use axum::body::Body;
use axum::extract::RawPathParams;
use axum::http::{HeaderMap, header};
use bytes::{Bytes, BytesMut};
use futures_util::StreamExt;
use windlass_api::request::{
    ApplySchedules, Enqueue, EnqueueAll, QueueRequest, Queues, StoreRequest, Workers,
};
use windlass_api::{Code, Fields, Request, Route, depth};
use windlass_core::{JobId, QueueName};

use crate::budget::Reserved;
use crate::caller::Caller;
use crate::error::HttpError;
use crate::guard::Peer;
use crate::scope::Grant;
use crate::state::{BATCH_BYTES_MAX, BODY_BYTES_MAX};

/// The query parameters that are numbers.
const NUMERIC: [&str; 7] = [
    "limit",
    "minutes",
    "priority",
    "max_attempts",
    "max",
    "count",
    "min_attempt",
];

/// The query parameters that are true or false.
const BOOLEAN: [&str; 2] = ["full", "schedules"];

/// The most query parameters of a request; no route accepts as many.
const QUERY_FIELDS_MAX: usize = 64;

/// The most bytes that are reserved ahead for a body that arrives. A small body, such as that of a
/// claim that waits, reserves only what it needs.
const RESERVE_AHEAD_MAX: usize = 64 * 1024;

/// How many copies of a body exist while it is parsed: its fields, and the jobs made of them.
const PARSED_COPIES: usize = 2;

/// A request to one of the routes.
#[derive(Debug)]
pub(crate) struct ApiRequest {
    pub(crate) route: &'static Route,
    pub(crate) path: Vec<(String, String)>,
    pub(crate) query: String,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Body,
    pub(crate) caller: Caller,
    /// The id of the request.
    pub(crate) id: String,
    /// The address of the client.
    pub(crate) peer: Option<Peer>,
    /// Memory for the body, kept until the request was handled.
    pub(crate) reserved: Vec<Reserved>,
    /// How long the body may take to arrive.
    pub(crate) body_timeout: Duration,
}

/// Returns the decoded path parameters.
pub(crate) fn path_parameters(params: &RawPathParams) -> Vec<(String, String)> {
    let pairs = params.iter();
    pairs
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect()
}

impl ApiRequest {
    pub(crate) fn path_parameter(&self, name: &str) -> Option<&str> {
        let found = self.path.iter().find(|(parameter, _)| parameter == name);
        found.map(|(_, value)| value.as_str())
    }

    /// Returns the path as requested: that of the route with its parameters, encoded.
    pub(crate) fn url_path(&self) -> String {
        let mut path = self.route.path.to_owned();
        for (name, value) in &self.path {
            path = path.replace(&format!("{{{name}}}"), &encode(value));
        }
        path
    }

    /// Returns the queue in the path.
    pub(crate) fn queue(&self) -> Result<QueueName, HttpError> {
        let name = self.path_parameter("queue").unwrap_or_default();
        Ok(QueueName::new(name)?)
    }

    /// Returns the job id in the path.
    pub(crate) fn job_id(&self) -> Result<JobId, HttpError> {
        let id = self.path_parameter("id").unwrap_or_default();
        Ok(JobId::new(id)?)
    }

    /// Rejects a queue the caller may not access.
    pub(crate) fn check_queue(&self) -> Result<(), HttpError> {
        if self.path_parameter("queue").is_none() {
            return Ok(());
        }
        let queue = self.queue()?;
        check_queue_access(&self.caller.grant, &queue)
    }

    /// Parses the op of the route. An enqueue may also send raw bytes, with the other fields in the query.
    pub(crate) async fn parse(&mut self) -> Result<(Option<QueueName>, Request), HttpError> {
        if self.route.op == Enqueue::OP && self.media_type() == "application/octet-stream" {
            let job: Enqueue = self.query_fields()?.read()?;
            let payload_bytes = Some(self.bytes(BODY_BYTES_MAX).await?);
            let job = Enqueue {
                payload_bytes,
                ..job
            };
            return Ok((Some(self.queue()?), Request::Enqueue(job)));
        }
        let text;
        let mut fields = if self.route.method.has_body() {
            self.no_query()?;
            let bytes_max = if [EnqueueAll::OP, ApplySchedules::OP].contains(&self.route.op) {
                BATCH_BYTES_MAX
            } else {
                BODY_BYTES_MAX
            };
            text = self.json(bytes_max).await?;
            if text.is_empty() {
                Fields::default()
            } else {
                Fields::parse(&text)?
            }
        } else if [Queues::OP, Workers::OP].contains(&self.route.op) {
            // They have no fields; the query has always been ignored.
            Fields::default()
        } else {
            self.query_fields()?
        };
        for (name, value) in &self.path {
            fields.put(name, value)?;
        }
        Ok(Request::parse(self.route.op, fields)?)
    }

    /// Rejects a query on routes that take their fields in the body. The error does not repeat it,
    /// since it may contain a misplaced secret.
    pub(crate) fn no_query(&self) -> Result<(), HttpError> {
        if self.query.is_empty() {
            return Ok(());
        }
        let help = "send the fields in the body, as JSON";
        Err(HttpError::new(
            Code::Invalid,
            "this route accepts no query parameters",
            help,
        ))
    }

    /// Returns the parameters of the query. Those named `header.NAME` become the field `headers`.
    pub(crate) fn query_fields(&self) -> Result<Fields<'static>, HttpError> {
        let mut fields = Fields::default();
        let mut headers = BTreeMap::new();
        for (count, (name, text)) in form_urlencoded::parse(self.query.as_bytes()).enumerate() {
            if count == QUERY_FIELDS_MAX {
                let why = "too many query parameters";
                let help = format!("send at most {QUERY_FIELDS_MAX}");
                return Err(HttpError::new(Code::Invalid, why, help));
            }
            if let Some(header) = name.strip_prefix("header.") {
                if headers
                    .insert(header.to_owned(), text.into_owned())
                    .is_some()
                {
                    let why = format!("duplicate query parameter {name}");
                    return Err(HttpError::new(
                        Code::Invalid,
                        why,
                        "send each parameter once",
                    ));
                }
            } else if NUMERIC.contains(&name.as_ref()) {
                let number = text.parse::<u64>().map_err(|_| {
                    let why = format!("invalid query parameter {name}: expected a whole number");
                    HttpError::new(Code::Invalid, why, format!("use a value such as {name}=10"))
                })?;
                fields.put(&name, &number)?;
            } else if BOOLEAN.contains(&name.as_ref()) {
                let is_set = text.parse::<bool>().map_err(|_| {
                    let why = format!("invalid query parameter {name}: expected true or false");
                    HttpError::new(Code::Invalid, why, format!("use {name}=true, or omit it"))
                })?;
                fields.put(&name, &is_set)?;
            } else {
                fields.put(&name, &text)?;
            }
        }
        if !headers.is_empty() {
            fields.put("headers", &headers)?;
        }
        Ok(fields)
    }

    /// Returns the media type of the body in lower case, without parameters.
    pub(crate) fn media_type(&self) -> String {
        let text = self.headers.get(header::CONTENT_TYPE);
        let text = text.and_then(|value| value.to_str().ok()).unwrap_or("");
        let first = text.split(';').next().unwrap_or_default();
        first.trim().to_ascii_lowercase()
    }

    /// Reads the body as JSON text. Returns an empty string if there is no body.
    ///
    /// The media type is required because a form on another site cannot set it.
    pub(crate) async fn json(&mut self, bytes_max: usize) -> Result<String, HttpError> {
        let media_type = self.media_type();
        let bytes = self.bytes(bytes_max).await?;
        if bytes.is_empty() {
            return Ok(String::new());
        }
        if media_type != "application/json" {
            let why = "the content type is not JSON";
            let help = "set the header content-type: application/json";
            return Err(HttpError::new(Code::WrongMediaType, why, help));
        }
        let text = String::from_utf8(bytes.into()).map_err(|_| {
            let help = "send binary payloads as payload_base64, or as application/octet-stream";
            HttpError::new(Code::Invalid, "the body is not UTF-8", help)
        })?;
        depth::check(&text)?;
        Ok(text)
    }

    /// Reads the body as bytes.
    pub(crate) async fn bytes(&mut self, bytes_max: usize) -> Result<Bytes, HttpError> {
        let too_large = |bytes: &str| {
            let why = format!("body too large: {bytes} bytes; maximum {bytes_max}");
            let help = "split the request, or store large data elsewhere";
            HttpError::new(Code::TooLarge, why, help)
        };
        let length = self.headers.get(header::CONTENT_LENGTH);
        let length = length.and_then(|value| value.to_str().ok()?.parse::<usize>().ok());
        if let Some(length) = length.filter(|length| *length > bytes_max) {
            return Err(too_large(&length.to_string()));
        }
        let mut stream = std::mem::take(&mut self.body).into_data_stream();
        let mut bytes = BytesMut::new();
        let (limiter, reserved) = (&self.caller.limiter, &mut self.reserved);
        let mut reserved_bytes = 0;
        let read = async {
            while let Some(chunk) = stream.next().await {
                let chunk = chunk.map_err(|_| incomplete())?;
                if bytes.len() + chunk.len() > bytes_max {
                    return Err(too_large(&format!("more than {bytes_max}")));
                }
                // As it arrives: a client that only announces a large body reserves nothing.
                let missing = (bytes.len() + chunk.len()).saturating_sub(reserved_bytes);
                if missing > 0 {
                    let more = missing.max(reserved_bytes.min(RESERVE_AHEAD_MAX));
                    reserved.push(limiter.reserve(more)?);
                    reserved_bytes += more;
                }
                bytes.extend_from_slice(&chunk);
            }
            reserved.push(limiter.reserve(bytes.len() * PARSED_COPIES)?);
            Ok(())
        };
        match tokio::time::timeout(self.body_timeout, read).await {
            Ok(done) => done?,
            Err(_) => return Err(too_slow(self.body_timeout)),
        }
        Ok(bytes.freeze())
    }
}

/// Encodes text as one part of a path.
pub(crate) fn encode(text: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~:".contains(&byte);
    let part = |byte: u8| match byte {
        byte if is_plain(byte) => char::from(byte).to_string(),
        byte => format!("%{byte:02X}"),
    };
    text.bytes().map(part).collect()
}

/// Rejects a queue the caller may not access.
pub(crate) fn check_queue_access(grant: &Grant, queue: &QueueName) -> Result<(), HttpError> {
    if grant.allows_queue(queue) {
        return Ok(());
    }
    let why = format!("the token does not allow the queue {queue}");
    let help = "use a token with a queue pattern that matches it";
    Err(HttpError::new(Code::Forbidden, why, help))
}

/// The error for a body that ended early.
pub(crate) fn incomplete() -> HttpError {
    let help = "send the request again";
    HttpError::new(
        Code::Invalid,
        "cannot read the body: it is incomplete",
        help,
    )
}

/// The error for a body that took too long.
pub(crate) fn too_slow(timeout: Duration) -> HttpError {
    let why = format!("the body did not arrive within {timeout:?}");
    HttpError::new(Code::TooSlow, why, "send smaller requests")
}

#[cfg(test)]
mod tests {
    use futures_util::stream;

    use super::*;
    use crate::caller::Limits;

    fn request(body: Body) -> ApiRequest {
        ApiRequest {
            id: "1".to_owned(),
            route: &Request::ROUTES[0],
            path: Vec::new(),
            query: String::new(),
            headers: HeaderMap::new(),
            body,
            caller: Caller::new(Grant::all(), Limits::of(None, 0)),
            peer: None,
            reserved: Vec::new(),
            body_timeout: Duration::from_secs(30),
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_body_that_does_not_end_times_out() {
        let drip = stream::unfold((), |()| async {
            tokio::time::sleep(Duration::from_secs(1)).await;
            Some((Ok::<_, std::convert::Infallible>("x"), ()))
        });
        let error = request(Body::from_stream(drip))
            .bytes(1000)
            .await
            .unwrap_err();
        assert_eq!(
            (error.status.as_u16(), error.inner.code),
            (408, Code::TooSlow)
        );
    }

    #[tokio::test]
    async fn a_body_of_unknown_length_is_bounded_as_well() {
        let endless = stream::repeat_with(|| Ok::<_, std::convert::Infallible>("0123456789"));
        let error = request(Body::from_stream(endless))
            .bytes(1000)
            .await
            .unwrap_err();
        assert_eq!(error.status.as_u16(), 413);
    }
}
