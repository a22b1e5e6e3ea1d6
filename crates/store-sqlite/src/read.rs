//! queues, get, list, stats: read-only verbs.
//!
//! Each listing follows an index: all jobs by id, finished jobs by end time, waiting jobs by lane
//! order, running jobs by claim, pending jobs by id. A cursor names the last row read.

use std::path::Path;

use rusqlite::{Connection, params};
use windlass_core::filter::SearchBudget;
use windlass_core::limits::SEARCH_JOBS_MAX;
use windlass_core::store::{Cursor, JobPage, Stats};
use windlass_core::time::Now;
use windlass_core::{Error, Filter, Job, JobId, JobState, Priority, QueueName, Timestamp};

use crate::error::TxResult;
use crate::group;
use crate::lane;
use crate::row::{self, Blobs, JobMeta, state_number};
use crate::schedule;
use crate::sql::Sql;
use crate::transaction::QueueRow;

pub(crate) fn queues(db: &Connection) -> TxResult<Vec<QueueName>> {
    db.rows(
        "SELECT name FROM queue WHERE stats > '' ORDER BY name",
        [],
        |row| row::queue_name(&row.get::<_, String>(0)?),
    )
}

pub(crate) fn get(db: &Connection, name: &QueueName, id: &JobId) -> TxResult<Option<Job>> {
    Ok(find(db, name, id, Blobs::Read)?.map(|(_, job)| job))
}

/// A job with the end of its lease.
pub(crate) fn find(
    db: &Connection,
    name: &QueueName,
    id: &JobId,
    blobs: Blobs,
) -> TxResult<Option<(JobMeta, Job)>> {
    let condition = "queue = (SELECT key FROM queue WHERE name = ?1) AND id = ?2";
    let params = [name.as_str(), id.as_str()];
    let found = row::select_jobs(db, name, blobs, condition, params)?;
    let Some((meta, mut job)) = found.into_iter().next() else {
        return Ok(None);
    };
    if let Some(token) = job.token {
        let lease = "SELECT until FROM claim JOIN lease USING (queue, owner)
             WHERE queue = (SELECT key FROM queue WHERE name = ?1) AND number = ?2 AND until > 0";
        let until = db.value::<u64>(lease, params![name.as_str(), row::sql_number(token)])?;
        job.lease_until = until.map(Timestamp::from_ms);
    }
    Ok(Some((meta, job)))
}

pub(crate) fn list(
    db: &Connection,
    name: &QueueName,
    filter: &Filter,
    from: Option<&Cursor>,
    limit: usize,
    clock_us: u64,
) -> TxResult<JobPage<Job>> {
    let Some(queue) = QueueRow::find(db, name)? else {
        return Ok(JobPage::default());
    };
    let now = Now::guard(queue.mark_us, clock_us).ms();
    let ids = page(db, &queue, filter, from, limit, now)?;
    let mut items = Vec::with_capacity(ids.items.len());
    for id in &ids.items {
        items.extend(job(db, &queue, id, Blobs::Skip)?);
    }
    Ok(JobPage {
        items,
        next: ids.next,
        scanned: ids.scanned,
    })
}

fn job(db: &Connection, queue: &QueueRow, id: &JobId, blobs: Blobs) -> TxResult<Option<Job>> {
    let (condition, params) = ("queue = ?1 AND id = ?2", params![queue.key, id.as_str()]);
    let found = row::select_jobs(db, &queue.name, blobs, condition, params)?;
    Ok(found.into_iter().next().map(|(_, job)| job))
}

/// One page of the ids that match a filter. Reads up to `limit` rows of the index of its state, or as many as a search
/// may examine.
pub(crate) fn page(
    db: &Connection,
    queue: &QueueRow,
    filter: &Filter,
    from: Option<&Cursor>,
    limit: usize,
    now: Timestamp,
) -> TxResult<JobPage<JobId>> {
    let from = Position::read(from)?;
    let rows = if filter.is_search() {
        SEARCH_JOBS_MAX
    } else {
        limit
    };
    let seen = match filter.state {
        Some(JobState::Running) => running(db, queue, &from, rows)?,
        Some(JobState::Pending) => pending(db, queue, &from, rows)?,
        Some(JobState::Ready) => ready(db, queue, &from, rows)?,
        state => indexed(db, queue, state, &from, rows)?,
    };
    let blobs = if filter.reads_payloads() {
        Blobs::Payload
    } else {
        Blobs::Skip
    };
    let wanted = filter.kind.as_ref().map(|kind| kind.as_str());
    let mut budget = SearchBudget::default();
    let mut page = JobPage::default();
    for (position, kind) in &seen {
        let id = row::job_id(position.job_id())?;
        let mut is_match = wanted.is_none_or(|wanted| kind.as_deref() == Some(wanted));
        let mut bytes = 0;
        if is_match && filter.reads_jobs() {
            let job = job(db, queue, &id, blobs)?;
            is_match = job.as_ref().is_some_and(|job| filter.matches(job, now));
            bytes = job
                .and_then(|job| job.payload)
                .map_or(0, |bytes| bytes.len());
        }
        budget.spend(bytes);
        if is_match {
            page.items.push(id);
        }
        if page.items.len() == limit || budget.rest() == 0 {
            let has_more = budget.jobs() < seen.len() || seen.len() >= rows;
            page.next = has_more.then(|| position.write());
            break;
        }
    }
    page.scanned = budget.jobs();
    Ok(page)
}

