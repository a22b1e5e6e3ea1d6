//! Opts: how a job differs from the defaults, as lines of a letter and a value.

use std::fmt::Write;
use std::time::Duration;

use windlass_core::store::{GroupName, Headers, Kind, OnDuplicate, UniqueKey, UniqueUntil};
use windlass_core::time::as_ms;
use windlass_core::{Due, Error, JobId, NewJob, Priority, Result, RetryPolicy, Timestamp};

use super::names::{
    ATTEMPT, CUSTOM_ID, DEADLINE, DUE_AT, ENQUEUED_AT, EXPIRES_AT, EXPIRIES, GENERATION, GROUP,
    HEADERS, IN_LINE, IS_JSON, IS_SCHEDULED, KEEP_OUTCOME, KIND, ON_DUPLICATE, POSTPONE,
    POSTPONE_MAX, PRIORITY, REPLACE, RETRY_POLICY, TIMEOUT, UNIQUE_FOR, UNIQUE_KEY, UNTIL_START,
};
use super::{damaged, number, text, time};

const VALUE: &str = "opts";

const JSON_HEADER: (&str, &str) = ("content-type", "application/json");

/// A generated id: 26 characters of Crockford's base 32, of which the first ten are a time.
const ULID_BYTES: usize = 26;
const ULID_TIME_BYTES: usize = 10;

/// The place of a job in the line of its group: only scripts use it.
const PLACE_BYTES: usize = 20;

/// Encodes the opts of a new job; empty if it has only defaults.
///
/// The lines are stored as they are, except the times `DUE_AT`, `DEADLINE` and `EXPIRES_AT`: these are
/// `MS`, or `+MS` from now, and the script resolves them by the store's clock; and `ON_DUPLICATE` and
/// `POSTPONE_MAX`, which belong to the call.
pub(crate) fn spec(job: &NewJob) -> String {
    let mut lines = String::new();
    if job.is_named {
        line(&mut lines, CUSTOM_ID, "");
    }
    if job.due != Due::Now {
        write_due(&mut lines, DUE_AT, Some(job.due));
    }
    if job.priority != Priority::default() {
        line(&mut lines, PRIORITY, job.priority.level());
    }
    if let Some(kind) = &job.kind {
        line(&mut lines, KIND, kind);
    }
    if let Some(key) = &job.unique_key {
        line(&mut lines, UNIQUE_KEY, key);
    }
    if job.unique_until == UniqueUntil::Start {
        line(&mut lines, UNTIL_START, "");
    }
    if let Some(time) = job.unique_for {
        line(&mut lines, UNIQUE_FOR, as_ms(time));
    }
    write_retry(&mut lines, &job.retry);
    write_due(&mut lines, DEADLINE, job.retry.until);
    if let Some(timeout) = job.timeout {
        line(&mut lines, TIMEOUT, as_ms(timeout));
    }
    write_due(&mut lines, EXPIRES_AT, job.expires);
    if job.keep_outcome {
        line(&mut lines, KEEP_OUTCOME, "");
    }
    if let Some(group) = &job.group {
        line(&mut lines, GROUP, group);
    }
    write_headers(&mut lines, &job.headers);
    if amends(job) {
        write_amendment(&mut lines, job);
    }
    lines
}

/// Whether a job may change a waiting one. A generated id is no other job's.
pub(crate) fn amends(job: &NewJob) -> bool {
    job.on_duplicate != OnDuplicate::Keep && (job.is_named || job.unique_key.is_some())
}

fn write_amendment(lines: &mut String, job: &NewJob) {
    lines.push(ON_DUPLICATE);
    if job.on_duplicate.replaces() {
        lines.push(REPLACE);
    }
    if job.on_duplicate.postpones() {
        lines.push(POSTPONE);
    }
    lines.push('\n');
    if let Some(max) = job.postpone_max {
        line(lines, POSTPONE_MAX, as_ms(max));
    }
}

fn line(lines: &mut String, letter: char, value: impl std::fmt::Display) {
    let _ = writeln!(lines, "{letter}{value}");
}

fn write_due(lines: &mut String, letter: char, due: Option<Due>) {
    match due {
        None => {}
        Some(Due::Now) => line(lines, letter, "+0"),
        Some(Due::After(delay)) => line(lines, letter, format_args!("+{}", as_ms(delay))),
        Some(Due::At(at)) => line(lines, letter, at.as_ms()),
    }
}

