//! The table of settings: name, text form, parser and format of each.

use std::time::Duration;

use super::{KeepSucceeded, PARTITIONS_MAX, Partitions, Requeue, Settings};
use crate::duration;
use crate::error::{Error, Result};
use crate::group::GroupSlot;
use crate::limits::{FUTURE_MAX, NUMBER_MAX};
use crate::rate::Rate;

pub(super) struct Field {
    pub(super) name: &'static str,
    pub(super) form: &'static str,
    pub(super) read: fn(&Settings) -> String,
    pub(super) write: fn(&mut Settings, &str) -> Result<(), String>,
}

pub(super) fn field(name: &str) -> Result<&'static Field> {
    FIELDS
        .iter()
        .find(|field| field.name == name)
        .ok_or_else(|| {
            let names: Vec<_> = FIELDS.iter().map(|field| field.name).collect();
            Error::unknown("setting", name, &names)
        })
}

macro_rules! field {
    ($name:literal, $form:expr, $($path:ident).+, $read:expr, $write:expr) => {
        Field {
            name: $name,
            form: $form,
            read: |settings| $read(settings.$($path).+),
            write: |settings, text| {
                settings.$($path).+ = $write(text)?;
                Ok(())
            },
        }
    };
}

const DURATION: &str = "a duration such as 1h30m";
const AGE: &str = "a duration such as 1h30m, or all";
const NUMBER: &str = "a whole number";
const BOUND: &str = "a whole number, or all";

pub(super) static FIELDS: [Field; 23] = [
    field!(
        "dedup_for",
        DURATION,
        dedup_for,
        format_duration,
        parse_duration
    ),
    field!("dedup_max", NUMBER, dedup_max, format_value, parse_number),
    field!(
        "requeue",
        "front or back",
        requeue,
        format_value,
        parse_requeue
    ),
    field!(
        "poison_after",
        "a whole number from 1",
        poison_after,
        format_value,
        parse_positive
    ),
    field!(
        "keep_succeeded",
        "with_result, all or nothing",
        keep_succeeded,
        format_value,
        parse_keep_succeeded
    ),
    field!("succeeded_age", AGE, succeeded.age, format_age, parse_age),
    field!(
        "succeeded_count",
        BOUND,
        succeeded.count,
        format_bound,
        parse_bound
    ),
    field!(
        "succeeded_bytes",
        BOUND,
        succeeded.bytes,
        format_bound,
        parse_bound
    ),
    field!("dead_age", AGE, dead.age, format_age, parse_age),
    field!("dead_count", BOUND, dead.count, format_bound, parse_bound),
    field!("dead_bytes", BOUND, dead.bytes, format_bound, parse_bound),
    field!("cancelled_age", AGE, cancelled.age, format_age, parse_age),
    field!(
        "cancelled_count",
        BOUND,
        cancelled.count,
        format_bound,
        parse_bound
    ),
    field!(
        "cancelled_bytes",
        BOUND,
        cancelled.bytes,
        format_bound,
        parse_bound
    ),
    field!(
        "max_running",
        "a whole number from 1, or none",
        max_running,
        format_limit,
        parse_max_running
    ),
    field!(
        "rate",
        "a rate such as 100/1m, or none",
        rate,
        format_limit,
        parse_rate
    ),
    field!(
        "burst",
        "a whole number from 1",
        burst,
        format_value,
        parse_positive
    ),
    field!(
        "group_max_running",
        "a whole number from 1, or none",
        group_max_running,
        format_limit,
        parse_max_running
    ),
    field!(
        "group_rate",
        "a rate such as 100/1m, or none",
        group_rate,
        format_limit,
        parse_rate
    ),
    field!(
        "group_burst",
        "a whole number from 1",
        group_burst,
        format_value,
        parse_positive
    ),
    field!(
        "group_slot",
        "run, job or success",
        group_slot,
        format_value,
        parse_group_slot
    ),
    field!(
        "partitions",
        "a whole number from 1 to 128, or auto",
        partitions,
        format_partitions,
        parse_partitions
    ),
    field!(
        "partition_at",
        "a whole number from 1",
        partition_at,
        format_value,
        parse_threshold
    ),
];

fn format_value(value: impl ToString + Copy) -> String {
    value.to_string()
}

fn format_duration(value: Duration) -> String {
    duration::format(value)
}

fn parse_duration(text: &str) -> Result<Duration, String> {
    match duration::parse(text) {
        Ok(duration) if duration > FUTURE_MAX => Err(format!("{text} is longer than 100 years")),
        parsed => parsed.map_err(|error| error.to_string()),
    }
}

fn format_age(value: Option<Duration>) -> String {
    value.map_or_else(|| "all".to_owned(), format_duration)
}

fn parse_age(text: &str) -> Result<Option<Duration>, String> {
    if text == "all" {
        Ok(None)
    } else {
        parse_duration(text).map(Some)
    }
}

fn format_bound(value: Option<u64>) -> String {
    value.map_or_else(|| "all".to_owned(), |bound| bound.to_string())
}

fn parse_bound(text: &str) -> Result<Option<u64>, String> {
    if text == "all" {
        Ok(None)
    } else {
        parse_number(text).map(Some)
    }
}

fn parse_number(text: &str) -> Result<u64, String> {
    match text.parse() {
        Ok(number) if number <= NUMBER_MAX => Ok(number),
        _ => Err(not_a_number(text)),
    }
}

fn parse_positive(text: &str) -> Result<u32, String> {
    match text.parse() {
        Ok(number) if number > 0 => Ok(number),
        _ => Err(not_a_number(text)),
    }
}

fn parse_threshold(text: &str) -> Result<u64, String> {
    match parse_number(text)? {
        0 => Err(not_a_number(text)),
        number => Ok(number),
    }
}

fn format_limit(value: Option<impl ToString>) -> String {
    value.map_or_else(|| "none".to_owned(), |limit| limit.to_string())
}

fn parse_max_running(text: &str) -> Result<Option<u32>, String> {
    match text {
        "none" => Ok(None),
        _ => parse_positive(text).map(Some),
    }
}

fn parse_rate(text: &str) -> Result<Option<Rate>, String> {
    match text {
        "none" => Ok(None),
        _ => text
            .parse()
            .map(Some)
            .map_err(|error: Error| error.to_string()),
    }
}

fn format_partitions(value: Partitions) -> String {
    match value {
        Partitions::Fixed(count) => count.to_string(),
        Partitions::Auto => "auto".to_owned(),
    }
}

fn parse_partitions(text: &str) -> Result<Partitions, String> {
    match text.parse() {
        Ok(count) if (1..=PARTITIONS_MAX).contains(&count) => Ok(Partitions::Fixed(count)),
        _ if text == "auto" => Ok(Partitions::Auto),
        _ => Err(not_a_number(text)),
    }
}

fn not_a_number(text: &str) -> String {
    format!(
        "{:?} is not a whole number in range",
        text.chars().take(40).collect::<String>()
    )
}

fn parse_requeue(text: &str) -> Result<Requeue, String> {
    Requeue::from_text(text).ok_or_else(|| format!("unknown value {text:?}"))
}

fn parse_group_slot(text: &str) -> Result<GroupSlot, String> {
    GroupSlot::from_text(text).ok_or_else(|| format!("unknown value {text:?}"))
}

fn parse_keep_succeeded(text: &str) -> Result<KeepSucceeded, String> {
    KeepSucceeded::from_text(text).ok_or_else(|| format!("unknown value {text:?}"))
}