/// A position in a listing: two numbers whose meaning depends on the index, and an id. The group of a ready job and a
/// tab, which no name contains, precede its id.
#[derive(Debug)]
struct Position {
    major: i64,
    minor: i64,
    id: String,
}

impl Position {
    fn write(&self) -> Cursor {
        Cursor(format!("{},{},{}", self.major, self.minor, self.id))
    }

    /// The group of a ready job.
    fn group(&self) -> Option<&str> {
        self.id.split_once('\t').map(|(group, _)| group)
    }

    fn job_id(&self) -> &str {
        self.id.split_once('\t').map_or(&self.id, |(_, id)| id)
    }

    fn read(cursor: Option<&Cursor>) -> TxResult<Self> {
        let Some(Cursor(text)) = cursor else {
            return Ok(Self {
                major: i64::MIN,
                minor: i64::MIN,
                id: String::new(),
            });
        };
        let parse = || {
            let mut fields = text.splitn(3, ',');
            Some(Self {
                major: fields.next()?.parse().ok()?,
                minor: fields.next()?.parse().ok()?,
                id: fields.next()?.to_owned(),
            })
        };
        Ok(parse().ok_or_else(invalid_cursor)?)
    }
}

/// Jobs after a position in the index of their state: their positions and kinds.
fn indexed(
    db: &Connection,
    queue: &QueueRow,
    state: Option<JobState>,
    from: &Position,
    limit: usize,
) -> TxResult<Vec<(Position, Option<String>)>> {
    let finished;
    let (major, minor, rest) = match state {
        None => ("0", "0", "id > ?4 ORDER BY id"),
        Some(JobState::Scheduled) => (
            "due_at",
            "0",
            "state = 0 AND (due_at, id) > (?2, ?4) ORDER BY due_at, id",
        ),
        Some(JobState::Ready | JobState::Running) => (
            "lane",
            "position",
            "state = 1 AND group_name IS NULL AND (lane, position) > (?2, ?3)
             ORDER BY lane, position",
        ),
        Some(state) => {
            // `finished_at IS NOT NULL` must be spelled out, or SQLite would not use the partial index.
            finished = format!(
                "state = {} AND finished_at IS NOT NULL AND (finished_at, id) > (?2, ?4)
                 ORDER BY finished_at, id",
                state_number(state)
            );
            ("finished_at", "0", finished.as_str())
        }
    };
    let sql =
        format!("SELECT {major}, {minor}, id, kind FROM job WHERE queue = ?1 AND {rest} LIMIT ?5");
    let params = params![queue.key, from.major, from.minor, from.id, limit];
    db.rows(&sql, params, |row| {
        let position = Position {
            major: row.get(0)?,
            minor: row.get(1)?,
            id: row.get(2)?,
        };
        Ok((position, row.get(3)?))
    })
}

/// Ready jobs: those without a group by lane and position, then those of each group.
fn ready(
    db: &Connection,
    queue: &QueueRow,
    from: &Position,
    limit: usize,
) -> TxResult<Vec<(Position, Option<String>)>> {
    let mut seen = Vec::new();
    if from.group().is_none() {
        seen = indexed(db, queue, Some(JobState::Ready), from, limit)?;
    }
    if seen.len() >= limit || queue.counters.grouped_ready == 0 {
        return Ok(seen);
    }
    let sql = "SELECT lane, position, group_name, id, kind FROM job
         WHERE queue = ?1 AND state = 1 AND (group_name, lane, position) > (?2, ?3, ?4)
         ORDER BY group_name, lane, position LIMIT ?5";
    let (group, rest) = (from.group().unwrap_or_default(), limit - seen.len());
    let params = params![queue.key, group, from.major, from.minor, rest];
    seen.extend(db.rows(sql, params, |row| {
        let (group, id): (String, String) = (row.get(2)?, row.get(3)?);
        let position = Position {
            major: row.get(0)?,
            minor: row.get(1)?,
            id: format!("{group}\t{id}"),
        };
        Ok((position, row.get(4)?))
    })?);
    Ok(seen)
}

