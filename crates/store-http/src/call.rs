//! Calls: an op becomes a request to its route, and the response becomes its reply or an error.

use std::fmt::Write;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Incoming;
use hyper::header::{AUTHORIZATION, CONTENT_TYPE, HOST};
use hyper::{Request, Response, StatusCode};
use serde::Deserialize;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use tokio::time::timeout;
use windlass_api::request::{QueueRequest, StoreRequest};
use windlass_api::{Code, Error as ApiError, Method, Request as Op, Route};
use windlass_core::{Error, ErrorKind, QueueName, Result};

use crate::address::{BearerToken, HttpAddress};
use crate::connection::{Connections, Sender};

/// How long a reply may take, in addition to the time that the request itself waits.
const REPLY_TIMEOUT: Duration = Duration::from_secs(30);

/// The largest reply: more than any op returns.
const REPLY_BYTES_MAX: usize = 64 * 1024 * 1024;

/// The largest problem document that is read.
const PROBLEM_BYTES_MAX: usize = 64 * 1024;

/// Why a call has no reply.
#[derive(Debug)]
pub(crate) enum Failed {
    /// The server refused it.
    Refused(ApiError),
    /// The server could not be asked, or its response could not be used.
    Broken(Error),
}

impl From<Error> for Failed {
    fn from(error: Error) -> Self {
        Self::Broken(error)
    }
}

impl From<Failed> for Error {
    fn from(failed: Failed) -> Self {
        match failed {
            Failed::Broken(error) => error,
            Failed::Refused(ApiError {
                code,
                message,
                help,
                ..
            }) => {
                let message = match code {
                    Code::Unauthorized | Code::Forbidden => {
                        format!("the server refuses: {message}")
                    }
                    _ => message,
                };
                let help = match code {
                    Code::Unauthorized => {
                        "set the token of the server in WINDLASS_HTTP_TOKEN, or name its file with \
                         ?token_file=FILE in the store URL"
                            .to_owned()
                    }
                    _ => help,
                };
                Self::new(code.into(), message, help)
            }
        }
    }
}

/// The client of one server.
#[derive(Debug)]
pub(crate) struct Client {
    pub(crate) address: HttpAddress,
    token: Option<BearerToken>,
    connections: Connections,
}

/// A request before it is sent.
#[derive(Debug, Clone)]
struct Outgoing {
    method: Method,
    target: String,
    body: Bytes,
}

impl Client {
    pub(crate) fn new(address: HttpAddress, token: Option<BearerToken>) -> Result<Self> {
        address.check_token(token.as_ref())?;
        Ok(Self {
            connections: Connections::new(address.clone())?,
            address,
            token,
        })
    }

    /// Executes an op on one queue. `wait` is how long the request itself waits.
    pub(crate) async fn queue<R: QueueRequest>(
        &self,
        queue: &QueueName,
        request: R,
        wait: Duration,
    ) -> Result<R::Reply, Failed> {
        self.call(R::OP, Some(queue), &request, wait).await
    }

    /// Executes an op on the store.
    pub(crate) async fn store<R: StoreRequest>(&self, request: R) -> Result<R::Reply, Failed> {
        self.call(R::OP, None, &request, Duration::ZERO).await
    }

    async fn call<R: DeserializeOwned>(
        &self,
        op: &str,
        queue: Option<&QueueName>,
        request: &impl Serialize,
        wait: Duration,
    ) -> Result<R, Failed> {
        let outgoing = outgoing(op, queue, request)?;
        let is_read = outgoing.method == Method::Get;
        let exchange = self.exchange(outgoing, is_read);
        let (status, body) = timeout(wait + REPLY_TIMEOUT, exchange)
            .await
            .unwrap_or_else(|_| Err(self.lost(is_read, "no reply in time")))?;
        if status.is_success() {
            return serde_json::from_slice(&body).map_err(|_| self.foreign(status).into());
        }
        Err(self.refusal(status, &body, is_read))
    }

    /// Sends a request and reads the response. Repeats it on a new connection if it was not sent, or
    /// if it only reads.
    async fn exchange(&self, outgoing: Outgoing, is_read: bool) -> Result<(StatusCode, Bytes)> {
        let (mut sender, was_used) = self.connections.get().await?;
        let response = match self.send(&mut sender, &outgoing).await {
            Ok(response) => response,
            // The server closed the connection while it was not used.
            Err(Unanswered { was_sent }) if was_used && (is_read || !was_sent) => {
                sender = self.connections.connect().await?;
                let again = self.send(&mut sender, &outgoing).await;
                again.map_err(|unanswered| self.unanswered(unanswered, is_read))?
            }
            Err(unanswered) => return Err(self.unanswered(unanswered, is_read)),
        };
        let status = response.status();
        let body = self.read(response, REPLY_BYTES_MAX, is_read).await?;
        self.connections.keep(sender);
        Ok((status, body))
    }

