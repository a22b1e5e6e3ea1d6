//! `Idempotency-Key`: job ids are derived from the key, so the jobs of a repeated request are
//! duplicates.

use axum::http::HeaderMap;
use sha2::{Digest, Sha256};
use windlass_api::{Code, EnqueueRequest, Error};
use windlass_core::store::OnDuplicate;

/// The longest key.
const KEY_BYTES_MAX: usize = 255;

/// The idempotency key of a request.
#[derive(Debug, Clone)]
pub struct IdempotencyKey(String);

impl IdempotencyKey {
    /// Reads the key from the headers.
    pub fn from_headers(headers: &HeaderMap) -> Result<Option<Self>, Error> {
        let Some(value) = headers.get("idempotency-key") else {
            return Ok(None);
        };
        let text = value.to_str().unwrap_or_default();
        if text.is_empty() || text.len() > KEY_BYTES_MAX {
            let why =
                format!("invalid Idempotency-Key: expected 1 to {KEY_BYTES_MAX} ASCII characters");
            let help = "use a new value for each request, such as a UUID";
            return Err(Error::new(Code::Invalid, why, help));
        }
        Ok(Some(Self(text.to_owned())))
    }

    /// Returns the id of the job at index `item`.
    pub fn id(&self, item: usize) -> String {
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

    /// Sets the id of the job at index `item`, if it has none.
    ///
    /// The id belongs to the request. A repeated request that replaces or postpones must not do so to the
    /// job that it stored, because a newer request may have changed that job. A generated id says so, but is
    /// not remembered after the job has finished, so the job itself is kept.
    pub fn set_id(&self, job: &mut EnqueueRequest, item: usize) {
        if job.id.is_some() {
            return;
        }
        job.id = Some(self.id(item));
        if job
            .on_duplicate
            .as_deref()
            .is_some_and(|action| action != OnDuplicate::Keep.as_str())
        {
            job.generated = Some(true);
            job.keep_outcome = Some(true);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_the_same_for_the_same_key_and_item_only() {
        let key = |text: &str| IdempotencyKey(text.to_owned());
        assert_eq!(key("a").id(0), key("a").id(0));
        assert_ne!(key("a").id(0), key("a").id(1));
        assert_ne!(key("a").id(0), key("b").id(0));
    }

    #[test]
    fn an_id_set_by_the_client_is_kept() {
        let key = IdempotencyKey("k".to_owned());
        let mut jobs = [EnqueueRequest::default(), EnqueueRequest::default()];
        jobs[1].id = Some("mine".to_owned());
        for (item, job) in jobs.iter_mut().enumerate() {
            key.set_id(job, item);
        }
        assert_eq!(jobs[0].id, Some(key.id(0)));
        assert_eq!(jobs[1].id.as_deref(), Some("mine"));
    }
}
