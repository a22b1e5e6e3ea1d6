//! maintain and audit.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use windlass_core::limits::PAGE;
use windlass_core::store::Cursor;
use windlass_core::{QueueName, Store};

use super::{ApiResult, QueueRequest};
use crate::maintenance::MaintenanceReply;

/// Fires, promotes, reaps, expires and prunes one page of jobs each, and computes the instants that
/// schedules need.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Maintain {
    /// The maximum number of jobs of each kind, up to 100 (default: 100).
    pub limit: Option<usize>,
}

impl QueueRequest for Maintain {
    const OP: &'static str = "maintain";
    type Reply = MaintenanceReply;

    async fn execute(self, store: &dyn Store, queue: &QueueName) -> ApiResult<MaintenanceReply> {
        let mut reply = MaintenanceReply::default();
        let limit = self.limit.unwrap_or(PAGE);
        reply.add_maintained(&windlass_schedule::maintain(store, queue, limit).await?);
        Ok(reply)
    }
}

/// Checks and repairs one page of the queue.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Audit {
    /// `next` of the previous page.
    pub cursor: Option<String>,
}

/// The reply to audit.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct AuditReply {
    /// The counts and repairs.
    #[serde(flatten)]
    pub maintenance: MaintenanceReply,
    /// The cursor of the next page; null on the last page.
    pub next: Option<String>,
}

impl QueueRequest for Audit {
    const OP: &'static str = "audit";
    type Reply = AuditReply;

    async fn execute(self, store: &dyn Store, queue: &QueueName) -> ApiResult<AuditReply> {
        let audited = store.audit(queue, self.cursor.clone().map(Cursor)).await?;
        let mut maintenance = MaintenanceReply::default();
        maintenance.add_audited(queue, &audited);
        let next = audited.next.map(|next| next.0);
        Ok(AuditReply { maintenance, next })
    }
}
