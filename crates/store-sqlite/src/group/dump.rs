//! Dumps the groups of a queue, to compare stores.

use rusqlite::{Connection, params};
use windlass_core::Job;
use windlass_core::dump::GroupDump;
use windlass_core::store::GroupName;
use windlass_core::time::Now;

use super::holds_slot;
use super::row::GroupRow;
use crate::error::TxResult;
use crate::row::{JobMeta, read_id};
use crate::sql::Sql;
use crate::transaction::QueueRow;

/// The groups of a queue, by name.
pub(crate) fn dump(
    db: &Connection,
    queue: &QueueRow,
    now: Now,
    jobs: &[(JobMeta, Job)],
) -> TxResult<Vec<GroupDump>> {
    let groups = GroupRow::select(db, "queue = ?1 ORDER BY name", [queue.key])?;
    let line = "SELECT id FROM job WHERE queue = ?1 AND state = 1 AND group_name = ?2
                ORDER BY lane, position";
    let mut dumps = Vec::new();
    for group in groups {
        let limit = group.limits.rate_limit(&queue.settings);
        let holds = |job: &JobMeta| {
            job.group.as_ref() == Some(&group.name) && holds_slot(&queue.settings, job)
        };
        let holders = jobs.iter().filter(|(meta, _)| holds(meta));
        let dump = GroupDump {
            record: group.record(&queue.settings, now),
            line: db.rows(line, params![queue.key, group.name.as_str()], |row| {
                read_id(row, 0)
            })?,
            holders: holders.map(|(meta, _)| meta.id.clone()).collect(),
            rate_next_us: limit.and(Some(group.rate_next_us).filter(|next| *next > now.us)),
        };
        if dump.record.exists() || dump.rate_next_us.is_some() {
            dumps.push(dump);
        }
    }
    Ok(dumps)
}

/// The groups with ready jobs by turn, `None` for the jobs without a group. Empty if no group has ready jobs.
pub(crate) fn turns(db: &Connection, queue: &QueueRow) -> TxResult<Vec<Option<GroupName>>> {
    let groups = GroupRow::select(db, "queue = ?1 ORDER BY name", [queue.key])?;
    let waiting = groups.into_iter().filter(|group| group.ready > 0);
    let mut turns: Vec<_> = waiting
        .map(|group| (group.turn, Some(group.name)))
        .collect();
    if !turns.is_empty() {
        turns.push((queue.counters.ungrouped_turn, None));
    }
    turns.sort();
    Ok(turns.into_iter().map(|(_, name)| name).collect())
}
