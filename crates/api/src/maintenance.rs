//! What a clean did, as doors show it.

use schemars::JsonSchema;
use serde::Serialize;
use windlass_core::{Audited, Maintained, QueueName};

/// How many repairs are listed one by one; all are counted.
const REPAIRS_LISTED_MAX: usize = 100;

/// What a light or deep clean did, over one queue or many.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, JsonSchema)]
#[expect(
    missing_docs,
    reason = "the fields are those of `windlass_core::upkeep`"
)]
pub struct MaintenanceReply {
    pub promoted: u64,
    pub reaped: u64,
    pub expired: u64,
    pub pruned: u64,
    pub forgotten: u64,
    /// Jobs a deep clean looked at.
    pub checked: u64,
    pub repaired: u64,
    /// The first hundred of them.
    pub repairs: Vec<RepairReply>,
}

/// One inconsistency found and mended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[expect(
    missing_docs,
    reason = "the fields are those of `windlass_core::Repair`"
)]
pub struct RepairReply {
    pub queue: String,
    pub code: &'static str,
    pub id: Option<String>,
    pub message: String,
}

impl MaintenanceReply {
    /// Adds what one step of a light clean did.
    pub fn add_maintained(&mut self, maintained: Maintained) {
        self.promoted += maintained.promoted;
        self.reaped += maintained.reaped;
        self.expired += maintained.expired;
        self.pruned += maintained.pruned;
        self.forgotten += maintained.forgotten;
    }

    /// Adds what one page of a deep clean did.
    pub fn add_audited(&mut self, queue: &QueueName, audited: &Audited) {
        self.checked += audited.checked;
        self.repaired += audited.repairs.len() as u64;
        let room = REPAIRS_LISTED_MAX.saturating_sub(self.repairs.len());
        self.repairs
            .extend(audited.repairs.iter().take(room).map(|repair| RepairReply {
                queue: queue.to_string(),
                code: repair.code,
                id: repair.id.as_ref().map(ToString::to_string),
                message: repair.message.clone(),
            }));
    }

    /// Whether there was nothing to do.
    pub fn is_idle(&self) -> bool {
        let kept_moving = self.promoted + self.reaped + self.expired;
        kept_moving + self.pruned + self.forgotten + self.repaired == 0
    }
}
