//! A stored job: how rows become jobs, and the few columns that verbs decide by.

use std::time::Duration;

use rusqlite::{Connection, OptionalExtension, Row, params};
use windlass_core::limits::SUSPECT_AFTER;
use windlass_core::time::as_ms;
use windlass_core::{
    BootId, Bytes, Due, Headers, Job, JobId, JobState, Kind, Priority, Progress, QueueName, Reason,
    RetryPolicy, Timestamp, Token, UniqueKey,
};

use crate::fault::{Db, Fault};

/// Payloads up to this size are kept in the job's own row.
pub(crate) const INLINE_BYTES_MAX: usize = 2048;

/// What verbs decide by.
#[derive(Debug, Clone)]
pub(crate) struct Brief {
    pub(crate) key: i64,
    pub(crate) id: JobId,
    pub(crate) state: JobState,
    pub(crate) priority: Priority,
    pub(crate) attempt: u32,
    pub(crate) expiries: u32,
    pub(crate) due_at: u64,
    pub(crate) expires_at: Option<u64>,
    pub(crate) is_accepted: bool,
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
}

/// A statement that reads the columns of a [`Brief`].
macro_rules! select_brief {
    ($rest:literal) => {
        concat!(
            "SELECT key, id, state, priority, attempt, expiries, due_at, expires_at, \
             accepted_at IS NOT NULL, token_number, token_nonce, is_named, keep_outcome, \
             cancel_requested, unique_key, retry, payload_bytes, payload IS NULL, \
             ifnull(octet_length(error), 0), ifnull(octet_length(result), 0) FROM job WHERE ",
            $rest
        )
    };
}
pub(crate) use select_brief;

impl Brief {
    pub(crate) fn read(row: &Row<'_>) -> Db<Self> {
        Ok(Self {
            key: row.get(0)?,
            id: job_id(row.get_ref(1)?.as_str().unwrap_or_default())?,
            state: state_of(row.get(2)?)?,
            priority: priority_of(row.get(3)?)?,
            attempt: row.get(4)?,
            expiries: row.get(5)?,
            due_at: row.get(6)?,
            expires_at: row.get(7)?,
            is_accepted: row.get(8)?,
            token: token_of(row.get(9)?, row.get(10)?),
            is_named: row.get(11)?,
            keep_outcome: row.get(12)?,
            cancel_requested: row.get(13)?,
            unique_key: row.get(14)?,
            retry: row.get(15)?,
            payload_bytes: row.get(16)?,
            is_large: row.get(17)?,
            error_bytes: row.get(18)?,
            result_bytes: row.get(19)?,
        })
    }

    /// The brief of a job that was read whole, payload included.
    pub(crate) fn of(key: i64, job: &Job) -> Self {
        let payload_bytes = job.payload.as_ref().map_or(0, Bytes::len);
        Self {
            key,
            id: job.id.clone(),
            state: job.state,
            priority: job.priority,
            attempt: job.attempt,
            expiries: job.expiries,
            due_at: job.due_at.as_ms(),
            expires_at: job.expires_at.map(Timestamp::as_ms),
            is_accepted: job.accepted_at.is_some(),
            token: job.token,
            is_named: job.is_named,
            keep_outcome: job.keep_outcome,
            cancel_requested: job.is_cancel_requested,
            unique_key: job.unique_key.as_ref().map(|key| key.as_str().to_owned()),
            retry: write_policy(&job.retry),
            payload_bytes: payload_bytes as u64,
            is_large: payload_bytes > INLINE_BYTES_MAX,
            error_bytes: job.error.as_ref().map_or(0, String::len) as u64,
            result_bytes: job.result.as_ref().map_or(0, Bytes::len) as u64,
        }
    }

    /// The stored job of an id.
    pub(crate) fn find(db: &Connection, queue: i64, id: &str) -> Db<Option<Self>> {
        let mut statement = db.prepare_cached(select_brief!("queue = ?1 AND id = ?2"))?;
        let mut rows = statement.query(params![queue, id])?;
        rows.next()?.map(Self::read).transpose()
    }