fn write_retry(lines: &mut String, retry: &RetryPolicy) {
    let numbers = |retry: &RetryPolicy| {
        let (first, max) = (as_ms(retry.delay_first), as_ms(retry.delay_max));
        (retry.max_attempts, first, max, u8::from(retry.has_jitter))
    };
    let policy = numbers(retry);
    if policy != numbers(&RetryPolicy::default()) {
        let (attempts, first, max, jitter) = policy;
        line(
            lines,
            RETRY_POLICY,
            format_args!("{attempts},{first},{max},{jitter}"),
        );
    }
}

fn write_headers(lines: &mut String, headers: &Headers) {
    if headers.is_empty() {
        return;
    }
    // Every typed job has these headers.
    if headers.iter().eq([JSON_HEADER]) {
        return line(lines, IS_JSON, "");
    }
    lines.push(HEADERS);
    for (index, (name, value)) in headers.iter().enumerate() {
        let gap = if index == 0 { "" } else { "\t" };
        let _ = write!(lines, "{gap}{name}\t{value}");
    }
    lines.push('\n');
}

/// The time in an id that Windlass generated, in milliseconds.
pub(crate) fn ulid_ms(id: &JobId, is_named: bool) -> Option<u64> {
    let bytes = id.as_str().as_bytes();
    // 26 characters hold 130 bits, so the first is at most 7.
    if is_named || bytes.len() != ULID_BYTES || bytes[0] > b'7' {
        return None;
    }
    let digits = bytes[..ULID_TIME_BYTES].iter();
    digits.map(|byte| digit(*byte)).try_fold(0, |time, digit| {
        digit.map(|digit| (time << 5) | u64::from(digit))
    })
}

