//! Maps rows to jobs, and to the few columns that verbs need.

use std::time::Duration;

use rusqlite::{Connection, Params, Row};
use windlass_core::attempt::StoredErrors;
use windlass_core::limits::FUTURE_MAX;
use windlass_core::store::{GroupName, Headers, Kind, Reason, UniqueKey, UniqueUntil};
use windlass_core::time::as_ms;
use windlass_core::{
    BootId, Bytes, Due, Job, JobId, JobState, Priority, QueueName, RetryPolicy, ScheduleName,
    Timestamp, Token,
};

use crate::error::{TxError, TxResult};
use crate::progress;
use crate::sql::Sql;

/// Payloads up to this size are stored in the job's row.
pub(crate) const INLINE_BYTES_MAX: usize = 2048;

/// The value of `is_named` of a job that a schedule enqueued.
pub(crate) const NAMED_BY_SCHEDULE: i64 = 2;

/// The value of `unique_for_ms` of a job that frees its unique key when it starts.
pub(crate) const UNTIL_START: i64 = -1;

/// The columns of a job that verbs need to decide. Damage in the others does not prevent a change.
#[derive(Debug, Clone)]
pub(crate) struct JobMeta {
    pub(crate) key: i64,
    pub(crate) id: JobId,
    pub(crate) state: JobState,
    pub(crate) priority: Priority,
    pub(crate) attempt: u32,
    pub(crate) expiries: u32,
    pub(crate) due_at: u64,
    pub(crate) expires_at: Option<u64>,
    pub(crate) accepted_at: Option<u64>,
    pub(crate) token: Option<Token>,
    pub(crate) is_named: bool,
    pub(crate) keep_outcome: bool,
    pub(crate) cancel_requested: bool,
    pub(crate) unique_key: Option<String>,
    pub(crate) retry: Option<String>,
    pub(crate) payload_bytes: u64,
    pub(crate) is_large: bool,
    pub(crate) error_bytes: u64,
    pub(crate) result_bytes: u64,
    pub(crate) schedule: Option<ScheduleName>,
    pub(crate) created_at: Timestamp,
    pub(crate) unique_until: UniqueUntil,
    pub(crate) unique_for: Option<Duration>,
    pub(crate) group: Option<GroupName>,
    pub(crate) lane: i64,
}

/// The columns of a [`JobMeta`].
const META_COLUMNS: &str = "key, id, state, priority, attempt, expiries, due_at, expires_at, \
    accepted_at, token_number, token_nonce, is_named, keep_outcome, cancel_requested, unique_key, \
    retry, payload_bytes, payload IS NULL, ifnull(octet_length(error), 0), \
    ifnull(octet_length(result), 0), created_at, unique_for_ms, group_name, lane";

impl JobMeta {
    fn read(row: &Row<'_>) -> TxResult<Self> {
        let (id, named) = (read_id(row, 1)?, row.get(11)?);
        let (unique_until, unique_for) = hold_of(row.get(21)?)?;
        Ok(Self {
            key: row.get(0)?,
            schedule: schedule_of(&id, named)?,
            id,
            state: state_of(row.get(2)?)?,
            priority: priority_of(row.get(3)?)?,
            attempt: row.get(4)?,
            expiries: row.get(5)?,
            due_at: row.get(6)?,
            expires_at: row.get(7)?,
            accepted_at: row.get(8)?,
            token: token_of(row.get(9)?, row.get(10)?),
            is_named: named > 0,
            keep_outcome: row.get(12)?,
            cancel_requested: row.get(13)?,
            unique_key: row.get(14)?,
            retry: row.get(15)?,
            payload_bytes: row.get(16)?,
            is_large: row.get(17)?,
            error_bytes: row.get(18)?,
            result_bytes: row.get(19)?,
            created_at: Timestamp::from_ms(row.get(20)?),
            unique_until,
            unique_for,
            group: read_group(row, 22)?,
            lane: row.get(23)?,
        })
    }

