//! When a schedule fires: a cron pattern or an interval, and its bounds.

use std::fmt::Write as _;
use std::time::Duration;

use crate::error::{Error, Result};
use crate::limits::{FUTURE_MAX, SCHEDULE_JITTER_MAX};
use crate::time::{Timestamp, as_ms};

/// The maximum size of a cron pattern or time zone.
const TEXT_BYTES_MAX: usize = 200;

/// When a schedule fires. Stores keep it as text.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Rule {
    /// The pattern or interval.
    pub times: Times,
    /// Each job is enqueued up to this long after its instant, by a hash of name and instant.
    pub jitter: Duration,
    /// No instant is before this time.
    pub from: Option<Timestamp>,
    /// No instant is after this time.
    pub until: Option<Timestamp>,
}

/// A cron pattern or an interval.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Times {
    /// A cron pattern with 5 fields, or 6 with seconds, and an IANA time zone.
    Cron {
        /// The pattern.
        pattern: String,
        /// The time zone.
        zone: String,
    },
    /// Every `period`, counted from `anchor`: an edit does not shift the phase.
    Every {
        /// Whole seconds.
        period: Duration,
        /// An instant, in whole seconds.
        anchor: Timestamp,
    },
}

impl Rule {
    /// Creates a rule from a cron pattern and an IANA time zone, such as `Europe/Berlin`.
    pub fn cron(pattern: impl Into<String>, zone: impl Into<String>) -> Result<Self> {
        let (pattern, zone) = (pattern.into(), zone.into());
        Self::new(Times::Cron { pattern, zone })
    }

    /// Creates a rule that fires every `period`, counted from 1970.
    pub fn every(period: Duration) -> Result<Self> {
        let anchor = Timestamp::default();
        Self::new(Times::Every { period, anchor })
    }

    /// Creates a rule without bounds and jitter.
    pub fn new(times: Times) -> Result<Self> {
        let rule = Self {
            times,
            jitter: Duration::ZERO,
            from: None,
            until: None,
        };
        rule.check().map(|()| rule)
    }

    pub(super) fn check(&self) -> Result<()> {
        let invalid = |why: &str, help| Err(Error::invalid("schedule", why.to_owned(), help));
        let is_text = |text: &str| {
            !text.is_empty() && text.len() <= TEXT_BYTES_MAX && !text.chars().any(char::is_control)
        };
        match &self.times {
            Times::Cron { pattern, zone } if !is_text(pattern) || !is_text(zone) => {
                let help = "use 1 to 200 bytes without control characters";
                return invalid("invalid text of a cron pattern or time zone", help);
            }
            Times::Every { period, anchor }
                if period.is_zero()
                    || period.subsec_nanos() > 0
                    || *period > FUTURE_MAX
                    || anchor.as_ms() % 1000 > 0 =>
            {
                return invalid("invalid interval", "use whole seconds, at least 1s");
            }
            _ => {}
        }
        if self.jitter > SCHEDULE_JITTER_MAX {
            return invalid("jitter is longer than 24h", "use at most 24h");
        }
        Ok(())
    }

    /// Formats the rule as stored: one `name=value` per line, times in milliseconds.
    pub fn to_text(&self) -> String {
        let mut text = match &self.times {
            Times::Cron { pattern, zone } => format!("cron={pattern}\nzone={zone}"),
            Times::Every { period, anchor } => {
                format!("every={}\nanchor={}", as_ms(*period), anchor.as_ms())
            }
        };
        let jitter = Some(as_ms(self.jitter)).filter(|ms| *ms > 0);
        let times = [
            ("jitter", jitter),
            ("from", self.from.map(Timestamp::as_ms)),
            ("until", self.until.map(Timestamp::as_ms)),
        ];
        for (name, ms) in times {
            if let Some(ms) = ms {
                write!(text, "\n{name}={ms}").expect("a string can be written");
            }
        }
        text
    }

    /// Parses the stored text.
    pub fn from_text(text: &str) -> Option<Self> {
        let field = |name: &str| {
            let lines = text.lines().filter_map(|line| line.split_once('='));
            let mut values = lines.filter(|(field, _)| *field == name);
            values.next().map(|(_, value)| value)
        };
        let ms = |name: &str| match field(name) {
            None => Some(None),
            Some(ms) => ms.parse().ok().map(Some),
        };
        let times = if let Some(pattern) = field("cron") {
            let (pattern, zone) = (pattern.to_owned(), field("zone")?.to_owned());
            Times::Cron { pattern, zone }
        } else {
            Times::Every {
                period: Duration::from_millis(ms("every")??),
                anchor: Timestamp::from_ms(ms("anchor")??),
            }
        };
        let rule = Self {
            times,
            jitter: Duration::from_millis(ms("jitter")?.unwrap_or_default()),
            from: ms("from")?.map(Timestamp::from_ms),
            until: ms("until")?.map(Timestamp::from_ms),
        };
        rule.check().is_ok().then_some(rule)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rule_survives_its_text() {
        let mut cron = Rule::cron("*/5 = * * *", "Europe/Berlin").unwrap();
        cron.jitter = Duration::from_secs(3);
        cron.until = Some(Timestamp::from_ms(7));
        let mut every = Rule::every(Duration::from_secs(90)).unwrap();
        every.from = Some(Timestamp::from_ms(5));
        for rule in [cron, every] {
            assert_eq!(Rule::from_text(&rule.to_text()), Some(rule));
        }
        for bad in ["", "cron=x", "every=0\nanchor=0", "every=1000\nanchor=x"] {
            assert_eq!(Rule::from_text(bad), None, "{bad}");
        }
    }

    #[test]
    fn an_interval_has_whole_seconds() {
        for bad in [0, 1, 999, 1001] {
            assert!(Rule::every(Duration::from_millis(bad)).is_err(), "{bad}");
        }
        assert!(Rule::every(Duration::from_secs(1)).is_ok());
    }
}
