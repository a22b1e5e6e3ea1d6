//! audit: finds and repairs damage that a crash cannot cause, but a manual edit of the file can.
//!
//! One row per job rules out most inconsistencies. What remains is checked page by page: running
//! jobs without an open claim or lease, claims with wrong counts, payloads without a job, tombstones that
//! cannot be read or whose unique key an unfinished job has, schedules that follow ended jobs, ready jobs in another
//! lane than theirs, groups that wait in the wrong place, a rate that is closed for too long, rows of the history that
//! cannot be read, and finally stats and groups that disagree with the rows.

use rusqlite::{Connection, params};
use windlass_core::limits::{CLAIM_MAX, SCAN_PAGE};
use windlass_core::store::{Audited, Cursor, Repair};
use windlass_core::{Filter, JobState, QueueName, Result, Token};

use crate::SqliteStore;
use crate::error::TxResult;
use crate::group;
use crate::read::{self, invalid_cursor};
use crate::row::{JobMeta, state_of};
use crate::sql::Sql;
use crate::stats::Counters;
use crate::tombstone::{AFTER_KEYS, KEY_MARK, Tombstone};
use crate::transaction::{QueueRow, QueueTx};

/// Claims per page, so that a page has at most `SCAN_PAGE` jobs.
const CLAIMS_PAGE: usize = SCAN_PAGE / CLAIM_MAX;

/// What a page of the audit checks.
#[derive(Debug)]
pub(crate) enum AuditStage {
    Jobs(Option<Cursor>),
    /// Open claims after this number.
    Claims(u64),
    /// Large payloads after this key.
    Payloads(i64),
    /// Tombstones after this name.
    Tombstones(String),
    /// Schedules after this name.
    Schedules(String),
    /// Groups after this name.
    Groups(String),
    Stats,
}

impl AuditStage {
    pub(crate) fn read(cursor: Option<&Cursor>) -> Result<Self> {
        let Some(Cursor(text)) = cursor else {
            return Ok(Self::Jobs(None));
        };
        let stage = match text.split_once(':') {
            Some(("jobs", rest)) => Some(Self::Jobs(Some(Cursor(rest.to_owned())))),
            Some(("claims", number)) => number.parse().ok().map(Self::Claims),
            Some(("payloads", key)) => key.parse().ok().map(Self::Payloads),
            Some(("tombstones", name)) => Some(Self::Tombstones(name.to_owned())),
            Some(("schedules", name)) => Some(Self::Schedules(name.to_owned())),
            Some(("groups", name)) => Some(Self::Groups(name.to_owned())),
            Some(("stats", _)) => Some(Self::Stats),
            _ => None,
        };
        stage.ok_or_else(invalid_cursor)
    }

    fn write(&self) -> Cursor {
        Cursor(match self {
            Self::Jobs(cursor) => {
                format!("jobs:{}", cursor.as_ref().map_or("", |Cursor(text)| text))
            }
            Self::Claims(number) => format!("claims:{number}"),
            Self::Payloads(key) => format!("payloads:{key}"),
            Self::Tombstones(name) => format!("tombstones:{name}"),
            Self::Schedules(name) => format!("schedules:{name}"),
            Self::Groups(name) => format!("groups:{name}"),
            Self::Stats => "stats:".to_owned(),
        })
    }
}

impl SqliteStore {
    /// Recounts what the stats and the groups count.
    pub(crate) async fn audit_stats(&self, queue: &QueueName) -> Result<Audited> {
        let name = queue.clone();
        let mut audited = Audited::default();
        if let Some(wrong) = self.long_read(move |db| wrong_stats(db, &name)).await? {
            let repair = self.on_queue(queue, move |tx| Ok(tx.repair_stats(&wrong)));
            audited.repairs.push(repair.await?);
        }
        let name = queue.clone();
        let wrong = self.long_read(move |db| group::wrong_groups(db, &name));
        let wrong = wrong.await?;
        if !wrong.is_empty() {
            let repairs = self.on_queue(queue, move |tx| tx.repair_groups(&wrong));
            audited.repairs.extend(repairs.await?);
        }
        Ok(audited)
    }
}

