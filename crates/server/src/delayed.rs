//! The delayed queue's own route: `POST /` with a payload and a due time.

use axum::body::Body;
use axum::http::{HeaderValue, Response, header};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;
use windlass_api::{EnqueueRequest, Error, Fields};
use windlass_core::limits::FUTURE_MAX;
use windlass_core::time::as_ms;
use windlass_core::{Clock, Due, JobId, SystemClock, Timestamp};

use crate::error::Refusal;
use crate::idempotency::{self, Key};
use crate::request::{Call, check_reach};
use crate::state::{BODY_BYTES_MAX, Door};

/// From here on a due time is taken for milliseconds: in seconds it were the year 5138.
const MS_FROM: f64 = 1e11;

/// What is asked; read by name, so this is for the document.
#[derive(Debug, JsonSchema)]
#[expect(dead_code, non_snake_case, reason = "the names are the older system's")]
pub(crate) struct DelayedRequest {
    /// Any JSON: a string stands for its bytes, anything else keeps its exact text.
    payload: Value,
    /// Seconds since 1970, with or without a fraction, as a number or in quotes; from 1e11 on
    /// milliseconds. It has to lie ahead.
    dueTime: Value,
}

/// What is answered.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct DelayedReply {
    /// The id of the job.
    job_id: String,
}

/// Puts a job off; nothing is stored where anything is wrong.
pub(crate) async fn answer(door: &Door, mut call: Call) -> Result<Response<Body>, Refusal> {
    check_reach(&call.grant, &door.delayed_queue)?;
    call.no_query()?;
    let text = call.json(BODY_BYTES_MAX).await?;
    let mut fields = Fields::parse(&text)?;
    let due: Option<Value> = fields.take("dueTime")?;
    let key = Key::of(&call.headers)?;
    let now_ms = SystemClock.now_us() / 1000;
    let due = match (due_of(due.as_ref(), now_ms), &key) {
        (Ok(due), _) => due,
        // A request that is repeated when its job is due already is a repeated request all the same.
        (Err(Wrong::Past(refusal)), Some(key)) => {
            let id = JobId::new(key.id(0))?;
            let job = door.store.get(&door.delayed_queue, &id).await?;
            return job.ok_or(refusal).and_then(|job| reply(&job.id));
        }
        (Err(Wrong::Past(refusal) | Wrong::NoTime(refusal)), _) => return Err(refusal),
    };
    if let Some(key) = &key {
        idempotency::name_job(&mut fields, key, 0)?;
    }
    let request: EnqueueRequest = fields.read()?;
    if request.payload.is_none() {
        let help = "send {\"payload\": …, \"dueTime\": …}; the payload may be any JSON";
        return Err(Refusal::new("invalid", "the payload is missing", help));
    }
    if request.delay.is_some() || request.at.is_some() {
        let help = "say when with dueTime alone";
        return Err(Refusal::new("invalid", "the due time is given twice", help));
    }
    let mut job = request.into_job()?;
    job.due = Due::At(due);
    let answers = door.store.enqueue(&door.delayed_queue, vec![job]).await?;
    let first = answers.first().ok_or_else(Error::missing_reply)?;
    reply(first.id())
}

fn reply(id: &JobId) -> Result<Response<Body>, Refusal> {
    let job_id = id.to_string();
    let reply = DelayedReply { job_id };
    let text = serde_json::to_string(&reply).map_err(|_| Error::missing_reply())?;
    let mut response = Response::new(Body::from(text));
    let media = HeaderValue::from_static("application/json; charset=utf-8");
    response.headers_mut().insert(header::CONTENT_TYPE, media);
    Ok(response)
}

/// What is wrong with a due time.
#[derive(Debug)]
enum Wrong {
    /// It is a time, and does not lie ahead.
    Past(Refusal),
    /// It is no time that can be meant.
    NoTime(Refusal),
}

/// The moment that is meant. It is rounded up: nothing falls due early.
fn due_of(due: Option<&Value>, now_ms: u64) -> Result<Timestamp, Wrong> {
    let refusal = |why: &str| {
        let help = "send dueTime in seconds since 1970, ahead of now, for example \
            {\"payload\":\"hello\",\"dueTime\":1893456000}";
        Refusal::new("invalid", format!("invalid due time: {why}"), help)
    };
    let bad = |why: &str| Wrong::NoTime(refusal(why));
    let number = match due {
        None => return Err(bad("it is missing")),
        Some(Value::Number(number)) => number.as_f64(),
        Some(Value::String(text)) => number_of(text.trim()),
        Some(_) => None,
    };
    let number = number.filter(|number| number.is_finite());
    let number = number.ok_or_else(|| bad("it is not a number"))?;
    let ms = if number >= MS_FROM {
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
        return Err(Wrong::Past(refusal("it does not lie ahead")));
    }
    if ms > furthest {
        return Err(bad("it lies more than a hundred years ahead"));
    }
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "it lies between now and a hundred years from now"
    )]
    let ms = ms.ceil() as u64;
    Ok(Timestamp::from_ms(ms))
}

/// A number in quotes: digits and a fraction, nothing cleverer.
fn number_of(text: &str) -> Option<f64> {
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
            let read = due_of(Some(&due), NOW).unwrap();
            assert_eq!(read, Timestamp::from_ms(ms), "{due}");
        }
    }

    #[test]
    fn what_is_no_time_ahead_is_refused_with_its_reason() {
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
            (Some(json!(1_700_000_000)), "ahead"),
            (Some(json!(-5)), "ahead"),
            (Some(json!(0)), "ahead"),
            (Some(json!(99_999_999_999.0)), "a hundred years"),
            (Some(json!(1e18)), "a hundred years"),
            (Some(json!(1e300)), "a hundred years"),
            (Some(json!(u64::MAX)), "a hundred years"),
        ] {
            let refusal = match due_of(due.as_ref(), NOW).unwrap_err() {
                Wrong::Past(refusal) | Wrong::NoTime(refusal) => refusal,
            };
            assert_eq!(refusal.status, 400);
            assert!(refusal.problem.message.contains(why), "{due:?} {refusal:?}");
        }
    }
}
