//! The values of a job that a command may refer to.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt;

use serde_json::value::RawValue;
use windlass_worker::AttemptContext;

/// What a placeholder refers to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Field {
    Id,
    Kind,
    Queue,
    Attempt,
    /// The payload, or the value at a path in it if it is JSON.
    Payload(Vec<String>),
}

impl Field {
    pub(super) fn parse(path: &str) -> Option<Self> {
        let mut segments = path.split('.').map(str::to_owned);
        let head = segments.next()?;
        let segments: Vec<String> = segments.collect();
        match head.as_str() {
            "payload" if segments.iter().all(|segment| !segment.is_empty()) => {
                Some(Self::Payload(segments))
            }
            _ if !segments.is_empty() => None,
            "id" => Some(Self::Id),
            "kind" => Some(Self::Kind),
            "queue" => Some(Self::Queue),
            "attempt" => Some(Self::Attempt),
            _ => None,
        }
    }
}

impl fmt::Display for Field {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Id => f.write_str("id"),
            Self::Kind => f.write_str("kind"),
            Self::Queue => f.write_str("queue"),
            Self::Attempt => f.write_str("attempt"),
            Self::Payload(segments) => {
                f.write_str("payload")?;
                segments
                    .iter()
                    .try_for_each(|segment| write!(f, ".{segment}"))
            }
        }
    }
}

/// The values of one job.
#[derive(Debug)]
pub(super) struct Values<'a> {
    context: &'a AttemptContext,
}

impl<'a> Values<'a> {
    pub(super) fn new(context: &'a AttemptContext) -> Self {
        Self { context }
    }

    /// Returns the bytes of a value, or `None` if the job does not have it.
    pub(super) fn get(&self, field: &Field) -> Result<Option<Vec<u8>>, String> {
        let job = self.context.job();
        let text = |text: &str| Some(text.as_bytes().to_vec());
        Ok(match field {
            Field::Id => text(job.id.as_str()),
            Field::Kind => job.kind.as_ref().and_then(|kind| text(kind.as_str())),
            Field::Queue => text(self.context.queue().as_str()),
            Field::Attempt => text(&job.attempt.to_string()),
            Field::Payload(segments) if segments.is_empty() => Some(job.payload.to_vec()),
            Field::Payload(segments) => {
                let raw = serde_json::from_slice::<&RawValue>(&job.payload)
                    .map_err(|_| format!("the payload is not JSON, so it has no {{{field}}}"))?;
                at(raw.get(), segments).map(|value| value.into_owned().into_bytes())
            }
        })
    }
}

/// Returns the value at a path: a string without its quotes, any other JSON as written. `null` counts
/// as missing.
fn at<'a>(json: &'a str, segments: &[String]) -> Option<Cow<'a, str>> {
    let json = json.trim();
    let Some((segment, rest)) = segments.split_first() else {
        return match json.as_bytes().first()? {
            b'n' => None,
            b'"' => serde_json::from_str::<String>(json).ok().map(Cow::Owned),
            _ => Some(Cow::Borrowed(json)),
        };
    };
    let inner: &RawValue = match json.as_bytes().first()? {
        b'{' => serde_json::from_str::<HashMap<String, &'a RawValue>>(json)
            .ok()?
            .remove(segment)?,
        b'[' => {
            let index: usize = segment.parse().ok()?;
            let list: Vec<&'a RawValue> = serde_json::from_str(json).ok()?;
            list.get(index).copied()?
        }
        _ => return None,
    };
    at(inner.get(), rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(json: &str, path: &str) -> Option<String> {
        let segments: Vec<String> = path.split('.').map(str::to_owned).collect();
        at(json, &segments).map(Cow::into_owned)
    }

    #[test]
    fn a_path_leads_through_objects_and_lists() {
        let json = r#"{"a":{"b":["x",{"c":"d \u00e9\n"}]},"n":12345678901234567890.10,"t":true}"#;
        assert_eq!(found(json, "a.b.0").as_deref(), Some("x"));
        assert_eq!(found(json, "a.b.1.c").as_deref(), Some("d é\n"));
        assert_eq!(
            found(json, "a.b.1").as_deref(),
            Some(r#"{"c":"d \u00e9\n"}"#)
        );
        assert_eq!(found(json, "n").as_deref(), Some("12345678901234567890.10"));
        assert_eq!(found(json, "t").as_deref(), Some("true"));
    }

    #[test]
    fn a_missing_value_is_none() {
        let json = r#"{"a":null,"b":[1],"c":"text"}"#;
        for path in ["a", "x", "b.1", "b.-1", "b.x", "c.d", "a.b"] {
            assert_eq!(found(json, path), None, "{path}");
        }
    }
}
