//! The ended ids, held keys and amendments of a dump.

use windlass_core::store::UniqueKey;
use windlass_core::{Enqueued, JobId, JobState, Result, Timestamp};

use super::Stored;
use crate::codec::end::Tombstone;

/// The tombstones of a queue by kind, as a dump has them.
#[derive(Default)]
pub(super) struct Remembered {
    pub(super) ids: Vec<(JobId, JobState, Timestamp)>,
    pub(super) keys: Vec<(UniqueKey, JobId, JobState, Timestamp)>,
    pub(super) amendments: Vec<(JobId, Enqueued, Timestamp)>,
}

impl Stored {
    /// What is remembered of ended ids, held keys and amendments.
    pub(super) fn tombstones(&self, now: Timestamp) -> Result<Remembered> {
        let mut found = Remembered::default();
        for (name, tombstone) in &self.tombstones {
            let (tombstone, until) = Tombstone::read(name, tombstone)?;
            match tombstone {
                _ if until <= now => {}
                Tombstone::Id(id, state) => found.ids.push((id, state, until)),
                Tombstone::Key(key, id, state) => found.keys.push((key, id, state, until)),
                Tombstone::Amendment(id, reply) => found.amendments.push((id, reply, until)),
            }
        }
        Ok(found)
    }
}
