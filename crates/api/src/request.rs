//! Requests: one type per op, parsed from JSON and executed by the store.
//!
//! An interface takes `op` and `queue` from its input (a line, a path, a body), parses the rest as the
//! type of the op, and returns the reply. The store makes every decision.

mod actions;
mod apply;
mod change;
mod claim;
mod enqueue;
mod errors;
mod group;
mod history;
mod maintenance;
mod outcome;
mod queue;
mod read;
mod schedule;
mod schedule_runs;
mod worker;

use std::future::Future;
use std::str::FromStr;
use std::time::Duration;

use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use windlass_core::{Error as CoreError, QueueName, Store};

use crate::error::Error;

pub use actions::{ActionReply, Actions, ActionsReply, target_of};
pub use apply::{AppliedSchedule, ApplyReply, ApplySchedules};
pub use change::{Cancel, ChangedJobReply, ChangesReply, Delete, JobSelector, Promote, Retry};
pub use claim::{Accept, Claim, ClaimMode, Progress, Renew, RenewLeases};
pub use enqueue::{Enqueue, EnqueueAll, EnqueueAllReply};
pub use errors::{ClearError, ClearErrorReply, Errors, ErrorsReply};
pub use group::{GetGroup, Groups, GroupsReply, LimitValue, PauseGroup, ResumeGroup, SetGroup};
pub use history::{History, HistoryReply};
pub use maintenance::{Audit, AuditReply, Maintain};
pub use outcome::{
    Complete, CompletedJob, Fail, FailedJob, LeasedJob, OutcomesReply, Release, Snooze, SnoozedJob,
};
pub use queue::{
    DeleteQueue, DeleteQueueReply, Pause, Purge, PurgeReply, Queues, Resume, Set, ShowSettings,
    Stats, read_stats,
};
pub use read::{Export, Get, List, ListReply, Wait, WaitReply, Why};
pub use schedule::{
    DeleteSchedule, DeleteScheduleReply, GetSchedule, PauseSchedule, ResumeSchedule, Schedules,
    SchedulesReply,
};
pub use schedule_runs::{
    Backfill, BackfillReply, InstantReply, NextInstants, NextInstantsReply, RunSchedule,
    RunScheduleReply,
};
pub use worker::{
    CommandWorker, CommandWorkerReply, FailWorker, FailWorkerReply, Heartbeat, HeartbeatReply,
    Leave, LeaveReply, Register, RegisterReply, RunningJob, Workers,
};

/// The longest wait of one request. To wait longer, repeat the request.
pub(crate) const WAIT_MAX: Duration = Duration::from_secs(60);

/// Returns a parser of a number on the command line. Its error has the code of an invalid value.
pub(crate) fn number<N: FromStr>(
    what: &'static str,
    help: &'static str,
) -> impl Fn(&str) -> Result<N, CoreError> + Clone {
    move |text| {
        let number = text.parse();
        number.map_err(|_| CoreError::invalid(what, format!("{text:?} is not a number"), help))
    }
}

/// The result of a request.
pub type ApiResult<T> = Result<T, Error>;

/// An op on one queue.
pub trait QueueRequest: Serialize + DeserializeOwned + JsonSchema + Clone + Send + 'static {
    /// The name of the op, the same in every interface.
    const OP: &'static str;
    /// The reply.
    type Reply: Serialize + DeserializeOwned + JsonSchema + Send;

    /// Executes the request.
    fn execute(
        self,
        store: &dyn Store,
        queue: &QueueName,
    ) -> impl Future<Output = ApiResult<Self::Reply>> + Send;
}

/// An op on the store.
pub trait StoreRequest: Serialize + DeserializeOwned + JsonSchema + Clone + Send + 'static {
    /// The name of the op, the same in every interface.
    const OP: &'static str;
    /// The reply.
    type Reply: Serialize + DeserializeOwned + JsonSchema + Send;

    /// Executes the request.
    fn execute(self, store: &dyn Store) -> impl Future<Output = ApiResult<Self::Reply>> + Send;
}
