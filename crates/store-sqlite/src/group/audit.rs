//! Audits groups: their places, their rates, and their counts of jobs.

use rusqlite::{Connection, params};
use windlass_core::QueueName;
use windlass_core::limits::{PAGE, SCAN_PAGE};
use windlass_core::store::{GroupName, GroupSlot, Repair};

use super::first_job;
use super::row::{FirstJob, GroupRow};
use crate::error::{TxError, TxResult};
use crate::lane::HOLDER;
use crate::sql::Sql;
use crate::transaction::{QueueRow, QueueTx};

/// A group whose counts disagree with its jobs: the stored and the counted ready jobs and slots.
#[derive(Debug)]
pub(crate) struct WrongGroup {
    name: GroupName,
    stored: (u64, u64),
    counted: (u64, u64),
}

impl QueueTx<'_> {
    /// Audits a page of groups after a name. Returns the last one, unless it was the last page.
    pub(crate) fn audit_groups(
        &mut self,
        after: &str,
        repairs: &mut Vec<Repair>,
    ) -> TxResult<Option<GroupName>> {
        let page = "queue = ?1 AND name > ?2 ORDER BY name LIMIT ?3";
        let page = GroupRow::select(self.db, page, params![self.queue.key, after, SCAN_PAGE])?;
        let last = page.last().filter(|_| page.len() == SCAN_PAGE);
        let last = last.map(|group| group.name.clone());
        for group in page {
            self.audit_group(group, repairs)?;
        }
        Ok(last)
    }

    fn audit_group(&mut self, mut group: GroupRow, repairs: &mut Vec<Repair>) -> TxResult<()> {
        let (settings, now) = (&self.queue.settings, self.now);
        let stored = (group.place, group.first, group.rate_next_us);
        let limit = group.limits.rate_limit(settings);
        // The rate of a group without ready jobs is cut when it gets one.
        let cut = match limit.filter(|_| group.ready > 0) {
            Some(limit) => limit.cut(group.rate_next_us, now.us),
            None => group.rate_next_us,
        };
        if cut != group.rate_next_us {
            group.rate_next_us = cut;
            let message = "its rate was closed for too long; it opens after one period at most";
            repairs.push(repair("group_rate_wrong", &group.name, message));
        }
        group.first = if group.ready == 0 {
            FirstJob::Missing
        } else {
            first_job(self.db, self.queue.key, settings, &group.name)?
        };
        group.place = group.find_place(settings, now);
        // A claim that finds a rate or a rest over corrects the place.
        let mut known = stored.0;
        known.opens_us = known.opens_us.filter(|opens_us| *opens_us > now.us);
        let is_misplaced = (known, stored.1) != (group.place, group.first);
        if is_misplaced && cut == stored.2 {
            repairs.push(repair(
                "group_misplaced",
                &group.name,
                "found its place again",
            ));
        }
        if is_misplaced || cut != stored.2 {
            group.is_changed = true;
            self.groups.insert(group.name.clone(), group);
            self.announce_work();
        }
        Ok(())
    }

    /// Adds the differences found to the current counts, which may have changed since.
    pub(crate) fn repair_groups(&mut self, wrong: &[WrongGroup]) -> TxResult<Vec<Repair>> {
        let mut repairs = Vec::new();
        let correct = |now: u64, stored: u64, counted: u64| (now + counted).saturating_sub(stored);
        for WrongGroup {
            name,
            stored,
            counted,
        } in wrong
        {
            let group = self.group_mut(name)?;
            group.ready = correct(group.ready, stored.0, counted.0);
            group.slots = correct(group.slots, stored.1, counted.1);
            group.first = if group.ready == 0 {
                FirstJob::Missing
            } else {
                FirstJob::Unknown
            };
            let message = format!(
                "counted {} ready jobs and {} slots, found {} and {}",
                stored.0, stored.1, counted.0, counted.1
            );
            repairs.push(repair("group_miscounted", name, &message));
        }
        self.announce_work();
        self.changed();
        Ok(repairs)
    }
}

/// Counts the jobs of all groups of a queue in a snapshot. Returns up to a page of groups with other counts. Slow; other
/// calls do not wait for it.
pub(crate) fn wrong_groups(db: &Connection, name: &QueueName) -> TxResult<Vec<WrongGroup>> {
    let Some(queue) = QueueRow::find(db, name)? else {
        return Ok(Vec::new());
    };
    let holds_slot = match queue.settings.group_slot {
        GroupSlot::Run => "state = 2".to_owned(),
        GroupSlot::Job => format!("lane = {HOLDER} AND state < 3"),
        GroupSlot::Success => format!("lane = {HOLDER} AND (state < 3 OR state = 4)"),
    };
    let counted = format!(
        "SELECT group_name, sum(state = 1) AS ready, sum({holds_slot}) AS slots
         FROM job WHERE queue = ?1 AND group_name IS NOT NULL GROUP BY group_name"
    );
    let sql = format!(
        "WITH counted AS ({counted}),
              names AS (SELECT group_name AS name FROM counted
                        UNION SELECT name FROM job_group WHERE queue = ?1)
         SELECT names.name, ifnull(job_group.ready, 0), ifnull(job_group.slots, 0),
                ifnull(counted.ready, 0), ifnull(counted.slots, 0)
         FROM names
         LEFT JOIN counted ON counted.group_name = names.name
         LEFT JOIN job_group ON job_group.queue = ?1 AND job_group.name = names.name
         WHERE ifnull(job_group.ready, 0) <> ifnull(counted.ready, 0)
             OR ifnull(job_group.slots, 0) <> ifnull(counted.slots, 0)
         ORDER BY names.name LIMIT ?2"
    );
    db.rows(&sql, params![queue.key, PAGE], |row| {
        let name: String = row.get(0)?;
        Ok(WrongGroup {
            name: GroupName::new(&name).map_err(|_| TxError::corrupt("group name", &name))?,
            stored: (row.get(1)?, row.get(2)?),
            counted: (row.get(3)?, row.get(4)?),
        })
    })
}

fn repair(code: &'static str, group: &GroupName, message: &str) -> Repair {
    Repair {
        code,
        id: None,
        message: format!("group {group}: {message}"),
    }
}
