//! Operations on stored jobs (cancel, retry, delete, promote), and pages of results.

use std::fmt;

use bytes::Bytes;

use crate::error::{Error, Result};
use crate::filter::Filter;
use crate::job::JobState;
use crate::name::{JobId, UniqueKey};
use crate::text_enum::text_enum;

/// Selects jobs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// The jobs with these ids.
    Ids(Vec<JobId>),
    /// The unfinished job with this unique key. `delete` also frees a key that is held after its job ended.
    UniqueKey(UniqueKey),
    /// Every job with exactly this payload, in pages. Only for `cancel`.
    Payload(Bytes),
    /// Every job that matches a filter, in pages. With more conditions than state and kind a store may read the page
    /// first: a job that moves to another state before it is changed, is changed if that state allows it.
    Filter(Filter),
}

text_enum! {
    /// A change of stored jobs, made by [`Store::change`](crate::Store::change).
    Change {
        /// Cancels waiting jobs and requests the cancellation of running ones.
        Cancel = "cancel",
        /// Moves dead jobs to the back of the queue, with attempts and expiries reset.
        Retry = "retry",
        /// Deletes finished jobs and forgets their ids.
        Delete = "delete",
        /// Moves scheduled and pending jobs to the back of the queue now.
        Promote = "promote",
    }
}

impl Change {
    /// Returns the past tense, which is the outcome in replies.
    pub const fn past_tense(self) -> &'static str {
        match self {
            Self::Cancel => "cancelled",
            Self::Retry => "retried",
            Self::Delete => "deleted",
            Self::Promote => "promoted",
        }
    }

    /// Returns which jobs it applies to, for messages.
    pub const fn requirement(self) -> &'static str {
        match self {
            Self::Cancel => "only waiting and running jobs can be cancelled",
            Self::Retry => "only dead jobs can be retried",
            Self::Delete => "only finished jobs can be deleted",
            Self::Promote => "only scheduled and pending jobs can be promoted",
        }
    }

    /// Returns the target with the default state of this change: a filter without a state selects dead
    /// jobs for `retry` and scheduled jobs for `promote`.
    pub fn target(self, target: &Target) -> Result<Target> {
        let state = match self {
            Self::Cancel | Self::Delete => None,
            Self::Retry => Some(JobState::Dead),
            Self::Promote => Some(JobState::Scheduled),
        };
        match target {
            Target::Payload(_) if self != Self::Cancel => Err(Error::invalid(
                "target",
                "only cancel can select jobs by payload",
                "select jobs by id, by unique key, or by state and kind",
            )),
            Target::Filter(filter) => {
                filter.check()?;
                let state = filter.state.or(state);
                let filter = filter.clone();
                Ok(Target::Filter(Filter { state, ..filter }))
            }
            _ => Ok(target.clone()),
        }
    }
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

/// One page of jobs, or of replies for jobs.
#[derive(Debug, Clone, PartialEq)]
pub struct JobPage<T> {
    /// The items. May be empty although more pages follow.
    pub items: Vec<T>,
    /// The next page. `None` at the end.
    pub next: Option<Cursor>,
    /// How many jobs the store examined for this page.
    pub scanned: usize,
}

impl<T> Default for JobPage<T> {
    fn default() -> Self {
        Self::complete(Vec::new())
    }
}

impl<T> JobPage<T> {
    /// Creates a page of the selected jobs, without a next one.
    pub const fn complete(items: Vec<T>) -> Self {
        let scanned = items.len();
        Self {
            items,
            next: None,
            scanned,
        }
    }
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
    /// This other job holds the same unique key.
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
pub type Changes = JobPage<ChangedJob>;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_filter_without_a_state_selects_the_jobs_that_a_verb_applies_to() {
        let all = Target::Filter(Filter::default());
        let state_of = |change: Change| match change.target(&all) {
            Ok(Target::Filter(filter)) => filter.state,
            other => panic!("expected a filter, got {other:?}"),
        };

        assert_eq!(state_of(Change::Retry), Some(JobState::Dead));
        assert_eq!(state_of(Change::Promote), Some(JobState::Scheduled));
        assert_eq!(state_of(Change::Delete), None);
    }
}
