//! maintain and audit: one bounded step of the light clean or the deep one.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use windlass_core::limits::PAGE;
use windlass_core::{Cursor, QueueName, Store};

use super::{Answer, QueueRequest};
use crate::maintenance::MaintenanceReply;

/// Promotes, reaps, expires and prunes a page of each.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Maintain {}

impl QueueRequest for Maintain {
    const OP: &'static str = "maintain";
    type Reply = MaintenanceReply;

    async fn answer(self, store: &dyn Store, queue: &QueueName) -> Answer<MaintenanceReply> {
        let mut reply = MaintenanceReply::default();
        reply.add_maintained(store.maintain(queue, PAGE).await?);
        Ok(reply)
    }
}

/// Checks and repairs a page of the queue.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Audit {
    /// Where the last page ended.
    pub cursor: Option<String>,
}

/// What a page of the deep clean did.
#[derive(Debug, Serialize, JsonSchema)]
pub struct AuditReply {
    /// The figures.
    #[serde(flatten)]
    pub clean: MaintenanceReply,
    /// Where the next page begins; nothing when the queue has been seen whole.
    pub next: Option<String>,
}

impl QueueRequest for Audit {
    const OP: &'static str = "audit";
    type Reply = AuditReply;

    async fn answer(self, store: &dyn Store, queue: &QueueName) -> Answer<AuditReply> {
        let audited = store.audit(queue, self.cursor.clone().map(Cursor)).await?;
        let mut clean = MaintenanceReply::default();
        clean.add_audited(queue, &audited);
        let next = audited.next.map(|next| next.0);
        Ok(AuditReply { clean, next })
    }
}
