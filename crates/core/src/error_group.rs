//! Errors of a queue in groups: those of one kind of job whose messages are equal when normalized.

mod normalize;

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use crate::error::Error;
use crate::job::Job;
use crate::limits::{ATTEMPT_ERROR_BYTES_MAX, ERROR_GROUPS_MAX, NUMBER_MAX};
use crate::name::{JobId, Kind};
use crate::time::Timestamp;

pub use normalize::{NORMALIZED_CHARS_MAX, normalize};

/// Identifies a group of errors: a hash of the kind and the normalized message, as 16 hexadecimal digits.
///
/// ```
/// use windlass_core::error_group::Fingerprint;
///
/// let print = Fingerprint::of(None, "user 7 is gone");
/// assert_eq!(print, Fingerprint::of(None, "user 8 is gone"));
/// assert_eq!(print.to_string().parse::<Fingerprint>()?, print);
/// # Ok::<(), windlass_core::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Fingerprint(u64);

impl Fingerprint {
    /// The fingerprint of an error with this message, of a job of this kind.
    pub fn of(kind: Option<&Kind>, message: &str) -> Self {
        Self::of_normalized(kind, &normalize(message))
    }

    /// The fingerprint of a group with this normalized message.
    pub fn of_normalized(kind: Option<&Kind>, message: &str) -> Self {
        // FNV-1a: stable, and short. No kind contains the separator.
        let kind = kind.map_or("", Kind::as_str);
        let bytes = kind.bytes().chain([0]).chain(message.bytes());
        Self(bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        }))
    }
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

impl FromStr for Fingerprint {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let is_hex = text.len() == 16 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        let number = u64::from_str_radix(text, 16).ok().filter(|_| is_hex);
        number.map(Self).ok_or_else(|| {
            Error::invalid(
                "fingerprint",
                "malformed",
                "use 16 hexadecimal digits, as in the errors of the queue",
            )
        })
    }
}

/// Equal errors of a queue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ErrorGroup {
    /// The kind of the jobs.
    pub kind: Option<Kind>,
    /// The normalized message.
    pub message: String,
    /// The last error, truncated.
    pub example: String,
    /// The last job that failed with it.
    pub last_job: JobId,
    /// How often it was seen.
    pub count: u64,
    /// When it was first seen.
    pub first_seen: Timestamp,
    /// When it was last seen.
    pub last_seen: Timestamp,
    /// How often it was seen in each of the last 24 hours by the clock, oldest first; the last is the current hour.
    pub hours: [u64; 24],
}

impl ErrorGroup {
    /// Identifies the group within its queue.
    pub fn fingerprint(&self) -> Fingerprint {
        Fingerprint::of_normalized(self.kind.as_ref(), &self.message)
    }

    /// Merges the groups of the partitions of a queue, the one seen last first.
    pub fn merge(groups: impl IntoIterator<Item = Self>) -> Vec<Self> {
        let mut merged: Vec<Self> = Vec::new();
        for group in groups {
            let is_same = |one: &&mut Self| one.kind == group.kind && one.message == group.message;
            match merged.iter_mut().find(is_same) {
                Some(one) => one.add(group),
                None => merged.push(group),
            }
        }
        merged.sort_by(|one, other| {
            let key = |group: &Self| (group.kind.clone(), group.message.clone());
            let by_time = other.last_seen.cmp(&one.last_seen);
            by_time.then_with(|| key(one).cmp(&key(other)))
        });
        merged.truncate(ERROR_GROUPS_MAX);
        merged
    }

    fn add(&mut self, other: Self) {
        self.count += other.count;
        for (hour, more) in self.hours.iter_mut().zip(other.hours) {
            *hour += more;
        }
        self.first_seen = self.first_seen.min(other.first_seen);
        if other.last_seen > self.last_seen {
            (self.last_seen, self.last_job, self.example) =
                (other.last_seen, other.last_job, other.example);
        }
    }
}

