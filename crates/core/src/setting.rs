//! The settings of a queue: one table that names, reads, writes and checks each of them.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use crate::duration;
use crate::error::{Error, Result};
use crate::limits::{AHEAD_MAX, NUMBER_MAX};
use crate::text_enum::text_enum;

/// How long finished jobs of one state are kept: the first bound reached wins; `None` is no bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Keep {
    /// At most this long after the end.
    pub age: Option<Duration>,
    /// At most this many.
    pub count: Option<u64>,
    /// At most this many bytes of payloads, results and errors.
    pub bytes: Option<u64>,
}

text_enum! {
    /// Where a job goes that was handed out and came back unfinished.
    Requeue {
        /// Ahead of all that wait in its priority.
        Front = "front",
        /// Behind them.
        Back = "back",
    }
}

text_enum! {
    /// Which succeeded jobs are kept at all.
    KeepSucceeded {
        /// Those with a result, and those somebody waits for.
        WithResult = "with_result",
        /// All.
        All = "all",
        /// None.
        Nothing = "nothing",
    }
}

/// How a queue behaves.
///
/// ```
/// use windlass_core::{KeepSucceeded, Setting, Settings};
///
/// let mut settings = Settings::default();
/// settings.apply(&"keep_succeeded=all".parse()?)?;
/// settings.apply(&Setting::new("dead_age", "90d")?)?;
/// assert_eq!(settings.keep_succeeded, KeepSucceeded::All);
/// assert!("dead_age=soon".parse::<Setting>().is_err());
/// # Ok::<(), windlass_core::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Settings {
    /// How long the id a caller chose is remembered after its job's end.
    pub dedup_for: Duration,
    /// How many such ids are remembered at most.
    pub dedup_max: u64,
    /// Where rescued and released jobs go.
    pub requeue: Requeue,
    /// How many expired leases make a job poison.
    pub poison_after: u32,
    /// Which succeeded jobs are kept.
    pub keep_succeeded: KeepSucceeded,
    /// For how long.
    pub succeeded: Keep,
    /// How long dead jobs are kept.
    pub dead: Keep,
    /// How long cancelled jobs are kept.
    pub cancelled: Keep,
    /// Over how many parts the queue is spread, where a store has several places for them.
    pub partitions: Partitions,
}

/// Over how many parts one queue is spread. Order is kept within a part; parts are only added.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Partitions {
    /// This many.
    Fixed(u32),
    /// As many as its size asks for.
    Auto,
}

/// The most parts of one queue.
pub const PARTITIONS_MAX: u32 = 128;

const HOUR: Duration = Duration::from_secs(60 * 60);
const MIB: u64 = 1024 * 1024;

impl Default for Settings {
    fn default() -> Self {
        let an_hour = Keep {
            age: Some(HOUR),
            count: Some(10_000),
            bytes: Some(64 * MIB),
        };
        Self {
            dedup_for: HOUR,
            dedup_max: 100_000,
            requeue: Requeue::Front,
            poison_after: 3,
            keep_succeeded: KeepSucceeded::WithResult,
            succeeded: an_hour,
            dead: Keep {
                age: Some(HOUR * 24 * 30),
                count: Some(100_000),
                bytes: Some(256 * MIB),
            },
            cancelled: an_hour,
            partitions: Partitions::Fixed(1),
        }
    }
}

/// One setting with its value; written `name=value`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Setting {
    name: &'static str,
    value: String,
}

impl Setting {
    /// Checks a name and the text of its value.
    pub fn new(name: &str, value: &str) -> Result<Self> {
        let mut scratch = Settings::default();
        let field = field(name)?;
        (field.write)(&mut scratch, value).map_err(|why| {
            Error::invalid(
                &format!("setting {name}"),
                why,
                format!("use {}", field.form),
            )
        })?;
        Ok(Self {
            name: field.name,
            value: (field.read)(&scratch),
        })
    }

    /// Its name.
    pub const fn name(&self) -> &'static str {
        self.name
    }

    /// The text of its value.
    pub fn value(&self) -> &str {
        &self.value
    }
}

impl FromStr for Setting {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let (name, value) = text.split_once('=').ok_or_else(|| {
            Error::invalid(
                "setting",
                format!("missing = in {text:?}"),
                "use the form name=value",
            )
        })?;
        Self::new(name.trim(), value.trim())
    }
}

impl Settings {
    /// Changes one setting.
    pub fn apply(&mut self, setting: &Setting) -> Result<()> {
        let field = field(setting.name)?;
        (field.write)(self, &setting.value)
            .map_err(|why| Error::invalid(setting.name, why, format!("use {}", field.form)))
    }

    /// Every setting with its present value, in the order of the table.
    pub fn all(&self) -> Vec<Setting> {
        let list = |field: &Field| Setting {
            name: field.name,
            value: (field.read)(self),
        };
        FIELDS.iter().map(list).collect()
    }
}

struct Field {
    name: &'static str,
    form: &'static str,
    read: fn(&Settings) -> String,
    write: fn(&mut Settings, &str) -> Result<(), String>,
}