/// A digit of Crockford's base 32 in lower case, which has no i, l, o and u.
fn digit(byte: u8) -> Option<u8> {
    match byte {
        b'0'..=b'9' => Some(byte - b'0'),
        b'a'..=b'h' => Some(byte - b'a' + 10),
        b'j' | b'k' => Some(byte - b'j' + 18),
        b'm' | b'n' => Some(byte - b'm' + 20),
        b'p'..=b't' => Some(byte - b'p' + 22),
        b'v'..=b'z' => Some(byte - b'v' + 27),
        _ => None,
    }
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Opts {
    /// The caller chose the id.
    pub(crate) is_named: bool,
    /// When it was enqueued, if its id does not contain that.
    pub(crate) created_at: Option<Timestamp>,
    /// When it was due, if not when it was enqueued.
    pub(crate) due_at: Option<Timestamp>,
    pub(crate) priority: Priority,
    pub(crate) kind: Option<Kind>,
    pub(crate) unique_key: Option<UniqueKey>,
    pub(crate) unique_until: UniqueUntil,
    pub(crate) unique_for: Option<Duration>,
    /// A deadline in it is an absolute time.
    pub(crate) retry: RetryPolicy,
    pub(crate) timeout: Option<Duration>,
    pub(crate) expires_at: Option<Timestamp>,
    /// A caller waits for the outcome.
    pub(crate) keep_outcome: bool,
    pub(crate) attempt: u32,
    pub(crate) expiries: u32,
    /// The generation of its entry in a ready list.
    pub(crate) generation: u64,
    pub(crate) group: Option<GroupName>,
    /// A schedule enqueued the job.
    pub(crate) is_scheduled: bool,
    pub(crate) headers: Headers,
}

impl Default for Opts {
    fn default() -> Self {
        Self {
            is_named: false,
            created_at: None,
            due_at: None,
            priority: Priority::default(),
            kind: None,
            unique_key: None,
            unique_until: UniqueUntil::End,
            unique_for: None,
            retry: RetryPolicy::default(),
            timeout: None,
            expires_at: None,
            keep_outcome: false,
            attempt: 1,
            expiries: 0,
            generation: 0,
            group: None,
            is_scheduled: false,
            headers: Headers::default(),
        }
    }
}

impl Opts {
    /// Decodes stored opts; empty means defaults.
    pub(crate) fn read(bytes: &[u8]) -> Result<Self> {
        let mut opts = Self::default();
        if bytes.is_empty() {
            return Ok(opts);
        }
        let mut seen = 0_u32;
        for line in text(VALUE, bytes)?.split_inclusive('\n') {
            let line = line
                .strip_suffix('\n')
                .ok_or_else(|| damaged(VALUE, "truncated last line"))?;
            let letter = line
                .bytes()
                .next()
                .filter(u8::is_ascii_lowercase)
                .ok_or_else(|| damaged(VALUE, "a line does not start with a letter"))?;
            let bit = 1 << (letter - b'a');
            if seen & bit != 0 {
                let why = format!("repeated letter `{}`", char::from(letter));
                return Err(damaged(VALUE, why));
            }
            seen |= bit;
            opts.set(char::from(letter), &line[1..])?;
        }
        Ok(opts)
    }

    fn set(&mut self, letter: char, value: &str) -> Result<()> {
        let bad = |_: Error| wrong(letter);
        match letter {
            CUSTOM_ID | UNTIL_START | KEEP_OUTCOME | IS_SCHEDULED | IS_JSON
                if !value.is_empty() =>
            {
                return Err(wrong(letter));
            }
            CUSTOM_ID => self.is_named = true,
            KEEP_OUTCOME => self.keep_outcome = true,
            IS_SCHEDULED => self.is_scheduled = true,
            ENQUEUED_AT => self.created_at = Some(time(VALUE, value).map_err(bad)?),
            DUE_AT => self.due_at = Some(time(VALUE, value).map_err(bad)?),
            EXPIRES_AT => self.expires_at = Some(time(VALUE, value).map_err(bad)?),
            DEADLINE => self.retry.until = Some(Due::At(time(VALUE, value).map_err(bad)?)),
            TIMEOUT => self.timeout = Some(ms(value).map_err(bad)?),
            PRIORITY => self.priority = priority(value).ok_or_else(|| wrong(letter))?,
            KIND => self.kind = Some(Kind::new(value).map_err(bad)?),
            UNIQUE_KEY => self.unique_key = Some(UniqueKey::new(value).map_err(bad)?),
            UNTIL_START => self.unique_until = UniqueUntil::Start,
            UNIQUE_FOR => self.unique_for = Some(ms(value).map_err(bad)?),
            RETRY_POLICY => self.set_retry(value).ok_or_else(|| wrong(letter))?,
            ATTEMPT => self.attempt = count(value).ok_or_else(|| wrong(letter))?,
            EXPIRIES => self.expiries = count(value).ok_or_else(|| wrong(letter))?,
            GROUP => self.group = Some(GroupName::new(value).map_err(bad)?),
            IN_LINE if value.len() == PLACE_BYTES && is_digits(value) => {}
            GENERATION => self.generation = number(VALUE, value).map_err(bad)?,
            IS_JSON => self
                .headers
                .set(JSON_HEADER.0, JSON_HEADER.1)
                .map_err(bad)?,
            HEADERS => self.set_headers(value).ok_or_else(|| wrong(letter))?,
            _ => {
                let why = format!("unknown letter `{letter}`");
                return Err(damaged(VALUE, why));
            }
        }
        Ok(())
    }

    fn set_retry(&mut self, value: &str) -> Option<()> {
        let mut numbers = value.split(',');
        self.retry.max_attempts = count(numbers.next()?)?;
        self.retry.delay_first = ms(numbers.next()?).ok()?;
        self.retry.delay_max = ms(numbers.next()?).ok()?;
        self.retry.has_jitter = match numbers.next()? {
            "1" => true,
            "0" => false,
            _ => return None,
        };
        numbers.next().is_none().then_some(())
    }

    fn set_headers(&mut self, value: &str) -> Option<()> {
        let mut fields = value.split('\t');
        while let Some(name) = fields.next() {
            self.headers.set(name, fields.next()?).ok()?;
        }
        Some(())
    }
}

pub(crate) fn created_at(id: &JobId, opts: &Opts) -> Result<Timestamp> {
    opts.created_at
        .or_else(|| ulid_ms(id, opts.is_named).map(Timestamp::from_ms))
        .ok_or_else(|| damaged(VALUE, "missing enqueue time"))
}

/// When a job was due. The due time of a scheduled job is its score instead.
pub(crate) fn due_at(id: &JobId, opts: &Opts) -> Result<Timestamp> {
    opts.due_at.map_or_else(|| created_at(id, opts), Ok)
}

fn wrong(letter: char) -> Error {
    damaged(VALUE, format!("invalid value of `{letter}`"))
}

fn is_digits(value: &str) -> bool {
    value.bytes().all(|byte| byte.is_ascii_digit())
}

fn ms(value: &str) -> Result<Duration> {
    number(VALUE, value).map(Duration::from_millis)
}

fn count(value: &str) -> Option<u32> {
    number(VALUE, value).ok()?.try_into().ok()
}

fn priority(value: &str) -> Option<Priority> {
    Priority::new(number(VALUE, value).ok()?.try_into().ok()?).ok()
}

#[cfg(test)]
mod tests;