impl QueueTx<'_> {
    /// Audits one page of any stage except the stats.
    pub(crate) fn audit(&mut self, stage: &AuditStage) -> TxResult<Audited> {
        let mut audited = Audited::default();
        let next = match stage {
            AuditStage::Jobs(from) => self.audit_jobs(from.as_ref(), &mut audited)?,
            AuditStage::Claims(after) => self.audit_claims(*after, &mut audited.repairs)?,
            AuditStage::Payloads(after) => self.audit_payloads(*after, &mut audited.repairs)?,
            AuditStage::Tombstones(after) => self.audit_tombstones(after, &mut audited.repairs)?,
            AuditStage::Schedules(after) => {
                let last = self.audit_schedules(after, &mut audited.repairs)?;
                last.map_or(AuditStage::Groups(String::new()), |name| {
                    AuditStage::Schedules(name.to_string())
                })
            }
            AuditStage::Groups(after) => {
                let last = self.audit_groups(after, &mut audited.repairs)?;
                if last.is_none() {
                    self.audit_error_groups(&mut audited.repairs)?;
                }
                last.map_or(AuditStage::Stats, |name| {
                    AuditStage::Groups(name.to_string())
                })
            }
            AuditStage::Stats => return Ok(audited),
        };
        if !audited.repairs.is_empty() {
            self.changed();
        }
        audited.next = Some(next.write());
        Ok(audited)
    }

    fn audit_jobs(&mut self, from: Option<&Cursor>, audited: &mut Audited) -> TxResult<AuditStage> {
        let (all, now) = (Filter::default(), self.now.ms());
        let page = read::page(self.db, self.queue, &all, from, SCAN_PAGE, now)?;
        if from.is_none() {
            audited.repairs.extend(self.audit_rate());
            self.audit_history(&mut audited.repairs)?;
        }
        for id in &page.items {
            if let Some(job) = self.find(id)? {
                audited.repairs.extend(self.audit_job(&job)?);
            }
        }
        audited.checked = page.items.len() as u64;
        Ok(page
            .next
            .map_or(AuditStage::Claims(0), |next| AuditStage::Jobs(Some(next))))
    }

    fn audit_job(&mut self, job: &JobMeta) -> TxResult<Option<Repair>> {
        match (job.state, job.token) {
            (JobState::Running, token) => {
                if self.is_leased(token)? {
                    return Ok(None);
                }
                self.requeue_leased(vec![job.clone()])?;
                let message = "returned to the queue";
                Ok(Some(repair("running_without_lease", Some(job), message)))
            }
            (JobState::Pending, None) => self.audit_pending(job),
            (JobState::Ready, None) => self.audit_lane(job),
            (_, None) => Ok(None),
            (_, Some(_)) => {
                self.db.run(
                    "UPDATE job SET token_number = NULL, token_nonce = NULL WHERE key = ?1",
                    [job.key],
                )?;
                let message = "removed its stale token";
                Ok(Some(repair("held_but_not_running", Some(job), message)))
            }
        }
    }

    /// Moves a ready job that no claim would find, or too early or late.
    fn audit_lane(&mut self, job: &JobMeta) -> TxResult<Option<Repair>> {
        let lane = self.lane_in_line(job);
        if lane == job.lane {
            return Ok(None);
        }
        self.db.run(
            "UPDATE job SET lane = ?2 WHERE key = ?1",
            params![job.key, lane],
        )?;
        if let Some(group) = &job.group {
            self.refresh_first_job(group)?;
        }
        self.announce_work();
        let message = "returned to the lane of its priority";
        Ok(Some(repair("ready_in_wrong_lane", Some(job), message)))
    }

    /// Whether a token has an open claim under a lease.
    fn is_leased(&self, token: Option<Token>) -> TxResult<bool> {
        let sql = "SELECT 1 FROM claim JOIN lease USING (queue, owner)
                   WHERE queue = ?1 AND number = ?2 AND nonce = ?3 AND finished_at IS NULL";
        let Some(token) = token else {
            return Ok(false);
        };
        self.db
            .has(sql, params![self.queue.key, token.number, token.nonce])
    }

    /// Corrects the job counts of open claims; a claim without jobs is finished.
    fn audit_claims(&mut self, after: u64, repairs: &mut Vec<Repair>) -> TxResult<AuditStage> {
        let page = "number > ?2 ORDER BY number LIMIT ?3";
        let claims =
            self.open_claims("claim", page, params![self.queue.key, after, CLAIMS_PAGE])?;
        for claim in &claims {
            let found = self.leased_jobs(claim)?.len() as u64;
            if found != claim.remaining {
                self.db.run(
                    "UPDATE claim SET remaining = ?3, finished_at = iif(?3 = 0, ?4, NULL)
                     WHERE queue = ?1 AND number = ?2",
                    params![self.queue.key, claim.token.number, found, self.now_ms()],
                )?;
                let message = format!(
                    "claim {} counted {} remaining jobs, found {found}",
                    claim.token, claim.remaining
                );
                repairs.push(repair("claim_miscounted", None, &message));
            }
        }
        let last = claims.last().filter(|_| claims.len() == CLAIMS_PAGE);
        Ok(last.map_or(AuditStage::Payloads(0), |claim| {
            AuditStage::Claims(claim.token.number)
        }))
    }

    fn audit_payloads(&mut self, after: i64, repairs: &mut Vec<Repair>) -> TxResult<AuditStage> {
        let seen: Vec<(i64, bool)> = self.db.rows(
            "SELECT job, EXISTS (SELECT 1 FROM job WHERE key = large_payload.job)
             FROM large_payload WHERE job > ?1 ORDER BY job LIMIT ?2",
            params![after, SCAN_PAGE],
            |row| Ok((row.get(0)?, row.get(1)?)),
        )?;
        for (key, _) in seen.iter().filter(|(_, has_job)| !has_job) {
            self.drop_large_payload(*key)?;
            let message = format!("deleted payload {key}");
            repairs.push(repair("payload_without_job", None, &message));
        }
        let last = seen.last().filter(|_| seen.len() == SCAN_PAGE);
        Ok(
            last.map_or(AuditStage::Tombstones(String::new()), |(key, _)| {
                AuditStage::Payloads(*key)
            }),
        )
    }

    /// Deletes tombstones that cannot be read, and those of unique keys that an unfinished job has.
    fn audit_tombstones(&mut self, after: &str, repairs: &mut Vec<Repair>) -> TxResult<AuditStage> {
        let page = "queue = ?1 AND id > ?2 ORDER BY id LIMIT ?3";
        let seen = Tombstone::select(self.db, page, params![self.queue.key, after, SCAN_PAGE])?;
        for tombstone in &seen {
            let holder = match tombstone.key() {
                Some(key) => self.holder(key)?,
                None => None,
            };
            let name = tombstone.name.trim_start_matches(KEY_MARK);
            if !tombstone.is_readable() {
                self.drop_stored_tombstone(&tombstone.name)?;
                let message = format!("deleted the tombstone of {name}");
                repairs.push(repair("tombstone_unreadable", None, &message));
            } else if let Some(job) = holder {
                self.drop_stored_tombstone(&tombstone.name)?;
                let message = format!("the unique key {name} is not held by an ended job as well");
                repairs.push(repair("unique_key_held_twice", Some(&job), &message));
            }
        }
        let last = seen.last().filter(|_| seen.len() == SCAN_PAGE);
        Ok(
            last.map_or(AuditStage::Schedules(String::new()), |tombstone| {
                AuditStage::Tombstones(tombstone.name.clone())
            }),
        )
    }

    /// Adds the difference found to the current stats, which may have changed since.
    pub(crate) fn repair_stats(&mut self, (stored, counted): &(Counters, Counters)) -> Repair {
        self.queue.counters.repair(stored, counted);
        self.announce_free_slots();
        self.changed();
        repair("stats_wrong", None, "recounted all jobs")
    }
}

