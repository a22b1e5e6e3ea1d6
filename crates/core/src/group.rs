//! Groups: jobs of a queue that share limits and take turns with the jobs of other groups.
//!
//! A claim takes one job per turn from the group with the most urgent first job, among these from the one with the
//! fewest slots in use, then from the one whose last turn was longest ago. Jobs without a group are one more
//! group, without limits.

use std::fmt;
use std::str::FromStr;

use crate::error::{Error, Result};
use crate::name::GroupName;
use crate::rate::{Rate, RateLimit};
use crate::setting::Settings;
use crate::text_enum::text_enum;
use crate::time::Timestamp;

text_enum! {
    /// How long a job holds a slot of its group.
    GroupSlot {
        /// While it runs.
        Run = "run",
        /// From its first claim to its end, also while it waits for a retry: an ordered lane.
        Job = "job",
        /// Also while it is dead, until it is retried and succeeds, or is deleted: an ordered lane that stops at a
        /// failure.
        Success = "success",
    }
}

impl GroupSlot {
    /// Returns whether jobs keep their slot while they wait, which makes each group an ordered lane.
    pub const fn is_lane(self) -> bool {
        matches!(self, Self::Job | Self::Success)
    }
}

text_enum! {
    /// What a snooze postpones.
    SnoozeScope {
        /// The job.
        Job = "job",
        /// Every job of its group. A job without a group is postponed alone.
        Group = "group",
        /// Every job of the queue.
        Queue = "queue",
    }
}

/// A limit of a single group. Parsed from `default`, `none` or a value.
///
/// ```
/// use windlass_core::group::OwnLimit;
///
/// assert_eq!("3".parse::<OwnLimit<u32>>().unwrap(), OwnLimit::At(3));
/// assert_eq!(OwnLimit::Default.or(Some(5)), Some(5));
/// assert_eq!(OwnLimit::None.or(Some(5)), None);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OwnLimit<T> {
    /// The limit that the settings of the queue give every group.
    #[default]
    Default,
    /// No limit.
    None,
    /// This limit.
    At(T),
}

impl<T: Copy> OwnLimit<T> {
    /// Returns the limit that applies, given the one of the queue.
    pub fn or(self, default: Option<T>) -> Option<T> {
        match self {
            Self::Default => default,
            Self::None => None,
            Self::At(limit) => Some(limit),
        }
    }
}

impl<T: fmt::Display> fmt::Display for OwnLimit<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("default"),
            Self::None => f.write_str("none"),
            Self::At(limit) => limit.fmt(f),
        }
    }
}

impl<T: FromStr> FromStr for OwnLimit<T> {
    type Err = T::Err;

    fn from_str(text: &str) -> std::result::Result<Self, T::Err> {
        match text {
            "default" => Ok(Self::Default),
            "none" => Ok(Self::None),
            _ => text.parse().map(Self::At),
        }
    }
}

/// The limits of a single group.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct GroupLimits {
    /// The maximum number of slots in use.
    pub max_running: OwnLimit<u32>,
    /// The maximum number of jobs claimed per period.
    pub rate: OwnLimit<Rate>,
    /// The burst of the rate. `None`: the one that the settings of the queue give every group.
    pub burst: Option<u32>,
}

impl GroupLimits {
    /// Returns how many slots the group may use.
    pub fn max_running(&self, settings: &Settings) -> Option<u32> {
        self.max_running.or(settings.group_max_running())
    }

    /// Returns its rate with the burst.
    pub fn rate_limit(&self, settings: &Settings) -> Option<RateLimit> {
        let rate = self.rate.or(settings.group_rate)?;
        Some(rate.limit(self.burst.unwrap_or(settings.group_burst)))
    }
}

/// A change of a group. `None` leaves a value as it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct GroupChange {
    /// Pauses or resumes the group. Resuming also ends its rest.
    pub is_paused: Option<bool>,
    /// See [`GroupLimits::max_running`].
    pub max_running: Option<OwnLimit<u32>>,
    /// See [`GroupLimits::rate`].
    pub rate: Option<OwnLimit<Rate>>,
    /// See [`GroupLimits::burst`]; the inner `None` returns to the default.
    pub burst: Option<OwnLimit<u32>>,
}