/// Running jobs by their claim and position within it.
fn running(
    db: &Connection,
    queue: &QueueRow,
    from: &Position,
    limit: usize,
) -> TxResult<Vec<(Position, Option<String>)>> {
    let mut seen = Vec::new();
    let mut claims = db.prepare_cached(
        "SELECT claim.number, ids FROM claim JOIN claim_ids USING (queue, number)
         WHERE queue = ?1 AND number >= ?2 AND finished_at IS NULL ORDER BY number",
    )?;
    let leased = "SELECT kind FROM job WHERE queue = ?1 AND id = ?2 AND token_number = ?3";
    let mut rows = claims.query(params![queue.key, from.major])?;
    while seen.len() < limit
        && let Some(row) = rows.next()?
    {
        let number: i64 = row.get(0)?;
        let ids: String = row.get(1)?;
        for (index, id) in ids.lines().enumerate() {
            let minor = i64::try_from(index).unwrap_or(i64::MAX);
            if (number, minor) <= (from.major, from.minor) || seen.len() >= limit {
                continue;
            }
            let params = params![queue.key, id, number];
            if let Some(kind) = db.value(leased, params)? {
                let (major, id) = (number, id.to_owned());
                seen.push((Position { major, minor, id }, kind));
            }
        }
    }
    Ok(seen)
}

/// Pending jobs, which their schedules name.
fn pending(
    db: &Connection,
    queue: &QueueRow,
    from: &Position,
    limit: usize,
) -> TxResult<Vec<(Position, Option<String>)>> {
    let sql = "SELECT id, kind FROM schedule JOIN job ON job.queue = ?1 AND job.id = waiting
         WHERE schedule.queue = ?1 AND waiting > ?2 ORDER BY waiting LIMIT ?3";
    db.rows(sql, params![queue.key, from.id, limit], |row| {
        let (major, minor, id) = (0, 0, row.get(0)?);
        Ok((Position { major, minor, id }, row.get(1)?))
    })
}

pub(crate) fn stats(
    db: &Connection,
    path: &Path,
    name: &QueueName,
    clock_us: u64,
) -> TxResult<Option<Stats>> {
    let Some(queue) = QueueRow::find(db, name)? else {
        return Ok(None);
    };
    let now = Now::guard(queue.mark_us, clock_us);
    let opening = [queue.opens_at(now), group::next_opening(db, &queue, now)?];
    let now = now.ms();
    let mut stats = queue.counters.stats(now);
    stats.is_paused = queue.is_paused;
    let rest_ms = queue.counters.resting_until.checked_sub(now.as_ms());
    stats.resting_ms = rest_ms.filter(|rest_ms| *rest_ms > 0);
    let oldest = oldest_due(db, &queue)?;
    stats.oldest_ms = oldest.map(|due_at| now.as_ms().saturating_sub(due_at));
    // A claim that waits for the next due job must not spin while a due instant waits for disk space.
    let waits = schedule::waits_for_space(db, path, &queue, now)?;
    let firing = queue.fires_at.filter(|_| !waits);
    let next = [next_due(db, queue.key)?, firing]
        .into_iter()
        .chain(opening);
    let next = next.flatten().min();
    stats.next_due_ms = next.map(|due_at| due_at.saturating_sub(now.as_ms()));
    Ok(Some(stats))
}

/// When the next scheduled job of a queue is due.
pub(crate) fn next_due(db: &Connection, queue: i64) -> TxResult<Option<u64>> {
    let sql = "SELECT due_at FROM job WHERE queue = ?1 AND state = 0 ORDER BY due_at, id LIMIT 1";
    db.value(sql, [queue])
}

/// The earliest due time at the head of any lane of jobs without a group.
fn oldest_due(db: &Connection, queue: &QueueRow) -> TxResult<Option<u64>> {
    let head =
        "SELECT due_at FROM job WHERE queue = ?1 AND state = 1 AND group_name IS NULL AND lane = ?2
                ORDER BY position LIMIT 1";
    let mut heads = Vec::new();
    let ready = Priority::all().zip(queue.counters.ready);
    for (priority, _) in ready.filter(|(_, ready)| *ready > 0) {
        for lane in lane::lanes(priority) {
            heads.extend(db.value::<u64>(head, params![queue.key, lane])?);
        }
    }
    Ok(heads.into_iter().min())
}

/// The error for a cursor that this store did not issue.
pub(crate) fn invalid_cursor() -> Error {
    Error::invalid(
        "cursor",
        "not issued by this store",
        "start again without a cursor",
    )
}
