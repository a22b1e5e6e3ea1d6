//! get, list, stats: what readers see. Nothing here changes anything.
//!
//! Each listing follows an index: all jobs by id, finished ones by their end, waiting ones by
//! their turn, running ones by their claim. A cursor names the last row seen.

use rusqlite::{Connection, OptionalExtension, params};
use windlass_core::time::Now;
use windlass_core::{Cursor, Filter, Job, JobId, JobState, Page, QueueName, Stats};

use crate::fault::{Db, Fault};
use crate::row::{self, Large};
use crate::step::QueueRow;

/// Finished jobs of a state after a place, oldest first; that they have finished must be written
/// out, or SQLite would not see that the partial index serves.
macro_rules! finished_after {
    ($state:literal) => {
        concat!(
            "state = ",
            $state,
            " AND finished_at IS NOT NULL AND (finished_at, id) > (?2, ?4)
             ORDER BY finished_at, id"
        )
    };
}

pub(crate) fn get(db: &Connection, name: &QueueName, id: &JobId) -> Db<Option<Job>> {
    let condition = "queue = (SELECT key FROM queue WHERE name = ?1) AND id = ?2";
    let found = row::select_jobs(
        db,
        name,
        Large::With,
        condition,
        [name.as_str(), id.as_str()],
    )?;
    Ok(found.into_iter().next().map(|(_, job)| job))
}

pub(crate) fn list(
    db: &Connection,
    name: &QueueName,
    filter: &Filter,
    from: Option<&Cursor>,
    limit: usize,
) -> Db<Page<Job>> {
    let Some(queue) = QueueRow::find(db, name)? else {
        return Ok(Page {
            items: Vec::new(),
            next: None,
        });
    };
    let ids = page(db, &queue, filter, from, limit)?;
    let mut items = Vec::with_capacity(ids.items.len());
    for id in &ids.items {
        let condition = "queue = ?1 AND id = ?2";
        let params = params![queue.key, id.as_str()];
        let found = row::select_jobs(db, name, Large::Without, condition, params)?;
        items.extend(found.into_iter().map(|(_, job)| job));
    }
    Ok(Page {
        items,
        next: ids.next,
    })
}

/// One page of the ids that a filter means: up to `limit` rows of its index are looked at.
pub(crate) fn page(
    db: &Connection,
    queue: &QueueRow,
    filter: &Filter,
    from: Option<&Cursor>,
    limit: usize,
) -> Db<Page<JobId>> {
    let from = Place::read(from)?;
    let seen = match filter.state {
        Some(JobState::Running) => running(db, queue, &from, limit)?,
        state => indexed(db, queue, state, &from, limit)?,
    };
    let next = seen
        .last()
        .filter(|_| seen.len() >= limit)
        .map(|(place, _)| place.write());
    let wanted = filter.kind.as_ref().map(|kind| kind.as_str());
    let is_meant =
        |kind: &Option<String>| wanted.is_none_or(|wanted| kind.as_deref() == Some(wanted));
    let meant = seen.into_iter().filter(|(_, kind)| is_meant(kind));
    let items = meant
        .map(|(place, _)| row::job_id(&place.id))
        .collect::<Db<_>>()?;
    Ok(Page { items, next })
}

/// A place in a listing: two numbers whose meaning depends on the index, and the id there.
#[derive(Debug)]
struct Place {
    major: i64,
    minor: i64,
    id: String,
}

impl Place {
    fn write(&self) -> Cursor {
        Cursor(format!("{},{},{}", self.major, self.minor, self.id))
    }

    fn read(cursor: Option<&Cursor>) -> Db<Self> {
        let Some(Cursor(text)) = cursor else {
            return Ok(Self {
                major: i64::MIN,
                minor: i64::MIN,
                id: String::new(),
            });
        };
        let mut words = text.splitn(3, ',');
        let mut number = || words.next().and_then(|word| word.parse().ok());
        let (major, minor) = (number(), number());
        match (major, minor, words.next()) {
            (Some(major), Some(minor), Some(id)) => Ok(Self {
                major,
                minor,
                id: id.to_owned(),
            }),
            _ => Err(bad_cursor()),
        }
    }
}

