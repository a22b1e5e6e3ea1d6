//! Decodes and encodes the values stored in Redis: text and packed numbers.
//!
//! One file per value of `docs/redis-layout.md`: [`inline`], [`opts`], [`lease`], [`claim`], [`end`],
//! [`progress`], [`entry`], [`group`], [`history`], [`stats`], [`rules`], [`schedule`]; [`job`] assembles a job, [`value`] decodes replies
//! to plain commands, [`names`] has the constants shared with Lua. An unreadable value is
//! `store_damaged`; errors never contain the value, since headers and messages may contain secrets.

pub(crate) mod claim;
pub(crate) mod end;
pub(crate) mod entry;
pub(crate) mod error_group;
pub(crate) mod group;
pub(crate) mod history;
pub(crate) mod inline;
pub(crate) mod job;
pub(crate) mod lease;
pub(crate) mod names;
pub(crate) mod opts;
pub(crate) mod progress;
pub(crate) mod rules;
pub(crate) mod schedule;
pub(crate) mod stats;
pub(crate) mod value;

use std::fmt::Display;
use std::str;

use windlass_core::limits::NUMBER_MAX;
use windlass_core::{Error, ErrorKind, JobId, Result, Timestamp, Token};

const DAMAGED_HELP: &str =
    "run `windlass audit` to repair the queue; if the error persists, restore a backup";

/// The error for an unreadable value: what kind of value, and what is wrong with it.
pub(crate) fn damaged(kind: &str, why: impl Display) -> Error {
    let message = format!("corrupt {kind}: {why}");
    Error::new(ErrorKind::StoreDamaged, message, DAMAGED_HELP)
}

/// Adds the id of the job to an error.
pub(crate) fn of_job(id: &JobId, error: &Error) -> Error {
    let message = format!("job {:?}: {error}", id.as_str());
    Error::new(error.kind(), message, error.help().to_owned())
}

pub(crate) fn text<'a>(kind: &str, bytes: &'a [u8]) -> Result<&'a str> {
    str::from_utf8(bytes).map_err(|_| damaged(kind, "not UTF-8"))
}

/// Parses a whole number from 0 to 2^53, in digits only.
fn number(kind: &str, text: &str) -> Result<u64> {
    let is_digits = text.bytes().all(|byte| byte.is_ascii_digit());
    match text.parse() {
        Ok(number) if is_digits && number <= NUMBER_MAX => Ok(number),
        _ => Err(damaged(kind, "invalid number")),
    }
}

fn time(kind: &str, text: &str) -> Result<Timestamp> {
    number(kind, text).map(Timestamp::from_ms)
}

fn token(kind: &str, text: &str) -> Result<Token> {
    text.parse().map_err(|_| damaged(kind, "invalid token"))
}

pub(crate) fn job_id(kind: &str, bytes: &[u8]) -> Result<JobId> {
    JobId::new(text(kind, bytes)?).map_err(|_| damaged(kind, "invalid id"))
}

/// Converts a score to a time.
pub(crate) fn score(kind: &str, score: f64) -> Result<Timestamp> {
    stats::whole_number(score)
        .map(Timestamp::from_ms)
        .ok_or_else(|| damaged(kind, "invalid time as score"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_has_only_digits_and_is_at_most_2_to_the_53() {
        assert_eq!(number("x", "0").unwrap(), 0);
        assert_eq!(number("x", "9007199254740992").unwrap(), NUMBER_MAX);
        for bad in ["", "+1", "-1", "1.5", "1e3", " 1", "9007199254740993"] {
            let error = number("x", bad).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::StoreDamaged, "{bad:?}");
        }
    }

    #[test]
    fn a_score_is_a_time_only_when_it_is_whole_and_not_before_1970() {
        assert_eq!(score("x", 7.0).unwrap(), Timestamp::from_ms(7));
        for bad in [-1.0, 0.5, f64::INFINITY, f64::NAN, 1e17] {
            assert!(score("x", bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn an_error_names_the_job_and_keeps_its_kind() {
        let id = JobId::new("a").unwrap();
        let error = of_job(&id, &damaged("lease", "it is empty"));
        assert_eq!(error.kind(), ErrorKind::StoreDamaged);
        assert_eq!(error.to_string(), "job \"a\": corrupt lease: it is empty");
    }
}