impl GroupChange {
    /// Sets one limit by its name: `max_running`, `rate` or `burst`.
    ///
    /// ```
    /// use windlass_core::group::{GroupChange, OwnLimit};
    ///
    /// let mut change = GroupChange::default();
    /// change.set("max_running", "3")?;
    /// change.set("rate", "none")?;
    /// assert_eq!(change.max_running, Some(OwnLimit::At(3)));
    /// assert!(change.set("burst", "0").is_err());
    /// # Ok::<(), windlass_core::Error>(())
    /// ```
    pub fn set(&mut self, name: &str, value: &str) -> Result<()> {
        match name {
            "max_running" => {
                let form = "a whole number from 1, none or default";
                self.max_running = Some(parse_positive(name, value, form)?);
            }
            "rate" => self.rate = Some(value.parse()?),
            "burst" => {
                let form = "a whole number from 1, or default";
                let burst = parse_positive(name, value, form)?;
                if burst == OwnLimit::None {
                    return Err(Error::invalid(
                        name,
                        "none is not a burst",
                        format!("use {form}"),
                    ));
                }
                self.burst = Some(burst);
            }
            _ => {
                let names = ["max_running", "rate", "burst"];
                return Err(Error::unknown("limit of a group", name, &names));
            }
        }
        Ok(())
    }

    /// Returns the limits after this change.
    pub fn apply(&self, limits: GroupLimits) -> GroupLimits {
        GroupLimits {
            max_running: self.max_running.unwrap_or(limits.max_running),
            rate: self.rate.unwrap_or(limits.rate),
            burst: self.burst.map_or(limits.burst, |burst| burst.or(None)),
        }
    }

    /// Checks the limits that this change leads to.
    pub fn check(&self, limits: GroupLimits, settings: &Settings) -> Result<()> {
        let limits = self.apply(limits);
        let burst = limits.burst.unwrap_or(settings.group_burst);
        crate::setting::check_burst(limits.rate.or(settings.group_rate), burst)
    }
}

fn parse_positive(name: &str, value: &str, form: &str) -> Result<OwnLimit<u32>> {
    let parsed: Option<OwnLimit<u32>> = value.parse().ok();
    let parsed = parsed.filter(|limit| *limit != OwnLimit::At(0));
    parsed.ok_or_else(|| {
        let why = format!("{value:?} is not a whole number in range");
        Error::invalid(name, why, format!("use {form}"))
    })
}

/// A group that has ready jobs, slots in use, a rest, a closed rate, or limits of its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GroupRecord {
    /// The name.
    pub name: GroupName,
    /// Its ready jobs.
    pub ready: u64,
    /// Its jobs that hold a slot.
    pub slots: u64,
    /// Whether it is paused.
    pub is_paused: bool,
    /// Until when a snooze lets it rest.
    pub resting_until: Option<Timestamp>,
    /// When its rate allows the next claim, if it is closed now.
    pub opens_at: Option<Timestamp>,
    /// Its own limits.
    pub limits: GroupLimits,
}

impl GroupRecord {
    /// Returns whether the group is worth a record: a group without anything does not exist.
    pub fn exists(&self) -> bool {
        self.ready + self.slots > 0
            || self.is_paused
            || self.resting_until.is_some()
            || self.opens_at.is_some()
            || self.limits != GroupLimits::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_is_read_back_as_written() {
        for text in ["default", "none", "7"] {
            assert_eq!(text.parse::<OwnLimit<u32>>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn limits_of_a_group_are_used_instead_of_those_of_the_queue() {
        let settings = Settings {
            group_max_running: Some(2),
            group_rate: Some("10/1s".parse().unwrap()),
            ..Settings::default()
        };
        let mut change = GroupChange::default();
        change.set("max_running", "5").unwrap();
        change.set("rate", "none").unwrap();

        let limits = change.apply(GroupLimits::default());

        assert_eq!(limits.max_running(&settings), Some(5));
        assert_eq!(limits.rate_limit(&settings), None);
        assert_eq!(GroupLimits::default().max_running(&settings), Some(2));
    }

    #[test]
    fn a_wrong_limit_says_what_would_be_right() {
        for (name, value) in [
            ("max_running", "0"),
            ("rate", "fast"),
            ("burst", "none"),
            ("colour", "1"),
        ] {
            let error = GroupChange::default().set(name, value).unwrap_err();
            assert!(!error.help().is_empty(), "{name}={value}");
        }
    }
}