    async fn send(
        &self,
        sender: &mut Sender,
        outgoing: &Outgoing,
    ) -> Result<Response<Incoming>, Unanswered> {
        let unsent = Unanswered { was_sent: false };
        if sender.ready().await.is_err() {
            return Err(unsent);
        }
        let request = self.request(outgoing).map_err(|_| unsent)?;
        let sent = sender.try_send_request(request).await;
        sent.map_err(|mut error| Unanswered {
            was_sent: error.take_message().is_none(),
        })
    }

    fn request(&self, outgoing: &Outgoing) -> Result<Request<Full<Bytes>>, hyper::http::Error> {
        let mut request = Request::builder()
            .method(outgoing.method.as_str())
            .uri(&outgoing.target)
            .header(HOST, self.address.authority());
        if let Some(token) = &self.token {
            request = request.header(AUTHORIZATION, token.header());
        }
        if !outgoing.body.is_empty() {
            request = request.header(CONTENT_TYPE, "application/json");
        }
        request.body(Full::new(outgoing.body.clone()))
    }

    async fn read(
        &self,
        response: Response<Incoming>,
        bytes_max: usize,
        is_read: bool,
    ) -> Result<Bytes> {
        let body = Limited::new(response.into_body(), bytes_max)
            .collect()
            .await;
        let body = body.map_err(|error| {
            if error.is::<http_body_util::LengthLimitError>() {
                let why = format!("the reply has more than {bytes_max} bytes");
                return self.lost(is_read, &why);
            }
            self.lost(is_read, "the connection broke in the reply")
        })?;
        Ok(body.to_bytes())
    }

    /// Opens a stream of events. Returns `None` if the server refuses it.
    pub(crate) async fn events(
        &self,
        queue: Option<&QueueName>,
    ) -> Result<Option<(Sender, Incoming)>> {
        let query = queue.map_or(String::new(), |queue| {
            format!("?queue={}", encode(queue.as_str()))
        });
        let outgoing = Outgoing {
            method: Method::Get,
            target: format!("/v1/events{query}"),
            body: Bytes::new(),
        };
        let opening = async {
            let mut sender = self.connections.connect().await?;
            let response = self.send(&mut sender, &outgoing).await;
            let response = response.map_err(|unanswered| self.unanswered(unanswered, true))?;
            let is_open = response.status() == StatusCode::OK;
            Ok(is_open.then(|| (sender, response.into_body())))
        };
        let opened = timeout(REPLY_TIMEOUT, opening).await;
        opened.unwrap_or_else(|_| Err(self.lost(true, "no reply in time")))
    }

    fn unanswered(&self, unanswered: Unanswered, is_read: bool) -> Error {
        self.lost(is_read || !unanswered.was_sent, "the connection broke")
    }

    /// The error for a call without a usable reply. Its outcome is known only if it changes nothing.
    fn lost(&self, is_harmless: bool, why: &str) -> Error {
        let address = &self.address;
        if is_harmless {
            let help = if address.is_tls {
                "check that the server is running, and try again"
            } else {
                "check that the server is running, and try again; if this port uses TLS, write https://"
            };
            let what = format!("no reply from {address}: {why}");
            return Error::new(ErrorKind::StoreUnreachable, what, help);
        }
        let what = format!(
            "no reply from {address}: {why}; the request may or may not have been executed"
        );
        let help = "repeat it with the same id or token, which is safe";
        Error::new(ErrorKind::OutcomeUnknown, what, help)
    }

    /// The error for a response that no Windlass server sends.
    fn foreign(&self, status: StatusCode) -> Error {
        let what = format!(
            "{} does not answer like a Windlass server (HTTP status {status})",
            self.address
        );
        let help = "check the address; start a server with `windlass serve`";
        Error::new(ErrorKind::StoreForeign, what, help)
    }

    fn refusal(&self, status: StatusCode, body: &[u8], is_read: bool) -> Failed {
        #[derive(Deserialize)]
        struct Problem {
            code: String,
            detail: String,
            help: String,
        }
        let body = body.get(..PROBLEM_BYTES_MAX).unwrap_or(body);
        let problem = serde_json::from_slice::<Problem>(body).ok();
        let code = problem.as_ref().and_then(|it| Code::from_text(&it.code));
        if let (Some(problem), Some(code)) = (problem, code) {
            return Failed::Refused(ApiError::new(code, problem.detail, problem.help));
        }
        Failed::Broken(match status {
            // A proxy whose server did not answer.
            StatusCode::BAD_GATEWAY | StatusCode::GATEWAY_TIMEOUT => {
                self.lost(is_read, "a proxy reports that the server does not answer")
            }
            StatusCode::SERVICE_UNAVAILABLE => {
                self.lost(true, "the server or a proxy accepts no connections")
            }
            status => self.foreign(status),
        })
    }
}