    /// The first job that meets a condition on the table `job`.
    pub(crate) fn first(
        db: &Connection,
        condition: &str,
        params: impl Params,
    ) -> TxResult<Option<Self>> {
        db.first(&Self::query(condition), params, Self::read)
    }

    /// The jobs that meet a condition on the table `job`, in its order.
    pub(crate) fn select(
        db: &Connection,
        condition: &str,
        params: impl Params,
    ) -> TxResult<Vec<Self>> {
        db.rows(&Self::query(condition), params, Self::read)
    }

    fn query(condition: &str) -> String {
        format!("SELECT {META_COLUMNS} FROM job WHERE {condition}")
    }

    /// Bytes of the job that the stats count.
    pub(crate) fn bytes(&self) -> u64 {
        self.payload_bytes + self.error_bytes + self.result_bytes
    }

    pub(crate) fn policy(&self) -> TxResult<RetryPolicy> {
        read_policy(self.retry.as_deref())
    }
}

/// The schedule that enqueued a job: the id begins with its name.
fn schedule_of(id: &JobId, named: i64) -> TxResult<Option<ScheduleName>> {
    if named != NAMED_BY_SCHEDULE {
        return Ok(None);
    }
    let name = id.as_str().split('@').next().unwrap_or_default();
    let name =
        ScheduleName::new(name).map_err(|_| TxError::corrupt("id of a scheduled job", id))?;
    Ok(Some(name))
}

/// The other columns of a job, without the payload and result.
const OTHER_COLUMNS: &str = "started_at, finished_at, worker, kind, timeout_ms, \
    headers, progress, reason, error";

/// Whether payload and result are read as well.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Blobs {
    Read,
    Payload,
    Skip,
}

/// Selects jobs by a condition on the table `job`, in its order.
pub(crate) fn select_jobs(
    db: &Connection,
    queue: &QueueName,
    blobs: Blobs,
    condition: &str,
    params: impl Params,
) -> TxResult<Vec<(JobMeta, Job)>> {
    let last = match blobs {
        Blobs::Read => "result, payload",
        Blobs::Payload => "NULL, payload",
        Blobs::Skip => "NULL, NULL",
    };
    let sql = format!("SELECT {META_COLUMNS}, {OTHER_COLUMNS}, {last} FROM job WHERE {condition}");
    db.rows(&sql, params, |row| {
        let meta = JobMeta::read(row)?;
        let mut job = read_job(row, &meta, queue)?;
        if blobs != Blobs::Read {
            job.attempts.clear();
        }
        if blobs != Blobs::Skip {
            job.result = row.get::<_, Option<Vec<u8>>>(33)?.map(Bytes::from);
            job.payload = Some(payload(db, meta.key, row.get(34)?)?);
        }
        Ok((meta, job))
    })
}

/// A payload from its row, or from `large_payload`.
pub(crate) fn payload(db: &Connection, key: i64, inline: Option<Vec<u8>>) -> TxResult<Bytes> {
    let bytes = match inline {
        Some(bytes) => Some(bytes),
        None => db.value("SELECT bytes FROM large_payload WHERE job = ?1", [key])?,
    };
    let missing = || TxError::Damaged(format!("job {key} has no payload"));
    bytes.map(Bytes::from).ok_or_else(missing)
}

