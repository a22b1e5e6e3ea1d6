//! What a store answered, in a form that two stores can be compared by.

use windlass_core::{
    ChangedJob, Claim, Completed, DurabilityLevel, Enqueued, ErrorKind, Job, LeaseStatus,
    Maintained, OutcomeStatus, QueueName, Renewed, Repair, Settings, Stats, WorkerCommand,
    WorkerRecord,
};

/// An answer.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Reply {
    Nothing,
    Enqueued(Vec<Enqueued>),
    Claim(Option<Claim>),
    LeaseStatus(LeaseStatus),
    Renewed(Renewed),
    Completed(Completed),
    OutcomeStatus(Vec<OutcomeStatus>),
    Changes(Vec<ChangedJob>),
    Count(u64),
    Maintained(Maintained),
    Audited(u64, Vec<Repair>),
    Settings(Settings),
    Stats(Option<Stats>),
    Job(Option<Box<Job>>),
    Jobs(Vec<Job>),
    Queues(Vec<QueueName>),
    Told(WorkerCommand),
    Failed(Option<u64>),
    Known(bool),
    Workers(Vec<WorkerRecord>),
    Refused(ErrorKind),
}

impl Reply {
    /// The answer of a verb that answers nothing.
    pub(super) fn done((): ()) -> Self {
        Self::Nothing
    }

    /// Stores differ in how safe they keep a job, and may.
    pub(super) fn enqueued(mut answers: Vec<Enqueued>) -> Self {
        for answer in &mut answers {
            let (Enqueued::Accepted { level, .. } | Enqueued::Duplicate { level, .. }) = answer
            else {
                continue;
            };
            *level = DurabilityLevel::Memory;
        }
        Self::Enqueued(answers)
    }

    /// The claim in it, where there is one.
    pub(super) fn claim(&self) -> Option<&Claim> {
        match self {
            Self::Claim(claim) => claim.as_ref(),
            Self::Completed(completed) => completed.next.as_ref(),
            _ => None,
        }
    }
}