/// A request without a response.
#[derive(Debug, Clone, Copy)]
struct Unanswered {
    was_sent: bool,
}

/// Builds the request of an op: path parameters, then the query or the body.
fn outgoing(op: &str, queue: Option<&QueueName>, request: &impl Serialize) -> Result<Outgoing> {
    let unusable = |why: String| {
        let help = "this is a bug in Windlass; please report it";
        Error::new(
            ErrorKind::Internal,
            format!("cannot send {op}: {why}"),
            help,
        )
    };
    let route = Op::ROUTES.iter().find(|route| route.op == op);
    let route = route.ok_or_else(|| unusable("it has no route".to_owned()))?;
    let is_plain = route.method.has_body() && route.path_fields().all(|name| name == "queue");
    if is_plain {
        // Most requests, and all large ones: serialized once.
        let body = serde_json::to_vec(request).map_err(|error| unusable(error.to_string()))?;
        return Ok(Outgoing {
            method: route.method,
            target: fill(route, queue, &mut Map::new()),
            body: body.into(),
        });
    }
    let fields = serde_json::to_value(request).map_err(|error| unusable(error.to_string()))?;
    let Value::Object(mut fields) = fields else {
        return Err(unusable("it is not an object".to_owned()));
    };
    fields.retain(|_, value| !value.is_null());
    let mut target = fill(route, queue, &mut fields);
    let mut body = Bytes::new();
    if route.method.has_body() {
        body = Value::Object(fields).to_string().into();
    } else {
        for (at, (name, value)) in fields.iter().enumerate() {
            let value = value
                .as_str()
                .map_or_else(|| value.to_string(), str::to_owned);
            let mark = if at == 0 { '?' } else { '&' };
            // Writing to a String cannot fail.
            let _ = write!(target, "{mark}{name}={}", encode(&value));
        }
    }
    Ok(Outgoing {
        method: route.method,
        target,
        body,
    })
}

/// Returns the path of a route with its parameters, which are removed from the fields.
fn fill(route: &Route, queue: Option<&QueueName>, fields: &mut Map<String, Value>) -> String {
    let mut path = route.path.to_owned();
    for name in route.path_fields() {
        let value = if let ("queue", Some(queue)) = (name, queue) {
            encode(queue.as_str())
        } else {
            let value = fields.remove(name);
            encode(value.as_ref().and_then(Value::as_str).unwrap_or_default())
        };
        path = path.replace(&format!("{{{name}}}"), &value);
    }
    path
}

/// Percent-encodes a part of a path or of a query.
fn encode(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-_".contains(&byte) {
            encoded.push(char::from(byte));
        } else {
            // Writing to a String cannot fail. Dots are encoded so that no part is `..`.
            let _ = write!(encoded, "%{byte:02X}");
        }
    }
    encoded
}

#[cfg(test)]
mod tests {
    use windlass_api::request::{Accept, List, Queues, Stats};

    use super::*;

    #[test]
    fn fields_go_into_the_path_the_query_or_the_body() {
        let queue = QueueName::new("a.b").unwrap();
        let accept = Accept {
            id: "x/../y ä".to_owned(),
            token: "1-00000001".to_owned(),
            lease: None,
        };
        let sent = outgoing(Accept::OP, Some(&queue), &accept).unwrap();
        assert_eq!(
            sent.target,
            "/v1/queues/a%2Eb/jobs/x%2F%2E%2E%2Fy%20%C3%A4/accept"
        );
        assert_eq!(sent.body, r#"{"token":"1-00000001"}"#);

        let list = List {
            kind: Some("a&b".to_owned()),
            limit: Some(7),
            full: Some(true),
            ..List::default()
        };
        let sent = outgoing(List::OP, Some(&queue), &list).unwrap();
        assert_eq!(
            sent.target,
            "/v1/queues/a%2Eb/jobs?full=true&kind=a%26b&limit=7"
        );
        let sent = outgoing(Queues::OP, None, &Queues::default()).unwrap();
        assert_eq!(sent.target, "/v1/queues");
        let sent = outgoing(Stats::OP, Some(&queue), &Stats::default()).unwrap();
        assert_eq!(sent.target, "/v1/queues/a%2Eb");
    }
}
