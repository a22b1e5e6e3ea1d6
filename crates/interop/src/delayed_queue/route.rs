//! The route of the Delayed Queue App: `POST /` with a payload and a due time.

use async_trait::async_trait;
use axum::Router;
use axum::body::Body;
use axum::extract::{MatchedPath, Request};
use axum::http::{HeaderMap, HeaderValue, Response, StatusCode, header};
use axum::middleware::{Next, from_fn};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;
use windlass_api::{Code, EnqueueRequest, Error, Fields, Method, Route, Scope};
use windlass_core::limits::FUTURE_MAX;
use windlass_core::time::as_ms;
use windlass_core::{Clock, Due, JobId, QueueName, Store, SystemClock, Timestamp};
use windlass_server::{ExtraRoute, IdempotencyKey, ProblemDocument};

/// Its row in the table of routes.
static ROUTE: Route = Route::new(
    Method::Post,
    "/",
    Scope::Enqueue,
    "delayed",
    "Schedules a job for a due time; compatible with the Delayed Queue App",
)
.with_request::<DelayedRequest>()
.with_reply::<DelayedReply>();

/// The content type of all replies.
const MEDIA_TYPE: HeaderValue = HeaderValue::from_static("application/json; charset=utf-8");

/// Larger numbers are milliseconds: in seconds this would be the year 5138.
const MS_MIN: f64 = 1e11;

/// The request body; other fields are ignored. Fields are read by name; this type only documents them.
#[derive(Debug, JsonSchema)]
#[expect(dead_code, non_snake_case, reason = "the names are the older system's")]
struct DelayedRequest {
    /// The payload, any JSON. A string is stored as its bytes; other JSON is stored as its exact text.
    payload: Value,
    /// When the job becomes due, as a number or a string: unix seconds, optionally with a fraction,
    /// or unix milliseconds (1e11 and larger). Must be in the future.
    dueTime: Value,
}

/// The reply.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct DelayedReply {
    /// The id of the job.
    job_id: String,
}

/// The route, for `windlass serve`.
#[derive(Debug)]
pub struct DelayedQueueRoute {
    queue: QueueName,
}

impl DelayedQueueRoute {
    /// Creates a route that adds its jobs to this queue.
    pub fn new(queue: QueueName) -> Self {
        Self { queue }
    }
}

#[async_trait]
impl ExtraRoute for DelayedQueueRoute {
    fn route(&self) -> &'static Route {
        &ROUTE
    }

    fn queue(&self) -> &QueueName {
        &self.queue
    }

    /// Schedules a job. An invalid request stores nothing.
    async fn handle(
        &self,
        store: &dyn Store,
        headers: &HeaderMap,
        body: &str,
    ) -> Result<Response<Body>, Error> {
        let mut fields = Fields::parse(body)?;
        let due: Option<Value> = fields.take("dueTime")?;
        // The Delayed Queue App ignores every other field.
        fields.keep("payload");
        let key = IdempotencyKey::from_headers(headers)?;
        let now_ms = SystemClock.now_us() / 1000;
        let due = match (parse_due(due.as_ref(), now_ms), &key) {
            (Ok(due), _) => due,
            // A retry may arrive after its job became due; it still gets the original reply.
            (Err(DueTimeError::Past(error)), Some(key)) => {
                let id = JobId::new(key.id(0))?;
                let job = store.get(&self.queue, &id).await?;
                return job.ok_or(error).and_then(|job| reply(&job.id));
            }
            (Err(DueTimeError::Past(error) | DueTimeError::Invalid(error)), _) => {
                return Err(error);
            }
        };
        let mut enqueue: EnqueueRequest = fields.read()?;
        if let Some(key) = &key {
            key.set_id(&mut enqueue, 0);
        }
        if enqueue.payload.is_none() {
            let help = "send {\"payload\": …, \"dueTime\": …}; the payload can be any JSON";
            return Err(Error::new(Code::Invalid, "missing field payload", help));
        }
        let mut job = enqueue.into_job()?;
        job.due = Due::At(due);
        let enqueued = store.enqueue(&self.queue, vec![job]).await?;
        let first = enqueued.first().ok_or_else(Error::missing_reply)?;
        reply(first.id())
    }

    fn wrap(&self, router: Router) -> Router {
        router.layer(from_fn(add_messages))
    }
}

/// Sends errors of the route, and of unknown routes and methods, with a `message`, as clients of the
/// Delayed Queue App expect.
async fn add_messages(request: Request, next: Next) -> Response<Body> {
    let is_ours = request.uri().path() == ROUTE.path;
    let is_known = request.extensions().get::<MatchedPath>().is_some();
    let mut response = next.run(request).await;
    let is_expected = match response.status() {
        StatusCode::NOT_FOUND => is_ours || !is_known,
        StatusCode::METHOD_NOT_ALLOWED => true,
        _ => is_ours,
    };
    let problem = response.extensions_mut().remove::<ProblemDocument>();
    let Some(mut problem) = problem.filter(|_| is_expected) else {
        return response;
    };
    if is_ours {
        if response.status() == StatusCode::METHOD_NOT_ALLOWED {
            // As in the Delayed Queue App.
            let error = Error::new(Code::NotFound, "not found", "use POST");
            problem = ProblemDocument::new(error, problem.request_id);
            *response.status_mut() = StatusCode::NOT_FOUND;
        }
        response
            .headers_mut()
            .insert(header::CONTENT_TYPE, MEDIA_TYPE);
    }
    problem.message = Some(problem.detail.clone());
    let text = serde_json::to_string(&problem).unwrap_or_default();
    response.headers_mut().remove(header::CONTENT_LENGTH);
    *response.body_mut() = Body::from(text);
    response
}

