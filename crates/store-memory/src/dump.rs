//! Dumps the complete state of a queue.

use async_trait::async_trait;
use windlass_core::dump::{ClaimDump, Dump, GroupDump, LeaseDump, QueueDump};
use windlass_core::history::HISTORY_MINUTES;
use windlass_core::time::Now;
use windlass_core::{OutcomeStatus, Priority, QueueName, Result};

use crate::MemoryStore;
use crate::queue::{Queue, Remembered, Tombstone, lanes};

#[async_trait]
impl Dump for MemoryStore {
    async fn dump(&self, queue: &QueueName) -> Result<Option<QueueDump>> {
        Ok(self.read(queue, Queue::dump))
    }
}

impl Queue {
    fn dump(&self, now: Now) -> QueueDump {
        let lanes = Priority::all().map(|priority| {
            let [suspects, others] = lanes(priority);
            let jobs = |lane| self.lane(lane).cloned().collect();
            (jobs(suspects), jobs(others))
        });
        let leases = self.leases.iter().map(|(owner, lease)| LeaseDump {
            owner: owner.clone(),
            until: lease.until,
            length: lease.length,
            last: lease.last,
        });
        let claims = self
            .claims
            .iter()
            .filter(|(_, claim)| !claim.is_forgotten(now));
        let claims = claims.map(|(token, claim)| ClaimDump {
            token: *token,
            owner: claim.owner.clone(),
            seq: claim.seq,
            size: claim.ids.len(),
            remaining: claim.ids.len() - claim.left.len(),
            left: claim
                .left
                .iter()
                .filter(|(_, status)| **status != OutcomeStatus::Completed)
                .map(|(id, status)| (id.clone(), *status))
                .collect(),
            finished_at: claim.finished_at,
        });
        let (mut tombstones, mut held_keys, mut amendments) = (vec![], vec![], vec![]);
        for (name, Tombstone { reply, until }) in &self.tombstones {
            let (id, state, until) = (reply.id().clone(), reply.state(), *until);
            match name {
                _ if until <= now.ms() => {}
                Remembered::Key(key) => held_keys.push((key.clone(), id, state, until)),
                Remembered::Id(_) if reply.is_duplicate() => tombstones.push((id, state, until)),
                Remembered::Id(call) => amendments.push((call.clone(), reply.clone(), until)),
            }
        }
        let groups = self.groups.iter().map(|(name, group)| GroupDump {
            record: group.record(name, &self.settings, now),
            line: group.line.values().cloned().collect(),
            holders: group.holders.iter().cloned().collect(),
            rate_next_us: group.rate_next(&self.settings, now),
        });
        let groups = groups.filter(|group| group.record.exists() || group.rate_next_us.is_some());
        QueueDump {
            ready: lanes.collect(),
            groups: groups.collect(),
            turns: self.turns(),
            jobs: self.jobs.values().cloned().collect(),
            unique_keys: self.unique_keys.clone().into_iter().collect(),
            tombstones,
            held_keys,
            amendments,
            schedules: self.schedules.values().cloned().collect(),
            error_groups: self.error_groups(now),
            leases: leases.collect(),
            claims: claims.collect(),
            stats: self.stats(now),
            history: self.history(HISTORY_MINUTES, now),
            settings: self.settings.clone(),
            rate_next_us: self.settings.rate.map(|_| self.rate_next_us),
        }
    }
}
