//! What operators do to jobs: cancel, retry, delete and promote, by id or by what they have in
//! common; and the pages in which listings come.

use bytes::Bytes;

use crate::error::{Error, Result};
use crate::job::JobState;
use crate::name::{JobId, Kind, UniqueKey};

/// Which jobs are meant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// These.
    Ids(Vec<JobId>),
    /// The live job that holds this key.
    UniqueKey(UniqueKey),
    /// Every job with exactly these bytes, in pages; for `cancel` alone.
    Payload(Bytes),
    /// Every job of a state and, perhaps, a kind, in pages.
    Filter(Filter),
}

impl Target {
    /// What `retry` goes by: a filter without a state means dead jobs, in their order.
    pub fn for_retry(&self) -> Result<Self> {
        self.of_state(Some(JobState::Dead))
    }

    /// What `delete` goes by.
    pub fn for_delete(&self) -> Result<Self> {
        self.of_state(None)
    }

    /// What `promote` goes by: a filter without a state means scheduled jobs, in their order.
    pub fn for_promote(&self) -> Result<Self> {
        self.of_state(Some(JobState::Scheduled))
    }

    /// A filter without a state means this one. Only `cancel` goes by payload.
    fn of_state(&self, state: Option<JobState>) -> Result<Self> {
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

/// Jobs by what they have in common.
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
    /// In this state; all states when absent.
    pub state: Option<JobState>,
    /// Of this kind; all kinds when absent.
    pub kind: Option<Kind>,
}

/// Where the next page begins; means something only to the store that gave it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cursor(pub String);

/// One page of something.
#[derive(Debug, Clone, PartialEq)]
pub struct Page<T> {
    /// What is on it; may be empty although more pages follow.
    pub items: Vec<T>,
    /// The next page, if there is one.
    pub next: Option<Cursor>,
}

/// What became of one job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Changed {
    /// What was asked is done.
    Done,
    /// The job runs; its worker will be told to stop.
    WillStop,
    /// The job's state forbids it.
    WrongState(JobState),
    /// Another live job holds its unique key.
    Conflict(JobId),
    /// No such job.
    NotFound,
}

/// One job that a change met.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangedJob {
    /// Which; nothing when a unique key was held by no job.
    pub id: Option<JobId>,
    /// What became of it.
    pub changed: Changed,
}

/// The jobs one page of a change met: every id named, or those the filter or payload matched.
pub type Changes = Page<ChangedJob>;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_filter_without_a_state_means_the_jobs_that_a_verb_is_for() {
        let state_of = |target: Result<Target>| match target {
            Ok(Target::Filter(filter)) => filter.state,
            other => panic!("a filter stays one: {other:?}"),
        };
        let all = Target::Filter(Filter::default());

        assert_eq!(state_of(all.for_retry()), Some(JobState::Dead));
        assert_eq!(state_of(all.for_promote()), Some(JobState::Scheduled));
        assert_eq!(state_of(all.for_delete()), None);
    }
}
