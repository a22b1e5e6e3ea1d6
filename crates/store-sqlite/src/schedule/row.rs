//! Maps rows of the table `schedule` to records.

use std::fmt::Write;
use std::time::Duration;

use rusqlite::{Connection, Params, Row, params};
use windlass_core::schedule::{KNOWN_FOREVER, next_refill};
use windlass_core::store::{
    Occurrence, PlannedInstant, ScheduleEnd, ScheduleRecord, ScheduleTotals, SkipReason,
};
use windlass_core::time::as_ms;
use windlass_core::{Bytes, JobId, JobState, Schedule, ScheduleName, Timestamp};

use super::definition;
use crate::error::{TxError, TxResult};
use crate::sql::Sql;

/// The records of the schedules that meet a condition on the table `schedule`, in its order.
pub(crate) fn select(
    db: &Connection,
    condition: &str,
    params: impl Params,
) -> TxResult<Vec<ScheduleRecord>> {
    let sql = format!(
        "SELECT name, definition, payload, revision, created_at, is_paused, settled_until, known_until,
                fired, missed, skipped, current, waiting, last_end, instants, history
         FROM schedule WHERE {condition}"
    );
    db.rows(&sql, params, read)
}

/// The same without payloads and histories, which cost most to read.
pub(super) fn select_without_history(
    db: &Connection,
    condition: &str,
    params: impl Params,
) -> TxResult<Vec<ScheduleRecord>> {
    let sql = format!(
        "SELECT name, definition, x'', revision, created_at, is_paused, settled_until, known_until,
                fired, missed, skipped, current, waiting, last_end, instants, ''
         FROM schedule WHERE {condition}"
    );
    db.rows(&sql, params, read)
}

fn read(row: &Row<'_>) -> TxResult<ScheduleRecord> {
    let name: String = row.get(0)?;
    let name = ScheduleName::new(&name).map_err(|_| TxError::corrupt("schedule name", &name))?;
    let text = |index: usize, what| {
        let text: String = row.get(index)?;
        Ok::<_, TxError>((TxError::corrupt(what, &text), text))
    };
    let id = |index: usize| {
        let id: Option<String> = row.get(index)?;
        id.as_deref().map(crate::row::job_id).transpose()
    };
    let time = |index: usize| Ok::<_, TxError>(Timestamp::from_ms(row.get(index)?));
    let payload = Bytes::from(row.get::<_, Vec<u8>>(2)?);
    let (corrupt, definition) = text(1, "schedule")?;
    let schedule = definition::read(name.clone(), &definition, payload).ok_or(corrupt)?;
    let (corrupt, instants) = text(14, "instants")?;
    let instants = read_instants(&instants).ok_or(corrupt)?;
    let (corrupt, history) = text(15, "history")?;
    let history = history.lines().map(|line| read_occurrence(&name, line));
    let last_end: Option<String> = row.get(13)?;
    let last_end = last_end.map(|text| read_end(&text).ok_or(TxError::corrupt("end", &text)));
    Ok(ScheduleRecord {
        schedule,
        revision: row.get(3)?,
        created_at: time(4)?,
        is_paused: row.get(5)?,
        settled_until: time(6)?,
        known_until: time(7)?,
        total: ScheduleTotals {
            fired: row.get(8)?,
            missed: row.get(9)?,
            skipped: row.get(10)?,
        },
        current: id(11)?,
        waiting: id(12)?,
        last_end: last_end.transpose()?,
        instants,
        history: history.collect::<Option<_>>().ok_or(corrupt)?,
    })
}

/// Writes the definition of a schedule. The other columns of a new one are written by [`save`].
pub(super) fn define(db: &Connection, queue: i64, schedule: &Schedule) -> TxResult<()> {
    db.run(
        "INSERT INTO schedule (queue, name, definition, payload, revision, created_at, is_paused,
             settled_until, known_until, fired, missed, skipped, instants, history)
         VALUES (?1, ?2, ?3, ?4, 0, 0, 0, 0, 0, 0, 0, 0, '', '')
         ON CONFLICT (queue, name) DO UPDATE SET definition = ?3, payload = ?4",
        params![
            queue,
            schedule.name.as_str(),
            definition::write(schedule),
            schedule.job.payload.as_ref(),
        ],
    )?;
    Ok(())
}

