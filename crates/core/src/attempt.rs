//! The record of a job's attempts that failed or lost their lease, and its stored form.

use std::fmt::{self, Write as _};

use crate::job::Job;
use crate::limits::{ATTEMPT_ERROR_BYTES_MAX, ATTEMPTS_MAX};
use crate::name::BootId;
use crate::text_enum::text_enum;
use crate::time::Timestamp;

text_enum! {
    /// How an attempt on record ended.
    #[non_exhaustive]
    AttemptEnd {
        /// The worker reported an error.
        Failed = "failed",
        /// The lease expired, or the worker was declared dead.
        Expired = "expired",
    }
}

/// An attempt that did not succeed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AttemptRecord {
    /// Its number. An attempt that expired is not counted, so several records can have the same number.
    pub attempt: u32,
    /// When the job was claimed.
    pub started_at: Timestamp,
    /// When the attempt failed, or the store took the job back.
    pub ended_at: Timestamp,
    /// The worker, if known.
    pub worker: Option<BootId>,
    /// How it ended.
    pub how: AttemptEnd,
    /// The error of a failed attempt, truncated.
    pub error: Option<String>,
}

/// What a store keeps of a job's failed attempts: the last error whole, and a record of the last attempts. Its text
/// form is what counts in the stats as the bytes of the error.
///
/// Without records the text is the error alone. Otherwise it begins with [`MARK`](Self::MARK); then per record a line
/// `LETTER ATTEMPT STARTED ENDED LENGTH WORKER` and LENGTH bytes of its error; and if there is a last error, another
/// mark and the error. A LENGTH that begins with `=` refers to the last error, whose text is not repeated.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct StoredErrors {
    /// The error of the last failed attempt.
    pub error: Option<String>,
    /// The attempts, oldest first.
    pub attempts: Vec<AttemptRecord>,
}

impl StoredErrors {
    /// The first character of a text with records.
    pub const MARK: char = '\u{1}';

    /// Adds an attempt. The oldest one is dropped if there are too many.
    pub fn add(&mut self, attempt: AttemptRecord, error: Option<&str>) {
        let error = error.map(ToOwned::to_owned);
        self.error = error.clone().or(self.error.take());
        let cut =
            |error: String| error[..error.floor_char_boundary(ATTEMPT_ERROR_BYTES_MAX)].to_owned();
        self.attempts.push(AttemptRecord {
            error: error.map(cut),
            ..attempt
        });
        let excess = self.attempts.len().saturating_sub(ATTEMPTS_MAX);
        self.attempts.drain(..excess);
    }

    /// Reads the text form. A text that cannot be read is an error without records.
    pub fn read(text: Option<&str>) -> Self {
        let plain = || Self {
            error: text.map(ToOwned::to_owned),
            attempts: Vec::new(),
        };
        let records = text.and_then(|text| text.strip_prefix(Self::MARK));
        records.map_or_else(plain, |text| read_records(text).unwrap_or_else(plain))
    }

    /// Returns the text form, or `None` if there is nothing to keep.
    pub fn to_text(&self) -> Option<String> {
        if self.attempts.is_empty() {
            return self.error.clone();
        }
        let failed = |attempt: &AttemptRecord| attempt.error.is_some();
        let shared = self
            .error
            .as_ref()
            .and(self.attempts.iter().rposition(failed));
        let mut text = String::from(Self::MARK);
        for (index, attempt) in self.attempts.iter().enumerate() {
            let is_shared = shared == Some(index);
            let error = attempt.error.as_deref().unwrap_or_default();
            let _ = write!(
                text,
                "{} {} {} {} {}{} {}\n{}",
                letter(attempt.how),
                attempt.attempt,
                attempt.started_at.as_ms(),
                attempt.ended_at.as_ms(),
                if is_shared { "=" } else { "" },
                error.len(),
                attempt.worker.as_ref().map_or("", BootId::as_str),
                if is_shared { "" } else { error },
            );
        }
        if let Some(error) = &self.error {
            text.push(Self::MARK);
            text += error;
        }
        Some(text)
    }
}

impl Job {
    /// What a store keeps of its failed attempts.
    pub fn stored_errors(&self) -> StoredErrors {
        StoredErrors {
            error: self.error.clone(),
            attempts: self.attempts.clone(),
        }
    }

