//! What stands in Redis, as text and packed numbers, into values and back.
//!
//! One file per value of `docs/redis-layout.md`: [`opts`], [`lease`], [`claim`], [`outcome`],
//! [`progress`], [`entry`], [`stats`], [`rules`]; [`job`] puts a whole job together, [`value`]
//! reads what plain commands reply. What cannot be read is `store_damaged`; the text itself is never
//! repeated in an error, since headers and messages may hold secrets.

pub(crate) mod claim;
pub(crate) mod entry;
pub(crate) mod job;
pub(crate) mod lease;
pub(crate) mod opts;
pub(crate) mod outcome;
pub(crate) mod progress;
pub(crate) mod rules;
pub(crate) mod stats;
pub(crate) mod value;

use std::fmt::Display;
use std::str;

use windlass_core::limits::NUMBER_MAX;
use windlass_core::{Error, ErrorKind, JobId, Result, Timestamp, Token};

const DAMAGED_HELP: &str =
    "run `windlass clean --deep` to mend what can be mended, and restore a backup if it comes back";

/// Something stored that cannot be read: which part, and what is wrong with it.
pub(crate) fn damaged(part: &str, why: impl Display) -> Error {
    let what = format!("the stored {part} cannot be read: {why}");
    Error::new(ErrorKind::StoreDamaged, what, DAMAGED_HELP)
}

/// The same error, with the job it is about.
pub(crate) fn of_job(id: &JobId, error: &Error) -> Error {
    let what = format!("job {:?}: {error}", id.as_str());
    Error::new(error.kind(), what, error.help().to_owned())
}

/// Bytes as text.
pub(crate) fn text<'a>(part: &str, bytes: &'a [u8]) -> Result<&'a str> {
    str::from_utf8(bytes).map_err(|_| damaged(part, "it is not UTF-8"))
}

/// A whole number from 0 that every engine counts exactly, in plain digits.
fn number(part: &str, text: &str) -> Result<u64> {
    let is_plain = text.bytes().all(|byte| byte.is_ascii_digit());
    match text.parse() {
        Ok(number) if is_plain && number <= NUMBER_MAX => Ok(number),
        _ => Err(damaged(part, "a number in it is none")),
    }
}

fn time(part: &str, text: &str) -> Result<Timestamp> {
    number(part, text).map(Timestamp::from_ms)
}

fn token(part: &str, text: &str) -> Result<Token> {
    text.parse()
        .map_err(|_| damaged(part, "a token in it is none"))
}

/// A job's id that stands as a member or a field.
pub(crate) fn job_id(part: &str, bytes: &[u8]) -> Result<JobId> {
    JobId::new(text(part, bytes)?).map_err(|_| damaged(part, "an id in it is none"))
}

/// The time that stands as a score.
pub(crate) fn score(part: &str, score: f64) -> Result<Timestamp> {
    stats::whole(score)
        .map(Timestamp::from_ms)
        .ok_or_else(|| damaged(part, "a score in it is not a time"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_plain_digits_up_to_what_every_engine_counts_are_a_number() {
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
        let error = of_job(&id, &damaged("hold", "it is empty"));
        assert_eq!(error.kind(), ErrorKind::StoreDamaged);
        assert_eq!(
            error.to_string(),
            "job \"a\": the stored hold cannot be read: it is empty"
        );
    }
}
