//! `Idempotency-Key`: a request that is repeated makes the same ids, so its jobs are duplicates.

use axum::http::HeaderMap;
use serde::Serialize;
use sha2::{Digest, Sha256};
use windlass_api::Fields;

use crate::error::Refusal;

/// The longest key.
const KEY_BYTES_MAX: usize = 255;

/// The key of a request.
#[derive(Debug, Clone)]
pub(crate) struct Key(String);

impl Key {
    /// The key, where one was sent.
    pub(crate) fn of(headers: &HeaderMap) -> Result<Option<Self>, Refusal> {
        let Some(value) = headers.get("idempotency-key") else {
            return Ok(None);
        };
        let text = value.to_str().unwrap_or_default();
        if text.is_empty() || text.len() > KEY_BYTES_MAX {
            let why = format!("the Idempotency-Key needs 1 to {KEY_BYTES_MAX} ASCII characters");
            let help = "draw one for each request, for example a UUID";
            return Err(Refusal::new("invalid", why, help));
        }
        Ok(Some(Self(text.to_owned())))
    }

    /// The id of one job of the request.
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

/// Gives a job its id, unless the caller did.
pub(crate) fn name_job(fields: &mut Fields, key: &Key, item: usize) -> Result<(), Refusal> {
    let own: Option<String> = fields.take("id")?;
    fields.put("id", &own.unwrap_or_else(|| key.id(item)))?;
    Ok(())
}

/// Gives each job of a batch its id.
pub(crate) fn name_batch(fields: &mut Fields, key: &Key) -> Result<Fields, Refusal> {
    #[derive(Serialize)]
    struct Batch {
        jobs: Vec<Fields>,
    }

    let mut jobs: Vec<Fields> = fields.take("jobs")?.unwrap_or_default();
    for (item, job) in jobs.iter_mut().enumerate() {
        name_job(job, key, item)?;
    }
    if serde_json::to_string(fields).is_ok_and(|rest| rest != "{}") {
        let help = "send one field, jobs";
        return Err(Refusal::new(
            "invalid",
            "the batch has unknown fields",
            help,
        ));
    }
    let text = serde_json::to_string(&Batch { jobs }).map_err(|_| {
        let help = "this is a fault of Windlass: report it";
        Refusal::new("internal", "the batch cannot be written", help)
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
    fn an_id_of_the_callers_own_stays() {
        let key = Key("k".to_owned());
        let text = r#"{"jobs":[{"payload":{"a" : 1.0}},{"id":"mine"}]}"#;
        let named = name_batch(&mut Fields::parse(text).unwrap(), &key).unwrap();
        let named = serde_json::to_string(&named).unwrap();
        assert!(named.contains(r#"{"a" : 1.0}"#), "{named}");
        assert!(named.contains(r#"{"id":"mine"}"#), "{named}");
        assert!(named.contains(&key.id(0)), "{named}");
    }
}