fn field(name: &str) -> Result<&'static Field> {
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

static FIELDS: [Field; 15] = [
    field!(
        "dedup_for",
        DURATION,
        dedup_for,
        show_duration,
        read_duration
    ),
    field!("dedup_max", NUMBER, dedup_max, show, read_number),
    field!("requeue", "front or back", requeue, show, read_requeue),
    field!(
        "poison_after",
        "a whole number from 1",
        poison_after,
        show,
        read_positive
    ),
    field!(
        "keep_succeeded",
        "with_result, all or nothing",
        keep_succeeded,
        show,
        read_keep_succeeded
    ),
    field!("succeeded_age", AGE, succeeded.age, show_age, read_age),
    field!(
        "succeeded_count",
        BOUND,
        succeeded.count,
        show_bound,
        read_bound
    ),
    field!(
        "succeeded_bytes",
        BOUND,
        succeeded.bytes,
        show_bound,
        read_bound
    ),
    field!("dead_age", AGE, dead.age, show_age, read_age),
    field!("dead_count", BOUND, dead.count, show_bound, read_bound),
    field!("dead_bytes", BOUND, dead.bytes, show_bound, read_bound),
    field!("cancelled_age", AGE, cancelled.age, show_age, read_age),
    field!(
        "cancelled_count",
        BOUND,
        cancelled.count,
        show_bound,
        read_bound
    ),
    field!(
        "cancelled_bytes",
        BOUND,
        cancelled.bytes,
        show_bound,
        read_bound
    ),
    field!(
        "partitions",
        "a whole number from 1 to 128, or auto",
        partitions,
        show_partitions,
        read_partitions
    ),
];

fn show(value: impl ToString + Copy) -> String {
    value.to_string()
}

fn show_duration(value: Duration) -> String {
    duration::format(value)
}

fn read_duration(text: &str) -> Result<Duration, String> {
    match duration::parse(text) {
        Ok(duration) if duration > AHEAD_MAX => Err(format!("{text} is longer than 100 years")),
        parsed => parsed.map_err(|error| error.to_string()),
    }
}

fn show_age(value: Option<Duration>) -> String {
    value.map_or_else(|| "all".to_owned(), show_duration)
}

fn read_age(text: &str) -> Result<Option<Duration>, String> {
    if text == "all" {
        Ok(None)
    } else {
        read_duration(text).map(Some)
    }
}

fn show_bound(value: Option<u64>) -> String {
    value.map_or_else(|| "all".to_owned(), |bound| bound.to_string())
}

fn read_bound(text: &str) -> Result<Option<u64>, String> {
    if text == "all" {
        Ok(None)
    } else {
        read_number(text).map(Some)
    }
}

fn read_number(text: &str) -> Result<u64, String> {
    match text.parse() {
        Ok(number) if number <= NUMBER_MAX => Ok(number),
        _ => Err(not_such(text)),
    }
}

fn read_positive(text: &str) -> Result<u32, String> {
    match text.parse() {
        Ok(number) if number > 0 => Ok(number),
        _ => Err(not_such(text)),
    }
}

fn show_partitions(value: Partitions) -> String {
    match value {
        Partitions::Fixed(count) => count.to_string(),
        Partitions::Auto => "auto".to_owned(),
    }
}

fn read_partitions(text: &str) -> Result<Partitions, String> {
    match text.parse() {
        Ok(count) if (1..=PARTITIONS_MAX).contains(&count) => Ok(Partitions::Fixed(count)),
        _ if text == "auto" => Ok(Partitions::Auto),
        _ => Err(not_such(text)),
    }
}

fn not_such(text: &str) -> String {
    format!(
        "{:?} is not a whole number in range",
        text.chars().take(40).collect::<String>()
    )
}

fn read_requeue(text: &str) -> Result<Requeue, String> {
    Requeue::from_text(text).ok_or_else(|| format!("unknown value {text:?}"))
}

fn read_keep_succeeded(text: &str) -> Result<KeepSucceeded, String> {
    KeepSucceeded::from_text(text).ok_or_else(|| format!("unknown value {text:?}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_setting_is_read_back_as_written() {
        let mut settings = Settings::default();
        for text in [
            "dedup_for=0s",
            "requeue=back",
            "dead_age=all",
            "succeeded_count=7",
        ] {
            settings.apply(&text.parse().unwrap()).unwrap();
        }

        let mut copy = Settings::default();
        for setting in settings.all() {
            copy.apply(&Setting::new(setting.name(), setting.value()).unwrap())
                .unwrap();
        }

        assert_eq!(copy, settings);
    }

    #[test]
    fn a_wrong_setting_says_what_would_be_right() {
        for bad in [
            "colour=red",
            "requeue=up",
            "poison_after=0",
            "dedup_for=5",
            "dead_count=-1",
            "dead_age=99999d",
            "x",
        ] {
            let error = bad.parse::<Setting>().unwrap_err();
            assert!(!error.help().is_empty(), "{bad}");
        }
    }
}