    /// Sets what a store keeps of its failed attempts.
    pub fn set_stored_errors(&mut self, errors: StoredErrors) {
        self.error = errors.error;
        self.attempts = errors.attempts;
    }
}

fn letter(how: AttemptEnd) -> char {
    match how {
        AttemptEnd::Failed => 'f',
        AttemptEnd::Expired => 'x',
    }
}

fn read_records(mut text: &str) -> Option<StoredErrors> {
    let mut errors = StoredErrors::default();
    let mut shared = None;
    while !text.is_empty() {
        if let Some(error) = text.strip_prefix(StoredErrors::MARK) {
            errors.error = Some(error.to_owned());
            break;
        }
        let (head, rest) = text.split_once('\n')?;
        let fields: Vec<&str> = head.splitn(6, ' ').collect();
        let &[how, attempt, started_at, ended_at, length, worker] = fields.as_slice() else {
            return None;
        };
        let time = |text: &str| text.parse().ok().map(Timestamp::from_ms);
        let is_shared = length.starts_with('=');
        let length: usize = length.trim_start_matches('=').parse().ok()?;
        let how = *AttemptEnd::ALL
            .iter()
            .find(|end| how == letter(**end).to_string())?;
        let error = rest.get(..if is_shared { 0 } else { length })?;
        text = &rest[error.len()..];
        if is_shared {
            shared = Some((errors.attempts.len(), length));
        }
        errors.attempts.push(AttemptRecord {
            attempt: attempt.parse().ok()?,
            started_at: time(started_at)?,
            ended_at: time(ended_at)?,
            worker: match worker {
                "" => None,
                name => Some(BootId::new(name).ok()?),
            },
            how,
            error: (how == AttemptEnd::Failed).then(|| error.to_owned()),
        });
    }
    if let Some((index, length)) = shared {
        errors.attempts[index].error = Some(errors.error.as_ref()?.get(..length)?.to_owned());
    }
    Some(errors)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(number: u32, how: AttemptEnd) -> AttemptRecord {
        AttemptRecord {
            attempt: number,
            started_at: Timestamp::from_ms(10),
            ended_at: Timestamp::from_ms(25),
            worker: number
                .is_multiple_of(2)
                .then(|| BootId::new("a b").unwrap()),
            how,
            error: None,
        }
    }

    #[test]
    fn what_is_written_is_read_back() {
        let mut errors = StoredErrors::default();
        let long = "é".repeat(ATTEMPT_ERROR_BYTES_MAX);
        for (number, error) in ["one\ntwo", "", &long, "\u{1}last"].iter().enumerate() {
            let number = u32::try_from(number).unwrap();
            errors.add(record(number, AttemptEnd::Failed), Some(error));
            assert_eq!(StoredErrors::read(errors.to_text().as_deref()), errors);
            errors.add(record(number, AttemptEnd::Expired), None);
            assert_eq!(StoredErrors::read(errors.to_text().as_deref()), errors);
        }
        errors.error = None;
        assert_eq!(StoredErrors::read(errors.to_text().as_deref()), errors);
    }

    #[test]
    fn the_last_error_is_whole_and_stored_once() {
        let mut errors = StoredErrors::default();
        errors.add(record(1, AttemptEnd::Failed), Some("no stamp"));
        assert_eq!(
            errors.to_text().unwrap(),
            "\u{1}f 1 10 25 =8 \n\u{1}no stamp"
        );

        errors.add(record(2, AttemptEnd::Failed), Some("no ink"));
        let text = "\u{1}f 1 10 25 8 \nno stampf 2 10 25 =6 a b\n\u{1}no ink";
        assert_eq!(errors.to_text().unwrap(), text);
    }

    #[test]
    fn an_error_without_records_and_a_damaged_one_are_errors() {
        let damaged = "\u{1}f 1 10 25 900 \nno stamp";
        for text in [
            "",
            "no stamp",
            "\n",
            damaged,
            "\u{1}f 1",
            "\u{1}f 1 1 1 =9 \n\u{1}short",
        ] {
            let errors = StoredErrors::read(Some(text));
            assert_eq!(errors.error.as_deref(), Some(text));
            assert_eq!(errors.attempts, []);
        }
        assert_eq!(StoredErrors::read(None), StoredErrors::default());
    }
}
