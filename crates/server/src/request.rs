//! One request as the ways to answer it see it: path, query, body, and who asks.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::RawPathParams;
use axum::http::{HeaderMap, header};
use bytes::{Bytes, BytesMut};
use futures_util::StreamExt;
use serde_json::{Map, Value};
use windlass_api::{Fields, depth};
use windlass_core::{JobId, QueueName};

use crate::caller::Meter;
use crate::error::Refusal;
use crate::scope::Grant;
use crate::table::Route;

/// The fields that are numbers wherever a query has them.
const NUMBERS: [&str; 4] = ["limit", "priority", "max_attempts", "max"];

/// More than any route takes.
const QUERY_FIELDS_MAX: usize = 64;

/// A request on its way.
#[derive(Debug)]
pub(crate) struct Call {
    pub(crate) route: &'static Route,
    pub(crate) path: Vec<(String, String)>,
    pub(crate) query: String,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Body,
    pub(crate) grant: Grant,
    pub(crate) meter: Arc<Meter>,
    /// How long the body may take.
    pub(crate) body_wait: Duration,
}

/// The parts of a path, decoded.
pub(crate) fn path_of(params: &RawPathParams) -> Vec<(String, String)> {
    let pairs = params.iter();
    pairs
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect()
}

impl Call {
    fn part(&self, name: &str) -> Option<&str> {
        let found = self.path.iter().find(|(part, _)| part == name);
        found.map(|(_, value)| value.as_str())
    }

    /// The queue of the path.
    pub(crate) fn queue(&self) -> Result<QueueName, Refusal> {
        Ok(QueueName::new(self.part("queue").unwrap_or_default())?)
    }

    /// The job of the path.
    pub(crate) fn id(&self) -> Result<JobId, Refusal> {
        Ok(JobId::new(self.part("id").unwrap_or_default())?)
    }

    /// The worker of the path.
    pub(crate) fn worker(&self) -> &str {
        self.part("worker").unwrap_or_default()
    }

    /// Refuses a queue that the caller may not touch.
    pub(crate) fn check_queue(&self) -> Result<(), Refusal> {
        if self.part("queue").is_none() {
            return Ok(());
        }
        let queue = self.queue()?;
        check_reach(&self.grant, &queue)
    }

    /// All fields of a verb: those of the path beside those of the body or the query.
    pub(crate) async fn fields(&mut self, bytes_max: usize) -> Result<Fields, Refusal> {
        let mut fields = if self.route.method.has_body() {
            self.no_query()?;
            let text = self.json(bytes_max).await?;
            if text.is_empty() {
                Fields::default()
            } else {
                Fields::parse(&text)?
            }
        } else {
            Fields::parse(&Value::Object(self.query_fields()?).to_string())?
        };
        self.put_path(&mut fields)?;
        Ok(fields)
    }

    /// Adds the fields of the path.
    pub(crate) fn put_path(&self, fields: &mut Fields) -> Result<(), Refusal> {
        for (name, value) in &self.path {
            fields.put(name, value)?;
        }
        Ok(())
    }

    /// Refuses a query where fields go into the body; a misplaced secret is not looked at.
    pub(crate) fn no_query(&self) -> Result<(), Refusal> {
        if self.query.is_empty() {
            return Ok(());
        }
        let help = "put the fields into the body, as JSON";
        Err(Refusal::new(
            "invalid",
            "this route takes nothing in the query",
            help,
        ))
    }

    /// The query as an object.
    pub(crate) fn query_fields(&self) -> Result<Map<String, Value>, Refusal> {
        let mut fields = Map::new();
        for (name, text) in form_urlencoded::parse(self.query.as_bytes()) {
            let value = if NUMBERS.contains(&name.as_ref()) {
                let number = text.parse::<u64>().map_err(|_| {
                    let why = format!("{name} in the query is not a whole number");
                    Refusal::new("invalid", why, format!("write it like {name}=10"))
                })?;
                Value::from(number)
            } else {
                Value::from(text.into_owned())
            };
            let is_new = fields.insert(name.into_owned(), value).is_none();
            if !is_new || fields.len() > QUERY_FIELDS_MAX {
                let why = "the query says a thing twice, or too many things";
                return Err(Refusal::new("invalid", why, "give each field once"));
            }
        }
        Ok(fields)
    }

