//! Groups: the record of each, and the numbers of all of them together.

use std::time::Duration;

use windlass_core::store::{GroupFacts, GroupLimits, GroupName, GroupRecord, OwnLimit, Settings};
use windlass_core::time::Now;
use windlass_core::{Priority, Result, Timestamp};

use super::names::{
    DEFAULT_LIMIT, GROUP_NUMBERS, GROUPED_READY, LIMITS_CHANGED, LIMITS_VERSION, UNGROUPED_TURN,
};
use super::{damaged, number, text};

const KIND: &str = "group";
const NO_LIMIT: &str = "-1";

/// The numbers of all groups of a queue together.
#[derive(Debug, Clone, Default)]
pub(crate) struct GroupNumbers([u64; GROUP_NUMBERS]);

impl GroupNumbers {
    pub(crate) fn read(bytes: &[u8]) -> Result<Self> {
        let numbers = text(KIND, bytes)?.split(' ').map(|word| {
            // A position before the first job of a line is negative, and not needed here.
            number(KIND, word.trim_start_matches('-'))
        });
        let numbers = numbers.collect::<Result<Vec<_>>>()?;
        let numbers = numbers.try_into();
        numbers
            .map(Self)
            .map_err(|_| damaged(KIND, "wrong count of numbers"))
    }

    /// Ready jobs with a group by priority.
    pub(crate) fn ready(&self) -> [u64; Priority::COUNT] {
        std::array::from_fn(|priority| self.at(GROUPED_READY + priority))
    }

    pub(crate) fn ungrouped_turn(&self) -> u64 {
        self.at(UNGROUPED_TURN)
    }

    fn at(&self, position: usize) -> u64 {
        self.0[position - 1]
    }
}

/// The stored record of one group.
#[derive(Debug, Clone)]
pub(crate) struct StoredGroup {
    pub(crate) name: GroupName,
    pub(crate) turn: u64,
    ready: u64,
    slots: u64,
    rate_next_us: u64,
    resting_until: Timestamp,
    is_paused: bool,
    limits: GroupLimits,
}

impl StoredGroup {
    pub(crate) fn read(
        name: &[u8],
        record: &[u8],
        numbers: &GroupNumbers,
        settings: &Settings,
    ) -> Result<Self> {
        let name = GroupName::new(text(KIND, name)?).map_err(|_| damaged(KIND, "invalid name"))?;
        let words: Vec<&str> = text(KIND, record)?.split(' ').collect();
        let [
            _,
            turn,
            ready,
            slots,
            next,
            rest,
            paused,
            version,
            limits @ ..,
        ] = &words[..]
        else {
            return Err(damaged(KIND, "too short"));
        };
        let [max_running, rate_count, rate_period, burst] = limits else {
            return Err(damaged(KIND, "wrong count of limits"));
        };
        let mut group = Self {
            name,
            turn: number(KIND, turn)?,
            ready: number(KIND, ready)?,
            slots: number(KIND, slots)?,
            rate_next_us: number(KIND, next)?,
            resting_until: Timestamp::from_ms(number(KIND, rest)?),
            is_paused: *paused == "1",
            limits: limits_of(max_running, rate_count, rate_period, burst)?,
        };
        // As a script does when it reads a group after limits or the clock changed.
        if group.ready > 0 && number(KIND, version)? != numbers.at(LIMITS_VERSION) {
            let (next, at) = (group.rate_next_us, numbers.at(LIMITS_CHANGED));
            let limit = group.limits.rate_limit(settings);
            group.rate_next_us = limit.map_or(0, |limit| limit.cut(next, at));
        }
        Ok(group)
    }

    /// The record as callers see it.
    pub(crate) fn record(&self, settings: &Settings, now: Now) -> GroupRecord {
        let opens_us = self.rate_opens_us(settings);
        GroupRecord {
            name: self.name.clone(),
            ready: self.ready,
            slots: self.slots,
            is_paused: self.is_paused,
            resting_until: Some(self.resting_until).filter(|until| *until > now.ms()),
            opens_at: (opens_us > now.us).then(|| Timestamp::from_ms(opens_us.div_ceil(1000))),
            limits: self.limits,
        }
    }

    /// What keeps its jobs back, without its jobs.
    pub(crate) fn facts(self) -> GroupFacts {
        GroupFacts {
            name: self.name,
            limits: self.limits,
            is_paused: self.is_paused,
            resting_until: self.resting_until,
            rate_next_us: self.rate_next_us,
            slots: self.slots,
            holds_slot: false,
            holders: Vec::new(),
            first: None,
        }
    }

    /// The number of its rate limit, if it has one and the number is in the future.
    pub(crate) fn rate_next(&self, settings: &Settings, now: Now) -> Option<u64> {
        self.limits.rate_limit(settings)?;
        Some(self.rate_next_us).filter(|next| *next > now.us)
    }

    /// When time allows it to start jobs, if it has any and that is in the future.
    pub(crate) fn opening(&self, settings: &Settings, now: Now) -> Option<Timestamp> {
        let opens_us = self
            .rate_opens_us(settings)
            .max(self.resting_until.as_ms() * 1000);
        let is_awaited = self.ready > 0 && !self.is_paused && opens_us > now.us;
        is_awaited.then(|| Timestamp::from_ms(opens_us.div_ceil(1000)))
    }

    pub(crate) fn is_waiting(&self) -> bool {
        self.ready > 0
    }

    fn rate_opens_us(&self, settings: &Settings) -> u64 {
        let limit = self.limits.rate_limit(settings);
        limit.map_or(0, |limit| limit.opens_at(self.rate_next_us))
    }
}

/// Decodes the limits of a group.
pub(crate) fn limits_of(
    max_running: &str,
    rate_count: &str,
    rate_period: &str,
    burst: &str,
) -> Result<GroupLimits> {
    let rate = match rate_count {
        DEFAULT_LIMIT => OwnLimit::Default,
        NO_LIMIT => OwnLimit::None,
        _ => {
            let period = Duration::from_micros(number(KIND, rate_period)?);
            let rate = windlass_core::rate::Rate::new(small(rate_count)?, period);
            OwnLimit::At(rate.map_err(|error| damaged(KIND, error))?)
        }
    };
    Ok(GroupLimits {
        max_running: match max_running {
            DEFAULT_LIMIT => OwnLimit::Default,
            NO_LIMIT => OwnLimit::None,
            _ => OwnLimit::At(small(max_running)?),
        },
        rate,
        burst: match burst {
            DEFAULT_LIMIT => None,
            _ => Some(small(burst)?),
        },
    })
}

fn small(word: &str) -> Result<u32> {
    let number = number(KIND, word)?;
    u32::try_from(number).map_err(|_| damaged(KIND, "limit out of range"))
}

/// Encodes a limit of a group as an argument; `None` leaves it.
pub(crate) fn limit_arg<T>(limit: Option<OwnLimit<T>>, value: impl FnOnce(T) -> String) -> String {
    match limit {
        None => String::new(),
        Some(OwnLimit::Default) => DEFAULT_LIMIT.to_owned(),
        Some(OwnLimit::None) => NO_LIMIT.to_owned(),
        Some(OwnLimit::At(limit)) => value(limit),
    }
}
