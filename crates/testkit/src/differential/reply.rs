//! Replies of a store in a comparable form.

use windlass_core::store::{
    ChangedJob, Completed, DurabilityLevel, ErrorGroup, Explanation, GroupRecord, HistoryRow,
    LeaseStatus, Maintained, QueueDeletion, Ran, Renewed, Repair, SchedulePut, ScheduleRecord,
    Settings, Stats, WaitReason, WorkerCommand, WorkerRecord,
};
use windlass_core::{Claim, Enqueued, ErrorKind, Job, OutcomeStatus, QueueName};

/// A reply.
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
    Deletion(QueueDeletion),
    Maintained(Maintained),
    Put(SchedulePut),
    Ran(Option<Vec<Ran>>),
    Schedules(Vec<ScheduleRecord>),
    Groups(Vec<GroupRecord>),
    Errors(Vec<ErrorGroup>),
    Audited(u64, Vec<Repair>),
    Settings(Settings),
    Stats(Option<Stats>),
    History(Vec<HistoryRow>),
    Job(Option<Box<Job>>),
    Explained(Option<Explanation>),
    Jobs(Vec<Job>),
    Queues(Vec<QueueName>),
    Command(WorkerCommand),
    Failed(Option<u64>),
    KnownClaim(bool),
    Workers(Vec<WorkerRecord>),
    Error(ErrorKind),
}

impl Reply {
    /// The reply of a verb without result.
    pub(super) fn done((): ()) -> Self {
        Self::Nothing
    }

    /// Ignores the durability, in which stores may differ.
    pub(super) fn enqueued(mut replies: Vec<Enqueued>) -> Self {
        replies.iter_mut().for_each(ignore_level);
        Self::Enqueued(replies)
    }

    /// Ignores the durability, in which stores may differ.
    pub(super) fn ran(mut replies: Option<Vec<Ran>>) -> Self {
        for reply in replies.iter_mut().flatten() {
            if let Ran::Enqueued(enqueued) = reply {
                ignore_level(enqueued);
            }
        }
        Self::Ran(replies)
    }

    /// Ignores stale entries, which only some stores have.
    pub(super) fn maintained(mut maintained: Maintained) -> Self {
        maintained.stale = 0;
        Self::Maintained(maintained)
    }

    /// Ignores stale entries, which only some stores have.
    pub(super) fn stats(mut stats: Option<Stats>) -> Self {
        if let Some(stats) = &mut stats {
            stats.stale_entries = 0;
        }
        Self::Stats(stats)
    }

    /// Whether this reply and that of the specification are equal. An estimate of the jobs ahead need not be, nor what
    /// follows from it.
    pub(super) fn agrees_with(&self, expected: &Self) -> bool {
        let (Self::Explained(Some(mut actual)), Self::Explained(Some(mut expected))) =
            (self.clone(), expected.clone())
        else {
            return self == expected;
        };
        if actual.reasons.iter().any(is_estimate) {
            for explanation in [&mut actual, &mut expected] {
                let is_behind = |reason: &WaitReason| matches!(reason, WaitReason::Behind { .. });
                explanation.reasons.retain(|reason| !is_behind(reason));
                explanation.eta = None;
            }
        }
        actual == expected
    }

    /// Returns the claim of the reply, if any.
    pub(super) fn claim(&self) -> Option<&Claim> {
        match self {
            Self::Claim(claim) => claim.as_ref(),
            Self::Completed(completed) => completed.next.as_ref(),
            _ => None,
        }
    }
}

fn ignore_level(reply: &mut Enqueued) {
    *reply.level_mut() = DurabilityLevel::Memory;
}

fn is_estimate(reason: &WaitReason) -> bool {
    matches!(
        reason,
        WaitReason::Behind {
            is_estimate: true,
            ..
        }
    )
}