/// Counts per hour of the last day, as stores keep them. The text form is `HOUR:COUNT`, separated by spaces; hours are
/// counted since the Unix epoch.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct HourCounts(BTreeMap<u64, u64>);

impl HourCounts {
    /// Counts one more, and forgets hours that are not in the last day.
    pub fn add(&mut self, now: Timestamp) {
        let hour = hour_of(now);
        self.0.retain(|at, _| *at <= hour && *at + 24 > hour);
        *self.0.entry(hour).or_default() += 1;
    }

    /// Returns the counts of the last 24 hours, the last one of the current hour.
    pub fn last_day(&self, now: Timestamp) -> [u64; 24] {
        let hour = hour_of(now);
        std::array::from_fn(|index| {
            let at = (hour + 1 + index as u64).checked_sub(24);
            at.and_then(|at| self.0.get(&at))
                .copied()
                .unwrap_or_default()
        })
    }

    /// Parses the text form.
    pub fn from_text(text: &str) -> Option<Self> {
        let parse = |text: &str| {
            let (hour, count) = text.split_once(':')?;
            let number = |text: &str| text.parse().ok().filter(|number| *number <= NUMBER_MAX);
            Some((number(hour)?, number(count)?))
        };
        let counts = text.split_ascii_whitespace().map(parse);
        counts.collect::<Option<_>>().map(Self)
    }
}

impl fmt::Display for HourCounts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, (hour, count)) in self.0.iter().enumerate() {
            let gap = if index == 0 { "" } else { " " };
            write!(f, "{gap}{hour}:{count}")?;
        }
        Ok(())
    }
}

fn hour_of(now: Timestamp) -> u64 {
    now.as_ms() / 3_600_000
}

/// Truncates an error to what a group shows as its example.
pub fn example(error: &str) -> &str {
    &error[..error.floor_char_boundary(ATTEMPT_ERROR_BYTES_MAX)]
}

impl Job {
    /// The group of its last error.
    pub fn error_group(&self) -> Option<Fingerprint> {
        let error = self.error.as_ref()?;
        Some(Fingerprint::of(self.kind.as_ref(), error))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_of_another_kind_or_message_have_another_fingerprint() {
        let kind = Kind::new("mail").unwrap();
        let print = Fingerprint::of(Some(&kind), "no stamp");

        // Stored nowhere, but shown in links: it must not change between versions.
        assert_eq!(print.to_string(), "8515c8235eb87a72");
        assert_ne!(print, Fingerprint::of(None, "no stamp"));
        assert_ne!(print, Fingerprint::of(Some(&kind), "no letter"));
    }

    #[test]
    fn hours_are_counted_and_forgotten_after_a_day() {
        let at = |hour: u64| Timestamp::from_ms(hour * 3_600_000 + 5);
        let mut hours = HourCounts::default();
        for hour in [100, 100, 123] {
            hours.add(at(hour));
        }

        assert_eq!(
            HourCounts::from_text(&hours.to_string()),
            Some(hours.clone())
        );
        let day = hours.last_day(at(123));
        assert_eq!((day[0], day[23], day.iter().sum::<u64>()), (2, 1, 3));
        assert_eq!(hours.last_day(at(124))[22], 1);
        hours.add(at(124));
        assert_eq!(hours.to_string(), "123:1 124:1");
        hours.add(at(3)); // the clock was set back
        assert_eq!(hours.to_string(), "3:1");
        assert_eq!(hours.last_day(at(3))[23], 1);
        assert_eq!(HourCounts::from_text("1:2 3"), None);
    }

    #[test]
    fn a_malformed_fingerprint_is_refused() {
        for text in [
            "",
            "1",
            "+000000000000001",
            "00000000000000001",
            "000000000000000g",
        ] {
            assert!(text.parse::<Fingerprint>().is_err(), "{text:?}");
        }
    }
}
