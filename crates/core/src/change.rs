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
    /// The target of a verb that fits jobs of one state, or of several: a filter without a state
    /// means that state, and so its order. Only `cancel` goes by payload.
    pub fn of_state(&self, state: Option<JobState>) -> Result<Self> {
        match self {
            Self::Payload(_) => Err(Error::invalid(
                "target",
                "only cancel goes by payload",
                "name ids, or a state and a kind",
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
