//! Replies to maintain and audit.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use windlass_core::limits::SCAN_PAGE;
use windlass_core::{Audited, JobId, Maintained, QueueName, Repair};

use crate::word::{self, Word};

/// The maximum number of repairs listed. All are counted.
const REPAIRS_LISTED_MAX: usize = 100;

/// What maintenance or an audit did, for one or more queues.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[expect(
    missing_docs,
    reason = "the fields are those of `windlass_core::maintenance`"
)]
pub struct MaintenanceReply {
    pub promoted: u64,
    pub reaped: u64,
    pub expired: u64,
    pub pruned: u64,
    pub forgotten: u64,
    pub stale: u64,
    /// Jobs checked by an audit.
    pub checked: u64,
    pub repaired: u64,
    /// The first 100 repairs.
    pub repairs: Vec<RepairReply>,
}

/// One inconsistency that an audit found and repaired.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[expect(
    missing_docs,
    reason = "the fields are those of `windlass_core::Repair`"
)]
pub struct RepairReply {
    pub queue: String,
    #[serde(deserialize_with = "word::read")]
    pub code: Word,
    pub id: Option<String>,
    pub message: String,
}

impl MaintenanceReply {
    /// Adds the result of one call of `maintain`.
    pub fn add_maintained(&mut self, maintained: Maintained) {
        self.promoted += maintained.promoted;
        self.reaped += maintained.reaped;
        self.expired += maintained.expired;
        self.pruned += maintained.pruned;
        self.forgotten += maintained.forgotten;
        self.stale += maintained.stale;
    }

    /// Adds the result of one page of an audit.
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

    /// Converts the reply to one call of `maintain` back.
    pub fn into_maintained(self) -> Maintained {
        Maintained {
            promoted: self.promoted,
            reaped: self.reaped,
            expired: self.expired,
            pruned: self.pruned,
            forgotten: self.forgotten,
            stale: self.stale,
        }
    }

    /// Converts the reply to one page of an audit back. Repairs that are not listed have the code
    /// `not_listed`.
    pub fn into_audited(self) -> Audited {
        let repair = |repair: RepairReply| Repair {
            code: repair.code,
            id: repair.id.and_then(|id| JobId::new(id).ok()),
            message: repair.message,
        };
        let mut repairs: Vec<_> = self.repairs.into_iter().map(repair).collect();
        let count = usize::try_from(self.repaired).unwrap_or(usize::MAX);
        repairs.resize_with(count.min(SCAN_PAGE).max(repairs.len()), || Repair {
            code: "not_listed",
            id: None,
            message: "repaired".to_owned(),
        });
        Audited {
            checked: self.checked,
            repairs,
            next: None,
        }
    }

    /// Returns whether there was nothing to do.
    pub fn is_idle(&self) -> bool {
        let moved = self.promoted + self.reaped + self.expired;
        moved + self.pruned + self.forgotten + self.stale + self.repaired == 0
    }
}