    /// The media type, without what follows it, in lower case.
    pub(crate) fn media_type(&self) -> String {
        let text = self.headers.get(header::CONTENT_TYPE);
        let text = text.and_then(|value| value.to_str().ok()).unwrap_or("");
        let first = text.split(';').next().unwrap_or_default();
        first.trim().to_ascii_lowercase()
    }

    /// The body as JSON text; empty where there is none.
    ///
    /// The media type is asked for: a form of another site cannot set it.
    pub(crate) async fn json(&mut self, bytes_max: usize) -> Result<String, Refusal> {
        let media = self.media_type();
        let bytes = self.bytes(bytes_max).await?;
        if bytes.is_empty() {
            return Ok(String::new());
        }
        if media != "application/json" {
            let why = "the body is not said to be JSON";
            let help = "send it with the header content-type: application/json";
            return Err(Refusal::new("wrong_media_type", why, help));
        }
        let text = String::from_utf8(bytes.into()).map_err(|_| {
            let help = "send bytes as payload_base64, or as application/octet-stream";
            Refusal::new("invalid", "the body is not UTF-8", help)
        })?;
        depth::check(&text)?;
        Ok(text)
    }

    /// The body as bytes.
    pub(crate) async fn bytes(&mut self, bytes_max: usize) -> Result<Bytes, Refusal> {
        let too_large = || {
            let why = format!("the body is too large, the limit is {bytes_max} bytes");
            let help = "send less at once, or keep large data elsewhere";
            Refusal::new("too_large", why, help)
        };
        let said = self.headers.get(header::CONTENT_LENGTH);
        let said = said.and_then(|value| value.to_str().ok()?.parse::<usize>().ok());
        if said.is_some_and(|said| said > bytes_max) {
            return Err(too_large());
        }
        let mut stream = std::mem::take(&mut self.body).into_data_stream();
        let mut gathered = BytesMut::new();
        let all = async {
            while let Some(chunk) = stream.next().await {
                let chunk = chunk.map_err(|_| broken())?;
                if gathered.len() + chunk.len() > bytes_max {
                    return Err(too_large());
                }
                gathered.extend_from_slice(&chunk);
            }
            Ok(())
        };
        match tokio::time::timeout(self.body_wait, all).await {
            Ok(done) => done?,
            Err(_) => return Err(too_slow(self.body_wait)),
        }
        Ok(gathered.freeze())
    }
}

/// Refuses a queue that the caller may not touch.
pub(crate) fn check_reach(grant: &Grant, queue: &QueueName) -> Result<(), Refusal> {
    if grant.reaches(queue) {
        return Ok(());
    }
    let why = format!("the token is not good for the queue {queue}");
    let help = "use a token whose pattern matches this queue";
    Err(Refusal::new("forbidden", why, help))
}

/// The body ended in the middle.
pub(crate) fn broken() -> Refusal {
    let help = "send it again, whole";
    Refusal::new("invalid", "the body cannot be read", help)
}

/// The body took too long.
pub(crate) fn too_slow(wait: Duration) -> Refusal {
    let why = format!("the body did not arrive within {wait:?}");
    Refusal::new("too_slow", why, "send less at once")
}

#[cfg(test)]
mod tests {
    use futures_util::stream;

    use super::*;
    use crate::caller::Pass;
    use crate::table::ROUTES;

    fn call(body: Body) -> Call {
        let Pass { grant, meter } = Pass::new(Grant::all(), None, 0);
        Call {
            route: &ROUTES[0],
            path: Vec::new(),
            query: String::new(),
            headers: HeaderMap::new(),
            body,
            grant,
            meter,
            body_wait: Duration::from_secs(30),
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_body_that_does_not_end_is_given_up() {
        let drip = stream::unfold((), |()| async {
            tokio::time::sleep(Duration::from_secs(1)).await;
            Some((Ok::<_, std::convert::Infallible>("x"), ()))
        });
        let refusal = call(Body::from_stream(drip)).bytes(1000).await.unwrap_err();
        assert_eq!(
            (refusal.status.as_u16(), &*refusal.problem.code),
            (408, "too_slow")
        );
    }

    #[tokio::test]
    async fn a_body_of_unknown_length_is_bounded_as_well() {
        let endless = stream::repeat_with(|| Ok::<_, std::convert::Infallible>("0123456789"));
        let refusal = call(Body::from_stream(endless))
            .bytes(1000)
            .await
            .unwrap_err();
        assert_eq!(refusal.status.as_u16(), 413);
    }
}