/// Counts all jobs of a queue in a snapshot. Returns the stored and the counted stats if they disagree.
/// Slow; other calls do not wait for it.
pub(crate) fn wrong_stats(
    db: &Connection,
    name: &QueueName,
) -> TxResult<Option<(Counters, Counters)>> {
    let Some(queue) = QueueRow::find(db, name)? else {
        return Ok(None);
    };
    let counted = count(db, &queue)?;
    let stored = queue.counters;
    Ok((stored != counted).then_some((stored, counted)))
}

/// Counts the rows. Lifetime totals cannot be recounted and are kept.
fn count(db: &Connection, queue: &QueueRow) -> TxResult<Counters> {
    let mut counters = Counters {
        total: queue.counters.total,
        enqueued: queue.counters.enqueued,
        ended: queue.counters.ended,
        turn: queue.counters.turn,
        ungrouped_turn: queue.counters.ungrouped_turn,
        resting_until: queue.counters.resting_until,
        failed: queue.counters.failed,
        sampled_s: queue.counters.sampled_s,
        ..Counters::default()
    };
    db.rows(
        "SELECT state, priority, count(*), sum(payload_bytes + ifnull(octet_length(error), 0)
             + ifnull(octet_length(result), 0)), count(group_name)
         FROM job WHERE queue = ?1 GROUP BY state, priority",
        [queue.key],
        |row| {
            let state = state_of(row.get(0)?)?;
            let (priority, count, bytes): (usize, u64, u64) =
                (row.get(1)?, row.get(2)?, row.get(3)?);
            let grouped: u64 = row.get(4)?;
            counters.bytes += bytes;
            match state {
                JobState::Ready => {
                    counters.ready[priority.min(9)] += count;
                    counters.grouped_ready += grouped;
                }
                JobState::Pending => counters.pending += count,
                JobState::Scheduled => counters.scheduled += count,
                JobState::Running => {
                    counters.running += count;
                    counters.grouped_running += grouped;
                }
                _ => {
                    let finished = counters.finished(state);
                    finished.count += count;
                    finished.bytes += bytes;
                }
            }
            Ok(())
        },
    )?;
    let rows = |table| {
        let sql = format!("SELECT count(*) FROM {table} WHERE queue = ?1");
        db.value(&sql, [queue.key]).map(Option::unwrap_or_default)
    };
    counters.tombstones = rows("tombstone")?;
    counters.schedules = rows("schedule")?;
    let keys = "SELECT count(*) FROM tombstone WHERE queue = ?1 AND id >= ?2 AND id < ?3";
    let params = params![queue.key, KEY_MARK.to_string(), AFTER_KEYS.to_string()];
    counters.held_keys = db.value(keys, params)?.unwrap_or_default();
    Ok(counters)
}

fn repair(code: &'static str, job: Option<&JobMeta>, message: &str) -> Repair {
    Repair {
        code,
        id: job.map(|job| job.id.clone()),
        message: message.to_owned(),
    }
}