/// The job without payload and result.
fn read_job(row: &Row<'_>, meta: &JobMeta, queue: &QueueName) -> TxResult<Job> {
    let time = |index: usize| -> TxResult<Option<Timestamp>> {
        Ok(row.get::<_, Option<u64>>(index)?.map(Timestamp::from_ms))
    };
    let errors = StoredErrors::read(row.get::<_, Option<String>>(32)?.as_deref());
    Ok(Job {
        id: meta.id.clone(),
        queue: queue.clone(),
        state: meta.state,
        priority: meta.priority,
        attempt: meta.attempt,
        expiries: meta.expiries,
        created_at: meta.created_at,
        due_at: Timestamp::from_ms(meta.due_at),
        expires_at: meta.expires_at.map(Timestamp::from_ms),
        started_at: time(24)?,
        accepted_at: meta.accepted_at.map(Timestamp::from_ms),
        finished_at: time(25)?,
        token: meta.token,
        lease_until: None,
        worker: optional(row, 26, "worker", |text| BootId::new(text).ok())?,
        is_named: meta.is_named,
        keep_outcome: meta.keep_outcome,
        is_cancel_requested: meta.cancel_requested,
        kind: read_kind(row, 27)?,
        group: meta.group.clone(),
        unique_key: text(row, 14)?.map(unique_key).transpose()?,
        unique_until: meta.unique_until,
        unique_for: meta.unique_for,
        schedule: meta.schedule.clone(),
        retry: meta.policy()?,
        timeout: row.get::<_, Option<u64>>(28)?.map(Duration::from_millis),
        headers: read_headers(row, 29)?,
        progress: optional(row, 30, "progress", progress::parse)?,
        reason: optional(row, 31, "reason", Reason::from_text)?,
        error: errors.error,
        attempts: errors.attempts,
        result: None,
        payload: None,
    })
}

/// Reads an optional column as text, without copying it.
pub(crate) fn text<'a>(row: &'a Row<'_>, index: usize) -> TxResult<Option<&'a str>> {
    let value = row.get_ref(index)?.as_str_or_null();
    value.map_err(|_| TxError::corrupt("text in column", index))
}

/// Parses an optional column.
fn optional<T>(
    row: &Row<'_>,
    index: usize,
    what: &str,
    parse: impl FnOnce(&str) -> Option<T>,
) -> TxResult<Option<T>> {
    let parse = |text| parse(text).ok_or_else(|| TxError::corrupt(what, text));
    text(row, index)?.map(parse).transpose()
}

/// Reads a column as a kind.
pub(crate) fn read_kind(row: &Row<'_>, index: usize) -> TxResult<Option<Kind>> {
    optional(row, index, "kind", |text| Kind::new(text).ok())
}

/// Reads a column as a group name.
pub(crate) fn read_group(row: &Row<'_>, index: usize) -> TxResult<Option<GroupName>> {
    optional(row, index, "group name", |text| GroupName::new(text).ok())
}

/// Reads a column as headers.
pub(crate) fn read_headers(row: &Row<'_>, index: usize) -> TxResult<Headers> {
    let headers = optional(row, index, "headers", parse_headers)?;
    Ok(headers.unwrap_or_default())
}

/// Parses a stored job id.
pub(crate) fn job_id(text: &str) -> TxResult<JobId> {
    JobId::new(text).map_err(|_| TxError::corrupt("job id", text))
}

/// Parses a stored unique key.
pub(crate) fn unique_key(text: &str) -> TxResult<UniqueKey> {
    UniqueKey::new(text).map_err(|_| TxError::corrupt("unique key", text))
}

/// Parses a stored queue name.
pub(crate) fn queue_name(text: &str) -> TxResult<QueueName> {
    QueueName::new(text).map_err(|_| TxError::corrupt("queue name", text))
}

/// Reads a column as a job id.
pub(crate) fn read_id(row: &Row<'_>, index: usize) -> TxResult<JobId> {
    job_id(text(row, index)?.unwrap_or_default())
}

pub(crate) fn token_of(number: Option<u64>, nonce: Option<u32>) -> Option<Token> {
    Some(Token {
        number: number?,
        nonce: nonce?,
    })
}

/// A token's number for SQLite. A number too large for it matches no claim.
pub(crate) fn sql_number(token: Token) -> i64 {
    i64::try_from(token.number).unwrap_or(i64::MAX)
}

/// States are stored as their index in `JobState::ALL`, counted from −1.
pub(crate) fn state_number(state: JobState) -> i64 {
    state as i64 - 1
}

