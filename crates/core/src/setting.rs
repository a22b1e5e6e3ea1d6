//! The settings of a queue. One table defines the name, parser and format of each.

mod table;

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use self::table::{FIELDS, Field, field};
use crate::claim::Mode;
use crate::error::{Error, ErrorKind, Result};
use crate::group::GroupSlot;
use crate::job::JobState;
pub use crate::keep::{Keep, KeepSucceeded};
use crate::limits::FUTURE_MAX;
use crate::rate::{Rate, RateLimit};
use crate::text_enum::text_enum;

text_enum! {
    /// Where a job goes when it returns to the queue unfinished.
    Requeue {
        /// To the front of its priority.
        Front = "front",
        /// To the back of its priority.
        Back = "back",
    }
}

/// The settings of a queue.
///
/// ```
/// use windlass_core::store::{KeepSucceeded, Setting, Settings};
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
    /// How long an id chosen by the caller is remembered after the job finished (default: 1h).
    pub dedup_for: Duration,
    /// The maximum number of remembered ids (default: 100000).
    pub dedup_max: u64,
    /// Where reaped and released jobs go (default: front).
    pub requeue: Requeue,
    /// The number of expired leases, without an outcome between them, at which a job is dead if it was
    /// alone in its claim (default: 4).
    pub poison_after: u32,
    /// Which succeeded jobs are kept (default: those with a result).
    pub keep_succeeded: KeepSucceeded,
    /// How long succeeded jobs are kept (default: 1h, 10000 jobs, 64 MiB).
    pub succeeded: Keep,
    /// How long dead jobs are kept (default: 30d, 100000 jobs, 256 MiB).
    pub dead: Keep,
    /// How long cancelled jobs are kept (default: 1h, 10000 jobs, 64 MiB).
    pub cancelled: Keep,
    /// The maximum number of jobs that run at the same time (default: no limit).
    pub max_running: Option<u32>,
    /// The maximum number of jobs that are claimed per period (default: no limit).
    pub rate: Option<Rate>,
    /// The number of jobs that may be claimed at once although the rate spreads them (default: 1). What a burst
    /// takes at once is missing from the steady rate: `rate=10/1m` with `burst=4` claims 7 per minute steadily.
    pub burst: u32,
    /// The maximum number of slots that each group uses (default: no limit, but 1 if jobs keep their slots while they
    /// wait).
    pub group_max_running: Option<u32>,
    /// The maximum number of jobs of each group that are claimed per period (default: no limit).
    pub group_rate: Option<Rate>,
    /// Like `burst`, for the rate of each group (default: 1).
    pub group_burst: u32,
    /// How long a job holds a slot of its group (default: while it runs).
    pub group_slot: GroupSlot,
    /// The number of partitions, in stores that support them (default: 1).
    pub partitions: Partitions,
    /// The number of waiting jobs in one partition above which [`Partitions::Auto`] doubles their number
    /// (default: 1000000).
    pub partition_at: u64,
}

/// The number of partitions of a queue. Jobs are ordered within a partition. Partitions can be added,
/// not removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Partitions {
    /// A fixed number.
    Fixed(u32),
    /// Grows with the size of the queue.
    Auto,
}

/// The maximum number of partitions.
pub const PARTITIONS_MAX: u32 = 128;

const HOUR: Duration = Duration::from_secs(60 * 60);
const MIB: u64 = 1024 * 1024;

impl Default for Settings {
    fn default() -> Self {
        let default_keep = Keep {
            age: Some(HOUR),
            count: Some(10_000),
            bytes: Some(64 * MIB),
        };
        Self {
            dedup_for: HOUR,
            dedup_max: 100_000,
            requeue: Requeue::Front,
            poison_after: 4,
            keep_succeeded: KeepSucceeded::WithResult,
            succeeded: default_keep,
            dead: Keep {
                age: Some(HOUR * 24 * 30),
                count: Some(100_000),
                bytes: Some(256 * MIB),
            },
            cancelled: default_keep,
            max_running: None,
            rate: None,
            burst: 1,
            group_max_running: None,
            group_rate: None,
            group_burst: 1,
            group_slot: GroupSlot::Run,
            partitions: Partitions::Fixed(1),
            partition_at: 1_000_000,
        }
    }
}

/// One setting and its value. Parsed from `name=value`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Setting {
    name: &'static str,
    value: String,
}

impl Setting {
    /// Creates a setting; fails if the name is unknown or the value is invalid.
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

