//! Builds jobs, and their ids, from items of older systems.

use md5::{Digest, Md5};
use windlass_core::store::Headers;
use windlass_core::{JobId, NewJob, Result};

use super::source::{BridgeSource, SourceItem};

/// Header that names the source of a job.
const FROM_HEADER: &str = "interop-from";

/// Header with the id in the older system, if the job has a different one.
const ID_HEADER: &str = "interop-id";

/// Builds a job with the item's id, or with a substitute if that is not a valid job id.
pub(super) fn from_item(source: &BridgeSource, item: &SourceItem) -> Result<NewJob> {
    match JobId::new(&item.id) {
        Ok(id) => Ok(with_id(item, id, headers(source)?)),
        Err(_) => with_substitute(source, item, substitute(&[item.id.as_bytes()])),
    }
}

/// Builds a job with an id derived from the item's id and data, because another job has the item's id.
pub(super) fn under_new_id(source: &BridgeSource, item: &SourceItem) -> Result<NewJob> {
    let id = substitute(&[item.id.as_bytes(), b"\0", &item.data]);
    with_substitute(source, item, id)
}

fn with_substitute(source: &BridgeSource, item: &SourceItem, id: JobId) -> Result<NewJob> {
    let mut headers = headers(source)?;
    headers.set(ID_HEADER, &printable(&item.id))?;
    Ok(with_id(item, id, headers))
}

fn with_id(item: &SourceItem, id: JobId, headers: Headers) -> NewJob {
    let mut job = NewJob::new(item.data.clone()).id(id).headers(headers);
    job.due = item.due;
    job.priority(item.priority)
}

fn headers(source: &BridgeSource) -> Result<Headers> {
    let mut headers = Headers::default();
    headers.set(FROM_HEADER, &printable(&source.to_string()))?;
    if let Some(content_type) = source.content_type() {
        headers.set("content-type", content_type)?;
    }
    Ok(headers)
}

/// Escapes an id so that it fits into a header.
fn printable(id: &str) -> String {
    id.escape_default().take(256).collect()
}

/// Derives a job id by hashing, so that every bridge gets the same one.
fn substitute(parts: &[&[u8]]) -> JobId {
    let mut digest = Md5::new();
    for part in parts {
        digest.update(part);
    }
    let digest = digest.finalize();
    let hex: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    JobId::new(format!("interop-{hex}")).unwrap_or_else(|_| JobId::generate())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn substitute(id: &str) -> JobId {
        super::substitute(&[id.as_bytes()])
    }

    #[test]
    fn an_invalid_id_always_gives_the_same_job_id() {
        let invalid = "a job / with \u{0} everything";
        assert!(JobId::new(invalid).is_err());
        assert_eq!(substitute(invalid), substitute(invalid));
        assert_ne!(substitute(invalid), substitute("another"));
        assert!(substitute(invalid).as_str().starts_with("interop-"));
    }
}
