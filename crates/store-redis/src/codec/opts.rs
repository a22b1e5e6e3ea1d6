//! Opts: what differs from a plain job, as lines of a letter and a value.

use std::fmt::Write;
use std::time::Duration;

use windlass_core::time::as_ms;
use windlass_core::{
    Due, Error, Headers, JobId, Kind, NewJob, Priority, Result, RetryPolicy, Timestamp, UniqueKey,
};

use super::{damaged, number, text, time};

const PART: &str = "opts";

/// A generated id: 26 letters of Crockford's base 32, the first ten of them a time.
const ULID_BYTES: usize = 26;
const ULID_TIME_BYTES: usize = 10;

/// What a job to be enqueued says of itself; empty for a plain one.
///
/// The lines are those that are stored, but for the times `d`, `l` and `e`: those are still the
/// caller's words, `+MS` from now or `MS`, and the script resolves them by the store's clock.
pub(crate) fn spec(job: &NewJob) -> String {
    let mut lines = String::new();
    if job.is_named {
        lines.push_str("n\n");
    }
    if job.due != Due::Now {
        write_due(&mut lines, 'd', Some(job.due));
    }
    if job.priority != Priority::default() {
        line(&mut lines, 'p', job.priority.level());
    }
    if let Some(kind) = &job.kind {
        line(&mut lines, 'k', kind);
    }
    if let Some(key) = &job.unique_key {
        line(&mut lines, 'u', key);
    }
    write_retry(&mut lines, &job.retry);
    write_due(&mut lines, 'l', job.retry.until);
    if let Some(timeout) = job.timeout {
        line(&mut lines, 't', as_ms(timeout));
    }
    write_due(&mut lines, 'e', job.expires);
    if job.keep_outcome {
        lines.push_str("w\n");
    }
    write_headers(&mut lines, &job.headers);
    lines
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
    let said = numbers(retry);
    if said != numbers(&RetryPolicy::default()) {
        let (attempts, first, max, jitter) = said;
        line(
            lines,
            'r',
            format_args!("{attempts},{first},{max},{jitter}"),
        );
    }
}

fn write_headers(lines: &mut String, headers: &Headers) {
    if headers.is_empty() {
        return;
    }
    lines.push('h');
    for (index, (name, value)) in headers.iter().enumerate() {
        let gap = if index == 0 { "" } else { "\t" };
        let _ = write!(lines, "{gap}{name}\t{value}");
    }
    lines.push('\n');
}

/// The time in an id that Windlass generated, in milliseconds.
pub(crate) fn ulid_ms(id: &JobId, is_named: bool) -> Option<u64> {
    let bytes = id.as_str().as_bytes();
    // 26 letters have room for 130 bits, so the first is at most 7.
    if is_named || bytes.len() != ULID_BYTES || bytes[0] > b'7' {
        return None;
    }
    let digits = bytes[..ULID_TIME_BYTES].iter();
    digits.map(|byte| digit(*byte)).try_fold(0, |time, digit| {
        digit.map(|digit| (time << 5) | u64::from(digit))
    })
}

/// A letter of Crockford's base 32 in lower case: no i, l, o, u.
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

/// What opts say; a plain job is the default.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Opts {
    /// The caller chose the id.
    pub(crate) is_named: bool,
    /// When it was enqueued, where its id does not say so.
    pub(crate) created_at: Option<Timestamp>,
    /// When it fell due, where that is not when it was enqueued.
    pub(crate) due_at: Option<Timestamp>,
    pub(crate) priority: Priority,
    pub(crate) kind: Option<Kind>,
    pub(crate) unique_key: Option<UniqueKey>,
    /// The deadline is a moment, where there is one.
    pub(crate) retry: RetryPolicy,
    pub(crate) timeout: Option<Duration>,
    pub(crate) expires_at: Option<Timestamp>,
    /// Somebody waits for the outcome.
    pub(crate) keep_outcome: bool,
    pub(crate) attempt: u32,
    pub(crate) expiries: u32,
    /// Of its entry in a ready list.
    pub(crate) generation: u64,
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
            retry: RetryPolicy::default(),
            timeout: None,
            expires_at: None,
            keep_outcome: false,
            attempt: 1,
            expiries: 0,
            generation: 0,
            headers: Headers::default(),
        }
    }
}

