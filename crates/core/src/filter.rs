//! [`Filter`]: selects jobs, and decides which jobs match. No store has another copy of this rule.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use memchr::memmem;

use crate::error::{Error, Result};
use crate::error_group::Fingerprint;
use crate::headers::Headers;
use crate::job::{Job, JobState};
use crate::limits::{SEARCH_BYTES_MAX, SEARCH_JOBS_MAX};
use crate::name::{BootId, GroupName, Kind};
use crate::time::Timestamp;

/// The longest text that can be searched for.
pub const SEARCH_TEXT_MAX: usize = 1024;

/// Selects the jobs that meet all conditions which are set.
///
/// Stores have an order for the jobs of one state, and read every job of it to check the other conditions. So a page of
/// a search ends after [`SEARCH_JOBS_MAX`] jobs, and may have few jobs or none although more pages follow.
///
/// ```
/// # use windlass_core as windlass;
/// use windlass::store::Kind;
/// use windlass::{Filter, JobState};
///
/// let dead = Filter { state: Some(JobState::Dead), ..Filter::default() };
/// let dead_letters = Filter { kind: Some(Kind::new("letter")?), ..dead };
/// # Ok::<(), windlass::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Filter {
    /// The state.
    pub state: Option<JobState>,
    /// The kind.
    pub kind: Option<Kind>,
    /// Bytes that occur in the id, the payload or the error. Upper and lower case differ.
    pub text: Option<String>,
    /// The job was enqueued at least this long ago, by the clock of the store.
    pub older_than: Option<Duration>,
    /// The job was enqueued less than this long ago, by the clock of the store.
    pub newer_than: Option<Duration>,
    /// The worker that runs the job.
    pub worker: Option<BootId>,
    /// The lowest number of the current or next attempt.
    pub min_attempt: Option<u32>,
    /// A header.
    pub header: Option<HeaderMatch>,
    /// The group.
    pub group: Option<GroupName>,
    /// The group of the last error.
    pub error_group: Option<Fingerprint>,
}

impl Filter {
    /// Returns whether it has conditions besides the state, so that some jobs of a page may not match.
    pub fn is_search(&self) -> bool {
        self.kind.is_some() || self.reads_jobs()
    }

    /// Returns whether it has conditions besides state and kind, so that the job must be read.
    pub fn reads_jobs(&self) -> bool {
        let all = Self {
            state: self.state,
            kind: self.kind.clone(),
            ..Self::default()
        };
        *self != all
    }

    /// Returns whether the payload must be read as well.
    pub fn reads_payloads(&self) -> bool {
        self.text.is_some()
    }

    /// Checks the size of the conditions.
    pub fn check(&self) -> Result<()> {
        match self.text.as_ref().map(String::len) {
            Some(bytes) if bytes > SEARCH_TEXT_MAX => Err(Error::invalid(
                "text",
                format!("{bytes} bytes is too large; maximum {SEARCH_TEXT_MAX}"),
                "search for a shorter part of it",
            )),
            _ => Ok(()),
        }
    }

    /// Returns whether a job matches. The job needs its payload if the filter [reads it](Self::reads_payloads).
    pub fn matches(&self, job: &Job, now: Timestamp) -> bool {
        fn is<T: PartialEq>(wanted: Option<&T>, value: Option<&T>) -> bool {
            wanted.is_none_or(|wanted| value == Some(wanted))
        }
        let age = now.since(job.created_at);
        is(self.state.as_ref(), Some(&job.state))
            && is(self.kind.as_ref(), job.kind.as_ref())
            && is(self.group.as_ref(), job.group.as_ref())
            && is(self.worker.as_ref(), job.worker.as_ref())
            && self.min_attempt.is_none_or(|min| job.attempt >= min)
            && self.older_than.is_none_or(|limit| age >= limit)
            && self.newer_than.is_none_or(|limit| age < limit)
            && (self.error_group).is_none_or(|group| job.error_group() == Some(group))
            && (self.header.as_ref()).is_none_or(|header| header.matches(&job.headers))
            && (self.text.as_ref()).is_none_or(|text| has_text(job, text.as_bytes()))
    }
}

fn has_text(job: &Job, text: &[u8]) -> bool {
    let error = job.error.as_deref().unwrap_or_default();
    let payload = job.payload.as_deref().unwrap_or_default();
    let mut parts = [job.id.as_str().as_bytes(), error.as_bytes(), payload].into_iter();
    parts.any(|part| memmem::find(part, text).is_some())
}

/// A header that a job must have: `NAME`, or `NAME=VALUE`.
///
/// ```
/// # use windlass_core as windlass;
/// use windlass::store::HeaderMatch;
///
/// let blue: HeaderMatch = "Tenant=blue".parse()?;
/// assert_eq!(blue.to_string(), "tenant=blue");
/// # Ok::<(), windlass::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeaderMatch {
    name: String,
    value: Option<String>,
}

impl HeaderMatch {
    fn matches(&self, headers: &Headers) -> bool {
        let found = headers.get(&self.name);
        found.is_some_and(|found| self.value.as_ref().is_none_or(|value| found == value))
    }
}

impl FromStr for HeaderMatch {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let (name, value) = match text.split_once('=') {
            Some((name, value)) => (name, Some(value.to_owned())),
            None => (text, None),
        };
        // Only what a job can have.
        Headers::default().set(name, value.as_deref().unwrap_or_default())?;
        let name = name.to_ascii_lowercase();
        Ok(Self { name, value })
    }
}

impl fmt::Display for HeaderMatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)?;
        self.value
            .iter()
            .try_for_each(|value| write!(f, "={value}"))
    }
}

/// How much of a queue one call has examined, and when it must end.
#[derive(Debug, Default)]
pub struct SearchBudget {
    jobs: usize,
    bytes: usize,
}

impl SearchBudget {
    /// Counts an examined job and its payload, if that was read.
    pub fn spend(&mut self, payload_bytes: usize) {
        self.jobs += 1;
        self.bytes += payload_bytes;
    }

    /// Returns the number of examined jobs.
    pub const fn jobs(&self) -> usize {
        self.jobs
    }

    /// Returns how many more jobs may be examined.
    pub const fn rest(&self) -> usize {
        if self.bytes >= SEARCH_BYTES_MAX {
            return 0;
        }
        SEARCH_JOBS_MAX.saturating_sub(self.jobs)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorKind;

    #[test]
    fn a_header_is_matched_by_its_name_or_its_value() {
        let mut headers = Headers::default();
        headers.set("Tenant", "a=b").unwrap();
        let matches = |text: &str| text.parse::<HeaderMatch>().unwrap().matches(&headers);

        assert!(matches("tenant") && matches("TENANT=a=b"));
        assert!(!matches("tenant=a") && !matches("tenant=") && !matches("other"));
        for bad in ["", "=blue", "a b"] {
            let refused = bad.parse::<HeaderMatch>().map_err(|error| error.kind());
            assert_eq!(refused, Err(ErrorKind::Invalid), "{bad}");
        }
    }

    #[test]
    fn a_budget_ends_after_many_jobs_or_many_bytes() {
        let mut jobs = SearchBudget::default();
        (1..SEARCH_JOBS_MAX).for_each(|_| jobs.spend(0));
        assert_eq!(jobs.rest(), 1);
        jobs.spend(0);
        assert_eq!(jobs.rest(), 0);

        let mut bytes = SearchBudget::default();
        bytes.spend(SEARCH_BYTES_MAX);
        assert_eq!((bytes.jobs(), bytes.rest()), (1, 0));
    }
}
