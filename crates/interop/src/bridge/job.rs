//! The job that a piece of work becomes, and the id it has.

use md5::{Digest, Md5};
use windlass_core::{Headers, JobId, NewJob, Result};

use super::origin::{From, Taken};

/// The header that says where a job came from.
const FROM_HEADER: &str = "interop-from";

/// The header with the id that the older system knew, where it is not the job's.
const ID_HEADER: &str = "interop-id";

/// The job under the id that the older system has, or one that stands for it.
pub(super) fn of(from: &From, taken: &Taken) -> Result<NewJob> {
    match JobId::new(&taken.id) {
        Ok(id) => Ok(NewJob::new(taken.data.clone())
            .id(id)
            .headers(headers(from)?)),
        Err(_) => under_other_id(from, taken, substitute(&[taken.id.as_bytes()])),
    }
}

/// The job under an id for this work alone, because other work has its own id.
pub(super) fn beside(from: &From, taken: &Taken) -> Result<NewJob> {
    let id = substitute(&[taken.id.as_bytes(), b"\0", &taken.data]);
    under_other_id(from, taken, id)
}

fn under_other_id(from: &From, taken: &Taken, id: JobId) -> Result<NewJob> {
    let mut headers = headers(from)?;
    headers.set(ID_HEADER, &printable(&taken.id))?;
    Ok(NewJob::new(taken.data.clone()).id(id).headers(headers))
}

fn headers(from: &From) -> Result<Headers> {
    let mut headers = Headers::default();
    headers.set(FROM_HEADER, &printable(&from.to_string()))?;
    Ok(headers)
}

/// An id as a header can hold it.
fn printable(id: &str) -> String {
    id.escape_default().take(256).collect()
}

/// The job's id for work that cannot have its own: the same for every bridge.
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
    fn the_same_odd_id_is_the_same_job_every_time() {
        let odd = "a job / with \u{0} everything";
        assert!(JobId::new(odd).is_err());
        assert_eq!(substitute(odd), substitute(odd));
        assert_ne!(substitute(odd), substitute("another"));
        assert!(substitute(odd).as_str().starts_with("interop-"));
    }
}