/// Writes everything but the definition.
pub(super) fn save(db: &Connection, queue: i64, record: &ScheduleRecord) -> TxResult<()> {
    let total = record.total;
    db.run(
        "UPDATE schedule SET revision = ?3, created_at = ?4, is_paused = ?5, fires_at = ?6,
             refill_at = ?7, settled_until = ?8, known_until = ?9, fired = ?10, missed = ?11,
             skipped = ?12, current = ?13, waiting = ?14, last_end = ?15, instants = ?16, history = ?17
         WHERE queue = ?1 AND name = ?2",
        params![
            queue,
            record.schedule.name.as_str(),
            record.revision,
            record.created_at.as_ms(),
            record.is_paused,
            record.fires_at().map(Timestamp::as_ms),
            next_refill(&record.instants, record.known_until).map(Timestamp::as_ms),
            record.settled_until.as_ms(),
            record.known_until.as_ms(),
            total.fired,
            total.missed,
            total.skipped,
            record.current.as_ref().map(JobId::as_str),
            record.waiting.as_ref().map(JobId::as_str),
            record.last_end.as_ref().map(write_end),
            write_instants(&record.instants),
            write_history(&record.history),
        ],
    )?;
    Ok(())
}

/// Instants as seconds since the one before, which is short for regular ones.
fn write_instants(instants: &[PlannedInstant]) -> String {
    let (mut text, mut last) = (String::new(), 0);
    for PlannedInstant { at, jitter } in instants {
        let second = at.as_ms() / 1000;
        // Writing to a string cannot fail.
        let _ = write!(text, " {}", second.saturating_sub(last));
        if !jitter.is_zero() {
            let _ = write!(text, "+{}", as_ms(*jitter));
        }
        last = second;
    }
    text
}

fn read_instants(text: &str) -> Option<Vec<PlannedInstant>> {
    let mut second = 0_u64;
    let instants = text.split_ascii_whitespace().map(|instant| {
        let (since, jitter) = instant.split_once('+').unwrap_or((instant, "0"));
        second = second.checked_add(since.parse().ok()?)?;
        Some(PlannedInstant {
            at: from_second(second)?,
            jitter: Duration::from_millis(jitter.parse().ok()?),
        })
    });
    instants.collect()
}

fn from_second(second: u64) -> Option<Timestamp> {
    let at = Timestamp::from_ms(second.checked_mul(1000)?);
    (at <= KNOWN_FOREVER).then_some(at)
}

/// Occurrences as lines: the instant in seconds, when it was settled, and why it did not fire, or the end of
/// the id of a job enqueued by hand.
fn write_history(history: &[Occurrence]) -> String {
    let mut text = String::new();
    for occurrence in history {
        let (instant, at) = (occurrence.instant, occurrence.at);
        let firing = match &occurrence.firing {
            Ok(id) => id
                .as_str()
                .find("@run-")
                .map_or("", |run| &id.as_str()[run..]),
            Err(reason) => reason.as_str(),
        };
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{} {} {firing}", instant.as_ms() / 1000, at.as_ms());
    }
    text
}

fn read_occurrence(name: &ScheduleName, line: &str) -> Option<Occurrence> {
    let mut fields = line.splitn(3, ' ');
    let instant = from_second(fields.next()?.parse().ok()?)?;
    Some(Occurrence {
        instant,
        at: Timestamp::from_ms(fields.next()?.parse().ok()?),
        firing: match fields.next()? {
            "" => Ok(JobId::at_instant(name, instant)),
            id if id.starts_with('@') => Ok(JobId::new(format!("{name}{id}")).ok()?),
            reason => Err(SkipReason::from_text(reason)?),
        },
    })
}

fn write_end(end: &ScheduleEnd) -> String {
    format!("{} {} {}", end.at.as_ms(), end.state, end.id)
}

fn read_end(text: &str) -> Option<ScheduleEnd> {
    let mut fields = text.splitn(3, ' ');
    Some(ScheduleEnd {
        at: Timestamp::from_ms(fields.next()?.parse().ok()?),
        state: JobState::from_text(fields.next()?)?,
        id: JobId::new(fields.next()?).ok()?,
    })
}
