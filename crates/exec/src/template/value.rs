//! The values of a job that a command may refer to.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt;

use serde_json::value::RawValue;
use windlass_worker::AttemptContext;

/// What a placeholder refers to: `id`, `kind`, `queue`, `attempt`, `payload`, or a path in a JSON payload such
/// as `payload.a.b`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Field(String);

impl Field {
    pub(super) fn parse(path: &str) -> Option<Self> {
        let is_known = match path.split_once('.') {
            None => ["id", "kind", "queue", "attempt", "payload"].contains(&path),
            Some((head, rest)) => head == "payload" && rest.split('.').all(|name| !name.is_empty()),
        };
        is_known.then(|| Self(path.to_owned()))
    }

    /// Returns the bytes of the value, or `None` if the job does not have it.
    pub(super) fn value(&self, context: &AttemptContext) -> Result<Option<Vec<u8>>, String> {
        let job = context.job();
        Ok(match self.0.as_str() {
            "id" => Some(job.id.to_string().into()),
            "kind" => job.kind.as_ref().map(|kind| kind.to_string().into()),
            "queue" => Some(context.queue().to_string().into()),
            "attempt" => Some(job.attempt.to_string().into()),
            "payload" => Some(job.payload.to_vec()),
            path => {
                let raw = serde_json::from_slice::<&RawValue>(&job.payload)
                    .map_err(|_| format!("the payload is not JSON, so it has no {{{path}}}"))?;
                let names: Vec<_> = path.split('.').skip(1).collect();
                at(raw.get(), &names).map(|value| value.into_owned().into_bytes())
            }
        })
    }
}

impl fmt::Display for Field {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Returns the value at a path: a string without its quotes, any other JSON as written. `null` counts
/// as missing.
fn at<'a>(json: &'a str, names: &[&str]) -> Option<Cow<'a, str>> {
    let json = json.trim();
    let Some((name, rest)) = names.split_first() else {
        return match json.as_bytes().first()? {
            b'n' => None,
            b'"' => serde_json::from_str::<String>(json).ok().map(Cow::Owned),
            _ => Some(Cow::Borrowed(json)),
        };
    };
    let inner: &RawValue = match json.as_bytes().first()? {
        b'{' => serde_json::from_str::<HashMap<String, &'a RawValue>>(json)
            .ok()?
            .remove(*name)?,
        b'[' => {
            let index: usize = name.parse().ok()?;
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
        let names: Vec<_> = path.split('.').collect();
        at(json, &names).map(Cow::into_owned)
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
