//! Operations on stored jobs (cancel, retry, delete, promote), and pages of results.

use bytes::Bytes;

use crate::error::{Error, Result};
use crate::job::JobState;
use crate::name::{JobId, Kind, UniqueKey};

/// Selects jobs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// The jobs with these ids.
    Ids(Vec<JobId>),
    /// The unfinished job with this unique key.
    UniqueKey(UniqueKey),
    /// Every job with exactly this payload, in pages. Only for `cancel`.
    Payload(Bytes),
    /// Every job that matches a filter, in pages.
    Filter(Filter),
}

impl Target {
    /// Returns the target for `retry`: a filter without a state selects dead jobs.
    pub fn for_retry(&self) -> Result<Self> {
        self.with_default_state(Some(JobState::Dead))
    }

    /// Returns the target for `delete`.
    pub fn for_delete(&self) -> Result<Self> {
        self.with_default_state(None)
    }

    /// Returns the target for `promote`: a filter without a state selects scheduled jobs.
    pub fn for_promote(&self) -> Result<Self> {
        self.with_default_state(Some(JobState::Scheduled))
    }

    fn with_default_state(&self, state: Option<JobState>) -> Result<Self> {
        match self {
            Self::Payload(_) => Err(Error::invalid(
                "target",
                "only cancel can select jobs by payload",
                "select jobs by id, by unique key, or by state and kind",
            )),
            Self::Filter(filter) => Ok(Self::Filter(Filter {
                state: filter.state.or(state),
                kind: filter.kind.clone(),
            })),
            Self::Ids(_) | Self::UniqueKey(_) => Ok(self.clone()),
        }
    }
}

/// Selects jobs by state and kind.
///
/// ```
/// # use windlass_core as windlass;
/// use windlass::{Filter, JobState, Kind};
///
/// let dead = Filter { state: Some(JobState::Dead), ..Filter::default() };
/// let dead_letters = Filter { kind: Some(Kind::new("letter")?), ..dead };
/// # Ok::<(), windlass::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Filter {
    /// The state. `None` matches every state.
    pub state: Option<JobState>,
    /// The kind. `None` matches every kind.
    pub kind: Option<Kind>,
}

/// The start of the next page. Opaque: pass it back to the store that returned it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cursor(pub String);

/// One page of a result.
#[derive(Debug, Clone, PartialEq)]
pub struct Page<T> {
    /// The items. May be empty although more pages follow.
    pub items: Vec<T>,
    /// The next page. `None` at the end.
    pub next: Option<Cursor>,
}

/// The reply for one job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Changed {
    /// The change was made.
    Done,
    /// The job is running. Its worker will be asked to stop it.
    WillStop,
    /// The job is in this state, which does not allow the change.
    WrongState(JobState),
    /// This other unfinished job has the same unique key.
    Conflict(JobId),
    /// The job does not exist.
    NotFound,
}

/// One job and its reply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangedJob {
    /// The id. `None` if no unfinished job has the unique key.
    pub id: Option<JobId>,
    /// The reply.
    pub changed: Changed,
}

/// One page of replies: one per requested id, or one per job that the filter or payload matched.
pub type Changes = Page<ChangedJob>;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_filter_without_a_state_selects_the_jobs_that_a_verb_applies_to() {
        let state_of = |target: Result<Target>| match target {
            Ok(Target::Filter(filter)) => filter.state,
            other => panic!("expected a filter, got {other:?}"),
        };
        let all = Target::Filter(Filter::default());

        assert_eq!(state_of(all.for_retry()), Some(JobState::Dead));
        assert_eq!(state_of(all.for_promote()), Some(JobState::Scheduled));
        assert_eq!(state_of(all.for_delete()), None);
    }
}