impl Opts {
    /// Reads stored opts; no text is a plain job.
    pub(crate) fn read(bytes: &[u8]) -> Result<Self> {
        let mut opts = Self::default();
        if bytes.is_empty() {
            return Ok(opts);
        }
        let mut seen = 0_u32;
        for line in text(PART, bytes)?.split_inclusive('\n') {
            let line = line
                .strip_suffix('\n')
                .ok_or_else(|| damaged(PART, "the last line is cut"))?;
            let letter = line
                .bytes()
                .next()
                .filter(u8::is_ascii_lowercase)
                .ok_or_else(|| damaged(PART, "a line does not begin with a letter"))?;
            let bit = 1 << (letter - b'a');
            if seen & bit != 0 {
                let why = format!("`{}` is said twice", char::from(letter));
                return Err(damaged(PART, why));
            }
            seen |= bit;
            opts.set(letter, &line[1..])?;
        }
        Ok(opts)
    }

    fn set(&mut self, letter: u8, value: &str) -> Result<()> {
        let bad = |_: Error| wrong(letter);
        match letter {
            b'n' | b'w' if !value.is_empty() => return Err(wrong(letter)),
            b'n' => self.is_named = true,
            b'w' => self.keep_outcome = true,
            b'c' => self.created_at = Some(time(PART, value).map_err(bad)?),
            b'd' => self.due_at = Some(time(PART, value).map_err(bad)?),
            b'e' => self.expires_at = Some(time(PART, value).map_err(bad)?),
            b'l' => self.retry.until = Some(Due::At(time(PART, value).map_err(bad)?)),
            b't' => self.timeout = Some(ms(value).map_err(bad)?),
            b'p' => self.priority = priority(value).ok_or_else(|| wrong(letter))?,
            b'k' => self.kind = Some(Kind::new(value).map_err(bad)?),
            b'u' => self.unique_key = Some(UniqueKey::new(value).map_err(bad)?),
            b'r' => self.set_retry(value).ok_or_else(|| wrong(letter))?,
            b'a' => self.attempt = count(value).ok_or_else(|| wrong(letter))?,
            b'x' => self.expiries = count(value).ok_or_else(|| wrong(letter))?,
            b'g' => self.generation = number(PART, value).map_err(bad)?,
            b'h' => self.set_headers(value).ok_or_else(|| wrong(letter))?,
            _ => {
                let why = format!("`{}` is not a letter of theirs", char::from(letter));
                return Err(damaged(PART, why));
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
        let mut words = value.split('\t');
        while let Some(name) = words.next() {
            self.headers.set(name, words.next()?).ok()?;
        }
        Some(())
    }
}

/// When a job was enqueued.
pub(crate) fn created_at(id: &JobId, opts: &Opts) -> Result<Timestamp> {
    opts.created_at
        .or_else(|| ulid_ms(id, opts.is_named).map(Timestamp::from_ms))
        .ok_or_else(|| damaged(PART, "they do not say when the job was enqueued"))
}

/// When a job fell due; a scheduled job's due time is its score instead.
pub(crate) fn due_at(id: &JobId, opts: &Opts) -> Result<Timestamp> {
    opts.due_at.map_or_else(|| created_at(id, opts), Ok)
}

fn wrong(letter: u8) -> Error {
    damaged(PART, format!("the value of `{}`", char::from(letter)))
}

fn ms(value: &str) -> Result<Duration> {
    number(PART, value).map(Duration::from_millis)
}

fn count(value: &str) -> Option<u32> {
    number(PART, value).ok()?.try_into().ok()
}

fn priority(value: &str) -> Option<Priority> {
    Priority::new(number(PART, value).ok()?.try_into().ok()?).ok()
}

#[cfg(test)]
mod tests;
