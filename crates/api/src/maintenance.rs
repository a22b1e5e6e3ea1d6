//! Replies to maintain and audit.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use windlass_core::limits::{PAGE, SCAN_PAGE};
use windlass_core::store::{Audited, Maintained, Repair};
use windlass_core::{JobId, QueueName, Result, Store};

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
    #[serde(default)]
    pub instants: u64,
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
    reason = "the fields are those of `windlass_core::store::Repair`"
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
    pub fn add_maintained(&mut self, maintained: &Maintained) {
        self.instants += maintained.instants;
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
            instants: self.instants,
            promoted: self.promoted,
            reaped: self.reaped,
            expired: self.expired,
            pruned: self.pruned,
            forgotten: self.forgotten,
            stale: self.stale,
            // The server computed the instants.
            refills: Vec::new(),
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

    /// Runs maintenance on a queue until no page is full; jobs added meanwhile are not chased.
    pub async fn maintain(&mut self, store: &dyn Store, queue: &QueueName) -> Result<()> {
        loop {
            let maintained = windlass_schedule::maintain(store, queue, PAGE).await?;
            self.add_maintained(&maintained);
            if !is_page_full(&maintained) {
                return Ok(());
            }
        }
    }

    /// Audits a whole queue.
    pub async fn audit(&mut self, store: &dyn Store, queue: &QueueName) -> Result<()> {
        let mut from = None;
        loop {
            let audited = store.audit(queue, from).await?;
            self.add_audited(queue, &audited);
            from = audited.next;
            if from.is_none() {
                return Ok(());
            }
        }
    }

    /// Returns whether there was nothing to do.
    pub fn is_idle(&self) -> bool {
        let moved = self.instants + self.promoted + self.reaped + self.expired;
        moved + self.pruned + self.forgotten + self.stale + self.repaired == 0
    }
}

/// Returns whether a call stopped at its page limit, so that more may be left. Stale entries have no
/// page limit: the store decides how many it reads.
const fn is_page_full(maintained: &Maintained) -> bool {
    let page = PAGE as u64;
    // Forgotten ids count towards the pages of reaped and of pruned jobs.
    maintained.instants >= page
        || maintained.promoted >= page
        || maintained.expired >= page
        || maintained.reaped + maintained.forgotten >= page
        || maintained.pruned + maintained.forgotten >= page
        || maintained.stale > 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_full_page_is_followed_by_another() {
        let none = Maintained::default;
        for (maintained, is_full) in [
            (none(), false),
            (
                Maintained {
                    promoted: 99,
                    expired: 99,
                    ..none()
                },
                false,
            ),
            (
                Maintained {
                    promoted: 100,
                    ..none()
                },
                true,
            ),
            (
                Maintained {
                    reaped: 50,
                    pruned: 10,
                    forgotten: 49,
                    ..none()
                },
                false,
            ),
            (
                Maintained {
                    reaped: 50,
                    forgotten: 50,
                    ..none()
                },
                true,
            ),
            (
                Maintained {
                    pruned: 60,
                    forgotten: 40,
                    ..none()
                },
                true,
            ),
            (Maintained { stale: 1, ..none() }, true),
            (
                Maintained {
                    instants: 100,
                    ..none()
                },
                true,
            ),
        ] {
            assert_eq!(is_page_full(&maintained), is_full, "{maintained:?}");
        }
    }
}
