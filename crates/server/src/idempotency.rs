//! `Idempotency-Key`: job ids are derived from the key, so the jobs of a repeated request are
//! duplicates.

use axum::http::HeaderMap;
use serde::Serialize;
use sha2::{Digest, Sha256};
use windlass_api::Fields;

use crate::error::HttpError;

/// The longest key.
const KEY_BYTES_MAX: usize = 255;

/// The idempotency key of a request.
#[derive(Debug, Clone)]
pub(crate) struct Key(String);

impl Key {
    /// Reads the key from the headers.
    pub(crate) fn from_headers(headers: &HeaderMap) -> Result<Option<Self>, HttpError> {
        let Some(value) = headers.get("idempotency-key") else {
            return Ok(None);
        };
        let text = value.to_str().unwrap_or_default();
        if text.is_empty() || text.len() > KEY_BYTES_MAX {
            let why =
                format!("invalid Idempotency-Key: expected 1 to {KEY_BYTES_MAX} ASCII characters");
            let help = "use a new value for each request, such as a UUID";
            return Err(HttpError::new("invalid", why, help));
        }
        Ok(Some(Self(text.to_owned())))
    }

    /// Returns the id of the job at index `item`.
    pub(crate) fn id(&self, item: usize) -> String {
        let mut hash = Sha256::new();
        hash.update(self.0.as_bytes());
        hash.update([0]);
        hash.update((item as u64).to_be_bytes());
        let digest: [u8; 32] = hash.finalize().into();
        let hex: String = digest[..16]
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect();
        format!("key-{hex}")
    }
}

/// Sets the id of a job, if it has none.
pub(crate) fn set_job_id(fields: &mut Fields, key: &Key, item: usize) -> Result<(), HttpError> {
    let id: Option<String> = fields.take("id")?;
    fields.put("id", &id.unwrap_or_else(|| key.id(item)))?;
    Ok(())
}

/// Sets the id of each job of a batch that has none.
pub(crate) fn set_batch_ids(fields: &mut Fields, key: &Key) -> Result<Fields, HttpError> {
    #[derive(Serialize)]
    struct Batch {
        jobs: Vec<Fields>,
    }

    let mut jobs: Vec<Fields> = fields.take("jobs")?.unwrap_or_default();
    for (item, job) in jobs.iter_mut().enumerate() {
        set_job_id(job, key, item)?;
    }
    if serde_json::to_string(fields).is_ok_and(|rest| rest != "{}") {
        let help = "send only the field jobs";
        return Err(HttpError::new(
            "invalid",
            "unknown field in the batch",
            help,
        ));
    }
    let text = serde_json::to_string(&Batch { jobs }).map_err(|_| {
        let help = "this is a bug in Windlass; please report it";
        HttpError::new("internal", "cannot serialize the batch", help)
    })?;
    Ok(Fields::parse(&text)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_the_same_for_the_same_key_and_item_only() {
        let key = |text: &str| Key(text.to_owned());
        assert_eq!(key("a").id(0), key("a").id(0));
        assert_ne!(key("a").id(0), key("a").id(1));
        assert_ne!(key("a").id(0), key("b").id(0));
    }

    #[test]
    fn an_id_set_by_the_client_is_kept() {
        let key = Key("k".to_owned());
        let text = r#"{"jobs":[{"payload":{"a" : 1.0}},{"id":"mine"}]}"#;
        let batch = set_batch_ids(&mut Fields::parse(text).unwrap(), &key).unwrap();
        let batch = serde_json::to_string(&batch).unwrap();
        assert!(batch.contains(r#"{"a" : 1.0}"#), "{batch}");
        assert!(batch.contains(r#"{"id":"mine"}"#), "{batch}");
        assert!(batch.contains(&key.id(0)), "{batch}");
    }
}
