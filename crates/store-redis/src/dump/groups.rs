//! The groups of jobs and of errors in a dump.

use std::collections::BTreeMap;

use bytes::Bytes;
use windlass_core::dump::GroupDump;
use windlass_core::store::{ErrorGroup, GroupName, Settings, Stats};
use windlass_core::time::Now;
use windlass_core::{JobId, Result, Timestamp};

use super::Stored;
use super::source::Sorted;
use crate::codec::group::{GroupNumbers, StoredGroup};
use crate::codec::{damaged, error_group, job_id, text};

impl Stored {
    pub(super) fn groups(
        &self,
        numbers: &GroupNumbers,
        settings: &Settings,
    ) -> Result<Vec<StoredGroup>> {
        let groups = self.groups.iter();
        let read =
            |(name, record): (&Bytes, &Bytes)| StoredGroup::read(name, record, numbers, settings);
        groups.map(read).collect()
    }

    pub(super) fn group_dumps(
        &self,
        groups: &[StoredGroup],
        settings: &Settings,
        now: Now,
    ) -> Result<Vec<GroupDump>> {
        let (lines, holders) = (by_group(&self.lined)?, by_group(&self.working)?);
        let dump = |group: &StoredGroup| GroupDump {
            record: group.record(settings, now),
            line: lines.get(group.name.as_str()).cloned().unwrap_or_default(),
            holders: holders
                .get(group.name.as_str())
                .cloned()
                .unwrap_or_default(),
            rate_next_us: group.rate_next(settings, now),
        };
        let dumps = groups.iter().map(dump);
        let is_shown = |dump: &GroupDump| dump.record.exists() || dump.rate_next_us.is_some();
        let dumps: Vec<_> = dumps.filter(is_shown).collect();
        let mut names = lines.keys().chain(holders.keys());
        if names.all(|name| groups.iter().any(|group| group.name.as_str() == name)) {
            return Ok(dumps);
        }
        Err(damaged("group", "missing record"))
    }

    pub(super) fn error_groups(&self, now: Timestamp) -> Result<Vec<ErrorGroup>> {
        let groups = self.error_groups.iter();
        let groups = groups.map(|(name, record)| error_group::read(name, record, now));
        Ok(ErrorGroup::merge(groups.collect::<Result<Vec<_>>>()?))
    }
}

/// The groups with ready jobs by turn, `None` for the jobs without a group.
pub(super) fn turns(groups: &[StoredGroup], numbers: &GroupNumbers) -> Vec<Option<GroupName>> {
    let waiting = groups.iter().filter(|group| group.is_waiting());
    let mut turns: Vec<_> = waiting
        .map(|group| (group.turn, Some(group.name.clone())))
        .collect();
    if !turns.is_empty() {
        turns.push((numbers.ungrouped_turn(), None));
    }
    turns.sort();
    turns.into_iter().map(|(_, name)| name).collect()
}

/// The jobs of a sorted set with members `GROUP TAB … ID` by group, in order.
fn by_group(members: &Sorted) -> Result<BTreeMap<String, Vec<JobId>>> {
    let mut found = BTreeMap::<String, Vec<JobId>>::new();
    for (member, _) in members {
        let member = text("group", member)?;
        let ends = (member.split('\t').next(), member.rsplit('\t').next());
        let (Some(group), Some(id)) = ends else {
            return Err(damaged("group", "invalid member"));
        };
        let jobs = found.entry(group.to_owned()).or_default();
        jobs.push(job_id("group", id.as_bytes())?);
    }
    Ok(found)
}

/// When time allows the next group with ready jobs to start.
pub(super) fn next_opening(
    groups: &[StoredGroup],
    settings: &Settings,
    now: Now,
) -> Option<Timestamp> {
    let openings = groups.iter();
    openings
        .filter_map(|group| group.opening(settings, now))
        .min()
}

/// Adds the ready jobs with a group.
pub(super) fn add_ready(stats: &mut Stats, numbers: &GroupNumbers) {
    for (priority, count) in numbers.ready().into_iter().enumerate() {
        stats.ready += count;
        stats.ready_by_priority[priority] += count;
    }
}