    /// Stored jobs by a statement of [`select_brief`], in its order.
    pub(crate) fn select(
        db: &Connection,
        statement: &str,
        params: impl rusqlite::Params,
    ) -> Db<Vec<Self>> {
        let mut statement = db.prepare_cached(statement)?;
        let mut rows = statement.query(params)?;
        let mut found = Vec::new();
        while let Some(row) = rows.next()? {
            found.push(Self::read(row)?);
        }
        Ok(found)
    }

    /// The lane it waits in: 0 with the suspects, 1 with the others.
    pub(crate) fn lane(&self) -> u8 {
        u8::from(self.expiries < SUSPECT_AFTER)
    }

    /// Bytes of the stored job that count.
    pub(crate) fn bytes(&self) -> u64 {
        self.payload_bytes + self.error_bytes + self.result_bytes
    }

    pub(crate) fn policy(&self) -> Db<RetryPolicy> {
        read_policy(self.retry.as_deref())
    }
}

/// The columns of a whole job; the last two are large.
const WHOLE: &str = "id, state, priority, attempt, expiries, created_at, due_at, expires_at, \
    started_at, accepted_at, finished_at, token_number, token_nonce, worker, is_named, keep_outcome, \
    cancel_requested, kind, unique_key, retry, timeout_ms, headers, progress, reason, error, key";

/// Whether the large columns are read as well.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Large {
    With,
    Without,
}

/// Whole jobs by a condition on the table `job`, in its order.
pub(crate) fn select_jobs(
    db: &Connection,
    queue: &QueueName,
    large: Large,
    condition: &str,
    params: impl rusqlite::Params,
) -> Db<Vec<(i64, Job)>> {
    let last = match large {
        Large::With => "result, payload",
        Large::Without => "NULL, NULL",
    };
    let sql = format!("SELECT {WHOLE}, {last} FROM job WHERE {condition}");
    let mut statement = db.prepare_cached(&sql)?;
    let mut rows = statement.query(params)?;
    let mut jobs = Vec::new();
    while let Some(row) = rows.next()? {
        let key: i64 = row.get(25)?;
        let mut job = whole(row, queue)?;
        if large == Large::With {
            job.result = row.get::<_, Option<Vec<u8>>>(26)?.map(Bytes::from);
            job.payload = Some(payload(db, key, row.get(27)?)?);
        }
        jobs.push((key, job));
    }
    Ok(jobs)
}

/// A payload from its row, or from where large ones are.
fn payload(db: &Connection, key: i64, inline: Option<Vec<u8>>) -> Db<Bytes> {
    if let Some(bytes) = inline {
        return Ok(Bytes::from(bytes));
    }
    let mut statement = db.prepare_cached("SELECT bytes FROM large_payload WHERE job = ?1")?;
    let bytes: Option<Vec<u8>> = statement.query_row([key], |row| row.get(0)).optional()?;
    bytes
        .map(Bytes::from)
        .ok_or_else(|| Fault::Damaged(format!("job {key} has no payload")))
}

fn whole(row: &Row<'_>, queue: &QueueName) -> Db<Job> {
    let text = |index: usize| -> Db<Option<String>> { Ok(row.get(index)?) };
    let moment = |index: usize| -> Db<Option<Timestamp>> {
        Ok(row.get::<_, Option<u64>>(index)?.map(Timestamp::from_ms))
    };
    let some = |at: Option<Timestamp>| at.ok_or_else(|| Fault::unreadable("time", "nothing"));
    Ok(Job {
        id: job_id(&text(0)?.unwrap_or_default())?,
        queue: queue.clone(),
        state: state_of(row.get(1)?)?,
        priority: priority_of(row.get(2)?)?,
        attempt: row.get(3)?,
        expiries: row.get(4)?,
        created_at: some(moment(5)?)?,
        due_at: some(moment(6)?)?,
        expires_at: moment(7)?,
        started_at: moment(8)?,
        accepted_at: moment(9)?,
        finished_at: moment(10)?,
        token: token_of(row.get(11)?, row.get(12)?),
        worker: maybe("worker", text(13)?, |text| BootId::new(text).ok())?,
        is_named: row.get(14)?,
        keep_outcome: row.get(15)?,
        is_cancel_requested: row.get(16)?,
        kind: maybe("kind", text(17)?, |text| Kind::new(text).ok())?,
        unique_key: maybe("unique key", text(18)?, |text| UniqueKey::new(text).ok())?,
        retry: read_policy(text(19)?.as_deref())?,
        timeout: row.get::<_, Option<u64>>(20)?.map(Duration::from_millis),
        headers: maybe("headers", text(21)?, read_headers)?.unwrap_or_default(),
        progress: maybe("progress", text(22)?, read_progress)?,
        reason: maybe("reason", text(23)?, Reason::from_text)?,
        error: text(24)?,
        result: None,
        payload: None,
    })
}

