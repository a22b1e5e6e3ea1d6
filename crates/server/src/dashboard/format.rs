//! Numbers and times as people read them.

use std::fmt;
use std::time::Duration;

use windlass_api::QueueReply;
use windlass_core::duration;

/// A number with its thousands apart: `1,234,567`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Count(pub(super) u64);

impl fmt::Display for Count {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits = self.0.to_string();
        for (at, digit) in digits.chars().enumerate() {
            if at > 0 && (digits.len() - at).is_multiple_of(3) {
                f.write_str(",")?;
            }
            write!(f, "{digit}")?;
        }
        Ok(())
    }
}

impl Count {
    pub(super) const fn is_zero(self) -> bool {
        self.0 == 0
    }
}

/// A number with its noun.
pub(super) fn plural(count: usize, one: &str, many: &str) -> String {
    format!(
        "{} {}",
        Count(count as u64),
        if count == 1 { one } else { many }
    )
}

/// A time: UTC, until the script of the page shows it in local time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Time {
    /// As the API writes it: `2026-01-31T08:05:00.250Z`.
    pub(super) exact: String,
    /// Without fractions: `2026-01-31 08:05:00 UTC`.
    pub(super) shown: String,
}

impl Time {
    pub(super) fn new(text: &str) -> Self {
        let seconds = text
            .trim_end_matches('Z')
            .split('.')
            .next()
            .unwrap_or_default();
        Self {
            exact: text.to_owned(),
            shown: format!("{} UTC", seconds.replace('T', " ")),
        }
    }
}

/// A number of bytes: `1.5 MiB`.
pub(super) fn bytes(count: u64) -> String {
    let units = [("GiB", 30), ("MiB", 20), ("KiB", 10)];
    let unit = units.iter().find(|(_, bits)| count >> bits > 0);
    unit.map_or_else(
        || format!("{count} B"),
        |(name, bits)| {
            let tenths = (u128::from(count) * 10) >> bits;
            format!("{}.{} {name}", tenths / 10, tenths % 10)
        },
    )
}

/// A time span in its largest unit: `5m`.
pub(super) fn span(ms: u64) -> String {
    duration::short(Duration::from_millis(ms))
}

/// What becomes of the ready jobs of a queue if the rates of the last minute stay.
pub(super) fn forecast(queue: &QueueReply) -> Option<String> {
    if queue.paused || queue.resting_ms.is_some() {
        return None;
    }
    let (added, done) = (queue.last_minute.enqueued, queue.last_minute.finished);
    if added > done {
        return Some(format!("grows by {}/min", Count(added - done)));
    }
    let less = done - added;
    if queue.ready == 0 || less == 0 {
        return None;
    }
    let minutes = queue.ready.div_ceil(less);
    Some(format!("empty in {}", span(minutes.saturating_mul(60_000))))
}

#[cfg(test)]
mod tests {
    use windlass_core::QueueName;
    use windlass_core::store::{Rates, Stats};

    use super::*;

    #[test]
    fn bytes_and_times_are_short() {
        for (count, text) in [
            (0, "0 B"),
            (1023, "1023 B"),
            (1536, "1.5 KiB"),
            (1 << 30, "1.0 GiB"),
        ] {
            assert_eq!(bytes(count), text);
        }
        let time = Time::new("2026-01-31T08:05:00.250Z");
        assert_eq!(time.shown, "2026-01-31 08:05:00 UTC");
    }

    #[test]
    fn thousands_are_apart() {
        for (number, text) in [
            (0, "0"),
            (999, "999"),
            (1000, "1,000"),
            (1_234_567, "1,234,567"),
        ] {
            assert_eq!(Count(number).to_string(), text);
        }
        assert_eq!(plural(1, "job", "jobs"), "1 job");
        assert_eq!(plural(2000, "job", "jobs"), "2,000 jobs");
    }

    #[test]
    fn a_forecast_follows_the_rates_of_the_last_minute() {
        let forecast = |ready, enqueued, finished, is_paused| {
            let stats = Stats {
                ready,
                is_paused,
                last_minute: Rates { enqueued, finished },
                ..Stats::default()
            };
            super::forecast(&QueueReply::new(&QueueName::new("q").unwrap(), &stats))
        };
        assert_eq!(
            forecast(10, 20, 5, false).as_deref(),
            Some("grows by 15/min")
        );
        assert_eq!(forecast(100, 5, 15, false).as_deref(), Some("empty in 10m"));
        assert_eq!(forecast(0, 5, 15, false), None);
        assert_eq!(forecast(9, 5, 5, false), None);
        assert_eq!(forecast(10, 20, 5, true), None);
    }
}