pub(crate) fn state_of(number: i64) -> TxResult<JobState> {
    let index = number.checked_add(1).map(usize::try_from);
    let state = index.and_then(|index| JobState::ALL.get(index.ok()?));
    state
        .copied()
        .ok_or_else(|| TxError::corrupt("state", number))
}

pub(crate) fn priority_of(number: u8) -> TxResult<Priority> {
    Priority::new(number).map_err(|_| TxError::corrupt("priority", number))
}

/// How long a job holds its unique key at least, in milliseconds, or that it frees it when it starts; `None` for
/// the default. It never does both.
pub(crate) fn write_hold(until: UniqueUntil, unique_for: Option<Duration>) -> Option<i64> {
    match until {
        UniqueUntil::Start => Some(UNTIL_START),
        UniqueUntil::End => unique_for.map(|time| as_ms(time).cast_signed()),
    }
}

pub(crate) fn hold_of(number: Option<i64>) -> TxResult<(UniqueUntil, Option<Duration>)> {
    match number {
        None => Ok((UniqueUntil::End, None)),
        Some(UNTIL_START) => Ok((UniqueUntil::Start, None)),
        Some(ms) => {
            let time = u64::try_from(ms).ok().map(Duration::from_millis);
            let time = time.filter(|time| *time <= FUTURE_MAX);
            let time = time.ok_or_else(|| TxError::corrupt("time of a unique key", ms))?;
            Ok((UniqueUntil::End, Some(time)))
        }
    }
}

/// A policy as text; `None` for the default.
pub(crate) fn write_policy(policy: &RetryPolicy) -> Option<String> {
    let until = policy
        .until
        .map_or(0, |until| until.resolve(Timestamp::default()).as_ms());
    (*policy != RetryPolicy::default()).then(|| {
        format!(
            "{} {} {} {} {until}",
            policy.max_attempts,
            as_ms(policy.delay_first),
            as_ms(policy.delay_max),
            u8::from(policy.has_jitter),
        )
    })
}

pub(crate) fn read_policy(text: Option<&str>) -> TxResult<RetryPolicy> {
    let mut policy = RetryPolicy::default();
    let Some(text) = text else { return Ok(policy) };
    let numbers: Vec<u64> = text
        .split(' ')
        .filter_map(|number| number.parse().ok())
        .collect();
    let &[attempts, first_ms, max_ms, jitter, until] = numbers.as_slice() else {
        return Err(TxError::corrupt("retry policy", text));
    };
    policy.max_attempts = u32::try_from(attempts).unwrap_or(u32::MAX);
    policy.delay_first = Duration::from_millis(first_ms);
    policy.delay_max = Duration::from_millis(max_ms);
    policy.has_jitter = jitter == 1;
    policy.until = (until > 0).then(|| Due::At(Timestamp::from_ms(until)));
    Ok(policy)
}

/// Headers as lines: names and values have no control characters, names no colon.
pub(crate) fn write_headers(headers: &Headers) -> Option<String> {
    let lines = headers
        .iter()
        .map(|(name, value)| format!("{name}:{value}\n"));
    (!headers.is_empty()).then(|| lines.collect())
}

fn parse_headers(text: &str) -> Option<Headers> {
    let mut headers = Headers::default();
    for line in text.lines() {
        let (name, value) = line.split_once(':')?;
        headers.set(name, value).ok()?;
    }
    Some(headers)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn policies_and_headers_are_read_back_as_written() {
        let policy = RetryPolicy::fixed(Duration::from_millis(7))
            .max_attempts(3)
            .until(Due::At(Timestamp::from_ms(99)));
        assert_eq!(
            read_policy(write_policy(&policy).as_deref()).unwrap(),
            policy
        );
        assert_eq!(write_policy(&RetryPolicy::default()), None);

        let mut headers = Headers::default();
        headers.set("Trace", "a:b: c").unwrap();
        headers.set("empty", "").unwrap();
        assert_eq!(
            parse_headers(&write_headers(&headers).unwrap()).unwrap(),
            headers
        );
    }
}