/// Reads an optional stored text, or says that it cannot be read.
fn maybe<T>(
    what: &str,
    text: Option<String>,
    read: impl FnOnce(&str) -> Option<T>,
) -> Db<Option<T>> {
    text.map(|text| read(&text).ok_or_else(|| Fault::unreadable(what, &text)))
        .transpose()
}

/// A stored job id.
pub(crate) fn job_id(text: &str) -> Db<JobId> {
    JobId::new(text).map_err(|_| Fault::unreadable("job id", text))
}

pub(crate) fn token_of(number: Option<u64>, nonce: Option<u32>) -> Option<Token> {
    Some(Token {
        number: number?,
        nonce: nonce?,
    })
}

/// A token's number as SQLite takes it. One that no claim was ever given matches nothing.
pub(crate) fn sql_number(token: Token) -> i64 {
    i64::try_from(token.number).unwrap_or(i64::MAX)
}

/// States are stored as their place in the life of a job.
pub(crate) fn state_number(state: JobState) -> i64 {
    state as i64
}

pub(crate) fn state_of(number: i64) -> Db<JobState> {
    let state = usize::try_from(number)
        .ok()
        .and_then(|number| JobState::ALL.get(number));
    state
        .copied()
        .ok_or_else(|| Fault::unreadable("state", number))
}

pub(crate) fn priority_of(number: u8) -> Db<Priority> {
    Priority::new(number).map_err(|_| Fault::unreadable("priority", number))
}

/// A policy as text; the default is not written at all.
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

fn read_policy(text: Option<&str>) -> Db<RetryPolicy> {
    let mut policy = RetryPolicy::default();
    let Some(text) = text else { return Ok(policy) };
    let numbers: Vec<u64> = text
        .split(' ')
        .filter_map(|word| word.parse().ok())
        .collect();
    let &[attempts, first_ms, max_ms, jitter, until] = numbers.as_slice() else {
        return Err(Fault::unreadable("retry policy", text));
    };
    policy.max_attempts = u32::try_from(attempts).unwrap_or(u32::MAX);
    policy.delay_first = Duration::from_millis(first_ms);
    policy.delay_max = Duration::from_millis(max_ms);
    policy.has_jitter = jitter == 1;
    policy.until = (until > 0).then(|| Due::At(Timestamp::from_ms(until)));
    Ok(policy)
}

/// Headers as lines: neither names nor values have control characters, names no colon.
pub(crate) fn write_headers(headers: &Headers) -> Option<String> {
    let lines = headers
        .iter()
        .map(|(name, value)| format!("{name}:{value}\n"));
    (!headers.is_empty()).then(|| lines.collect())
}

fn read_headers(text: &str) -> Option<Headers> {
    let mut headers = Headers::default();
    for line in text.lines() {
        let (name, value) = line.split_once(':')?;
        headers.set(name, value).ok()?;
    }
    Some(headers)
}

pub(crate) fn write_progress(fraction: f64, at_ms: u64, message: Option<&str>) -> String {
    match message {
        Some(message) => format!("{fraction} {at_ms} {message}"),
        None => format!("{fraction} {at_ms}"),
    }
}

fn read_progress(text: &str) -> Option<Progress> {
    let mut words = text.splitn(3, ' ');
    Some(Progress {
        fraction: words.next()?.parse().ok()?,
        at: Timestamp::from_ms(words.next()?.parse().ok()?),
        message: words.next().map(str::to_owned),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn policies_headers_and_progress_are_read_back_as_written() {
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
            read_headers(&write_headers(&headers).unwrap()).unwrap(),
            headers
        );

        let progress =
            read_progress(&write_progress(0.1, 5, Some("two words\nand a line"))).unwrap();
        assert_eq!(progress.message.as_deref(), Some("two words\nand a line"));
        assert!((progress.fraction - 0.1).abs() < f64::EPSILON);
    }
}
