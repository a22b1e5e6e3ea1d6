//! snooze: postpones jobs, their group or their queue.

use clap::{ArgGroup, Args};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use windlass_core::store::{Snooze as CoreSnooze, SnoozeScope};
use windlass_core::{Due, Error as CoreError, QueueName, Result, Store};

use super::{OutcomesReply, both, ids, items, reply};
use crate::enqueue::{TimeValue, due};
use crate::request::claim::job_lease;
use crate::request::{ApiResult, QueueRequest};

/// Postpones jobs, their group or their queue without counting the attempt.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema, Args)]
#[serde(default, deny_unknown_fields)]
#[command(group(ArgGroup::new("when").required(true)))]
pub struct Snooze {
    /// Job id
    #[arg(required = true)]
    pub id: Option<String>,
    /// Lease token of the claim
    #[arg(long, value_name = "T", required = true)]
    pub token: Option<String>,
    /// Postpone by this long
    #[arg(
        long = "for",
        value_name = "D",
        group = "when",
        allow_hyphen_values = true
    )]
    pub delay: Option<String>,
    /// Postpone until this time, for example 2030-01-31T12:00:00Z
    #[arg(
        long = "until",
        value_name = "T",
        group = "when",
        allow_hyphen_values = true
    )]
    pub at: Option<TimeValue>,
    /// What to postpone: job, group or queue [default: job]
    #[arg(long)]
    pub scope: Option<String>,
    /// Several jobs. Excludes the fields of one job.
    #[arg(skip)]
    pub jobs: Option<Vec<SnoozedJob>>,
}

/// A snoozed job.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct SnoozedJob {
    /// The job id.
    pub id: String,
    /// The token of the claim.
    pub token: String,
    /// How long to postpone.
    pub delay: Option<String>,
    /// Until when to postpone. Excludes `delay`.
    pub at: Option<TimeValue>,
    /// What to postpone: `job`, `group` or `queue` (default: job).
    pub scope: Option<String>,
}

impl SnoozedJob {
    fn snooze(self) -> Result<CoreSnooze> {
        let lease = job_lease(&self.id, &self.token)?;
        let at = self.at.map(|at| at.text());
        let due = due(self.delay.as_deref(), at.as_deref())?;
        if due == Due::Now {
            return Err(CoreError::invalid(
                "snooze",
                "no time set",
                "set delay or at",
            ));
        }
        let scope = self.scope.as_deref().map(scope).transpose()?;
        Ok(lease.snooze(due).scope(scope.unwrap_or(SnoozeScope::Job)))
    }
}

fn scope(text: &str) -> Result<SnoozeScope> {
    let names: Vec<_> = SnoozeScope::ALL
        .iter()
        .map(|scope| scope.as_str())
        .collect();
    SnoozeScope::from_text(text).ok_or_else(|| CoreError::unknown("scope", text, &names))
}

impl QueueRequest for Snooze {
    const OP: &'static str = "snooze";
    type Reply = OutcomesReply;

    async fn execute(self, store: &dyn Store, queue: &QueueName) -> ApiResult<OutcomesReply> {
        let (delay, at, scope) = (self.delay, self.at, self.scope);
        let has_job_fields = delay.is_some() || at.is_some() || scope.is_some();
        let one = both(self.id, self.token, |id, token| SnoozedJob {
            id,
            token,
            delay,
            at,
            scope,
        });
        let (jobs, is_one) = items(one, self.jobs, has_job_fields)?;
        let snoozes = jobs
            .into_iter()
            .map(SnoozedJob::snooze)
            .collect::<Result<Vec<_>>>()?;
        let ids = ids(snoozes.iter().map(|snooze| &snooze.lease));
        let statuses = store.snooze(queue, snoozes).await?;
        reply(queue, &ids, &statuses, is_one, None)
    }
}