    /// Returns the name.
    pub const fn name(&self) -> &'static str {
        self.name
    }

    /// Returns the value as text.
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

    /// Checks settings that exclude each other.
    pub fn check(&self) -> Result<()> {
        let is_partitioned = matches!(self.partitions, Partitions::Fixed(2..));
        if is_partitioned && (self.max_running.is_some() || self.rate.is_some()) {
            return Err(Error::new(
                ErrorKind::Conflict,
                "max_running and rate limit a queue with one partition",
                "use a queue of its own for the jobs to limit, or set max_running=none and rate=none",
            ));
        }
        check_burst(self.rate, self.burst)?;
        check_burst(self.group_rate, self.group_burst)
    }

    /// Checks whether these settings may follow `old` in a queue that has jobs or groups.
    pub fn check_change(&self, old: &Self, has_jobs: bool, has_groups: bool) -> Result<()> {
        self.check()?;
        if has_jobs && self.group_slot != old.group_slot {
            return Err(Error::new(
                ErrorKind::Conflict,
                "group_slot cannot change while the queue has jobs: it decides which of them hold a slot",
                "wait until the queue is empty and delete its dead jobs, or use another queue",
            ));
        }
        let grows = self.partitions != old.partitions && self.partitions != Partitions::Fixed(1);
        if has_groups && grows {
            return Err(Error::new(
                ErrorKind::Conflict,
                "partitions cannot be added while the queue has groups: a group would be in two partitions",
                "wait until the queue is empty, or use another queue",
            ));
        }
        Ok(())
    }

    /// Checks a claim in a mode: a limit of running jobs cannot count jobs that are final when claimed.
    pub fn check_claim(&self, mode: Mode) -> Result<()> {
        let is_limited = self.max_running.is_some() || self.group_max_running().is_some();
        if mode == Mode::AtMostOnce && is_limited {
            return Err(Error::new(
                ErrorKind::Conflict,
                "a queue with max_running or group_max_running hands out no jobs at most once",
                "claim at least once, or set max_running=none, group_max_running=none and group_slot=run",
            ));
        }
        Ok(())
    }

    /// Returns how many slots a group may use, unless it has its own limit.
    pub fn group_max_running(&self) -> Option<u32> {
        let lane = self.group_slot.is_lane().then_some(1);
        self.group_max_running.or(lane)
    }

    /// Returns the rate with its burst.
    pub fn rate_limit(&self) -> Option<RateLimit> {
        self.rate.map(|rate| rate.limit(self.burst))
    }

    /// Returns how long finished jobs of a state are kept.
    pub const fn keep(&self, state: JobState) -> Keep {
        match state {
            JobState::Succeeded => self.succeeded,
            JobState::Dead => self.dead,
            _ => self.cancelled,
        }
    }

    /// Returns every setting with its current value.
    pub fn all(&self) -> Vec<Setting> {
        let list = |field: &Field| Setting {
            name: field.name,
            value: (field.read)(self),
        };
        FIELDS.iter().map(list).collect()
    }
}

/// Checks that a rate catches up with its burst: stores count microseconds, and some of them only up to `NUMBER_MAX`.
pub(crate) fn check_burst(rate: Option<Rate>, burst: u32) -> Result<()> {
    let burst_us = rate.map_or(0, |rate| rate.limit(burst).burst_us());
    if Duration::from_micros(burst_us) > FUTURE_MAX {
        return Err(Error::new(
            ErrorKind::Conflict,
            format!(
                "a burst of {burst} is too large for its rate: the rate would catch up with it after more than 100 years"
            ),
            "use a smaller burst, or a rate with a shorter period",
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_that_its_rate_cannot_catch_up_with_is_refused() {
        let check = |rate: &str, burst: u32| {
            let rate = Some(rate.parse().unwrap());
            let settings = Settings {
                rate,
                burst,
                ..Settings::default()
            };
            settings.check().map_err(|error| error.kind())
        };
        assert_eq!(check("1000/1d", 1000), Ok(()));
        assert_eq!(check("1/36500d", 1), Ok(()));
        for (rate, burst) in [("100000/1d", 100_000), ("4294967295/36500d", u32::MAX)] {
            assert_eq!(check(rate, burst), Err(ErrorKind::Conflict), "{rate}");
        }
    }

    #[test]
    fn every_setting_is_read_back_as_written() {
        let mut settings = Settings::default();
        for text in [
            "dedup_for=0s",
            "requeue=back",
            "dead_age=all",
            "succeeded_count=7",
            "max_running=3",
            "rate=100/1m",
            "burst=5",
            "group_max_running=2",
            "group_rate=5/1s",
            "group_burst=2",
            "group_slot=success",
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
            "max_running=0",
            "rate=fast",
            "rate=0/1s",
            "burst=0",
            "group_slot=never",
            "x",
        ] {
            let error = bad.parse::<Setting>().unwrap_err();
            assert!(!error.help().is_empty(), "{bad}");
        }
    }
}