/// Jobs after a place in the index of their state: their places and kinds.
fn indexed(
    db: &Connection,
    queue: &QueueRow,
    state: Option<JobState>,
    from: &Place,
    limit: usize,
) -> Db<Vec<(Place, Option<String>)>> {
    let (major, minor, rest) = match state {
        None => ("0", "0", "id > ?4 ORDER BY id"),
        Some(JobState::Scheduled) => (
            "due_at",
            "0",
            "state = 0 AND (due_at, id) > (?2, ?4) ORDER BY due_at, id",
        ),
        Some(JobState::Ready | JobState::Running) => (
            "priority * 2 + lane",
            "position",
            "state = 1 AND (priority, lane, position) > (?2 / 2, ?2 % 2, ?3)
             ORDER BY priority, lane, position",
        ),
        Some(JobState::Succeeded) => ("finished_at", "0", finished_after!("3")),
        Some(JobState::Dead) => ("finished_at", "0", finished_after!("4")),
        Some(JobState::Cancelled) => ("finished_at", "0", finished_after!("5")),
    };
    let sql =
        format!("SELECT {major}, {minor}, id, kind FROM job WHERE queue = ?1 AND {rest} LIMIT ?5");
    let mut statement = db.prepare_cached(&sql)?;
    let params = params![queue.key, from.major, from.minor, from.id, limit];
    let rows = statement.query_map(params, |row| {
        let place = Place {
            major: row.get(0)?,
            minor: row.get(1)?,
            id: row.get(2)?,
        };
        Ok((place, row.get(3)?))
    })?;
    Ok(rows.collect::<Result<_, _>>()?)
}

/// Running jobs by their claim and their place in it.
fn running(
    db: &Connection,
    queue: &QueueRow,
    from: &Place,
    limit: usize,
) -> Db<Vec<(Place, Option<String>)>> {
    let mut seen = Vec::new();
    let mut claims = db.prepare_cached(
        "SELECT claim.number, ids FROM claim JOIN claim_ids USING (queue, number)
         WHERE queue = ?1 AND number >= ?2 AND finished_at IS NULL ORDER BY number",
    )?;
    let mut held = db.prepare_cached(
        "SELECT kind FROM job WHERE queue = ?1 AND id = ?2 AND token_number = ?3",
    )?;
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
            if let Some(kind) = held.query_row(params, |row| row.get(0)).optional()? {
                seen.push((
                    Place {
                        major: number,
                        minor,
                        id: id.to_owned(),
                    },
                    kind,
                ));
            }
        }
    }
    Ok(seen)
}

pub(crate) fn stats(db: &Connection, name: &QueueName, clock_us: u64) -> Db<Option<Stats>> {
    let Some(queue) = QueueRow::find(db, name)? else {
        return Ok(None);
    };
    let now = Now::guard(queue.mark_us, clock_us).ms();
    let mut stats = queue.figures.stats(now);
    stats.is_paused = queue.is_paused;
    let oldest = oldest_due(db, &queue)?;
    stats.oldest_ms = oldest.map(|due_at| now.as_ms().saturating_sub(due_at));
    let next: Option<u64> = db
        .prepare_cached(
            "SELECT due_at FROM job WHERE queue = ?1 AND state = 0 ORDER BY due_at, id LIMIT 1",
        )?
        .query_row([queue.key], |row| row.get(0))
        .optional()?;
    stats.next_due_ms = next.map(|due_at| due_at.saturating_sub(now.as_ms()));
    Ok(Some(stats))
}

/// The earliest due time at the head of any lane.
fn oldest_due(db: &Connection, queue: &QueueRow) -> Db<Option<u64>> {
    let mut oldest: Option<u64> = None;
    let mut statement = db.prepare_cached(
        "SELECT due_at FROM job WHERE queue = ?1 AND state = 1 AND priority = ?2 AND lane = ?3
         ORDER BY position LIMIT 1",
    )?;
    for (priority, ready) in queue.figures.ready.iter().enumerate() {
        for lane in [0, 1].into_iter().filter(|_| *ready > 0) {
            let params = params![queue.key, priority, lane];
            let due: Option<u64> = statement.query_row(params, |row| row.get(0)).optional()?;
            oldest = [oldest, due].into_iter().flatten().min();
        }
    }
    Ok(oldest)
}

/// A cursor that this store did not give out.
pub(crate) fn bad_cursor() -> Fault {
    Fault::Refused(windlass_core::Error::invalid(
        "cursor",
        "it is not one this store gave out",
        "begin with the first page",
    ))
}