fn reply(id: &JobId) -> Result<Response<Body>, Error> {
    let job_id = id.to_string();
    let reply = DelayedReply { job_id };
    let text = serde_json::to_string(&reply).map_err(|_| Error::missing_reply())?;
    let mut response = Response::new(Body::from(text));
    response
        .headers_mut()
        .insert(header::CONTENT_TYPE, MEDIA_TYPE);
    Ok(response)
}

/// Why a due time was rejected.
#[derive(Debug)]
enum DueTimeError {
    /// The time is not in the future.
    Past(Error),
    /// The value is not a valid time.
    Invalid(Error),
}

/// Parses a due time. Rounds up to whole milliseconds so that no job is due early.
fn parse_due(due: Option<&Value>, now_ms: u64) -> Result<Timestamp, DueTimeError> {
    let error = |why: &str| {
        let help = "set dueTime to unix seconds in the future, such as \
            {\"payload\":\"hello\",\"dueTime\":1893456000}";
        Error::new(Code::Invalid, format!("invalid due time: {why}"), help)
    };
    let invalid = |why: &str| DueTimeError::Invalid(error(why));
    let number = match due {
        None => return Err(invalid("missing")),
        Some(Value::Number(number)) => number.as_f64(),
        Some(Value::String(text)) => parse_number(text.trim()),
        Some(_) => None,
    };
    let number = number.filter(|number| number.is_finite());
    let number = number.ok_or_else(|| invalid("not a number"))?;
    let ms = if number >= MS_MIN {
        number
    } else {
        number * 1000.0
    };
    #[expect(
        clippy::cast_precision_loss,
        reason = "milliseconds are far below 2^53"
    )]
    let (now, furthest) = (now_ms as f64, (now_ms + as_ms(FUTURE_MAX)) as f64);
    if ms <= now {
        return Err(DueTimeError::Past(error("not in the future")));
    }
    if ms > furthest {
        return Err(invalid("more than 100 years in the future"));
    }
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "the value is between now and 100 years from now"
    )]
    let ms = ms.ceil() as u64;
    Ok(Timestamp::from_ms(ms))
}

/// Parses digits with an optional fraction. Exponents, signs and `inf` are rejected.
fn parse_number(text: &str) -> Option<f64> {
    let is_plain = text.chars().all(|c| c.is_ascii_digit() || c == '.');
    text.parse().ok().filter(|_| is_plain)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const NOW: u64 = 1_700_000_000_000;

    #[test]
    fn a_due_time_is_seconds_and_milliseconds_when_it_is_large() {
        for (due, ms) in [
            (json!(1_700_000_001), NOW + 1000),
            (json!(1_700_000_000.5), NOW + 500),
            (json!("1700000000.25"), NOW + 250),
            (json!(" 1700000001 "), NOW + 1000),
            (json!(1_700_000_000_001_u64), NOW + 1),
            (json!("1700000000001"), NOW + 1),
            (json!(1.700_000_001e9), NOW + 1000),
        ] {
            let read = parse_due(Some(&due), NOW).unwrap();
            assert_eq!(read, Timestamp::from_ms(ms), "{due}");
        }
    }

    #[test]
    fn a_due_time_that_is_not_in_the_future_is_rejected_with_its_reason() {
        for (due, why) in [
            (None, "missing"),
            (Some(json!(null)), "not a number"),
            (Some(json!("soon")), "not a number"),
            (Some(json!("")), "not a number"),
            (Some(json!("NaN")), "not a number"),
            (Some(json!("inf")), "not a number"),
            (Some(json!("1e10")), "not a number"),
            (Some(json!([1_700_000_001])), "not a number"),
            (Some(json!(true)), "not a number"),
            (Some(json!(1_700_000_000)), "not in the future"),
            (Some(json!(-5)), "not in the future"),
            (Some(json!(0)), "not in the future"),
            (Some(json!(99_999_999_999.0)), "100 years"),
            (Some(json!(1e18)), "100 years"),
            (Some(json!(1e300)), "100 years"),
            (Some(json!(u64::MAX)), "100 years"),
        ] {
            let error = match parse_due(due.as_ref(), NOW).unwrap_err() {
                DueTimeError::Past(error) | DueTimeError::Invalid(error) => error,
            };
            assert_eq!(error.code, Code::Invalid);
            assert!(error.message.contains(why), "{due:?} {error:?}");
        }
    }
}
