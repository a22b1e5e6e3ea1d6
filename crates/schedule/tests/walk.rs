//! Instants compared with a walk over every minute, which knows nothing of cron libraries.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot continue fails at that line"
)]

use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp, ToSpan};
use windlass_schedule::CronPattern;

const ZONES: [&str; 6] = [
    "Europe/Berlin",
    "America/New_York",
    "Australia/Lord_Howe",
    "Pacific/Chatham",
    "Asia/Kathmandu",
    "America/Sao_Paulo",
];

/// A pattern and its own definition: whether hour and minute are fixed, and whether a local time matches.
type Case = (&'static str, bool, fn(DateTime) -> bool);

const CASES: [Case; 12] = [
    ("30 2 * * *", true, |t| t.hour() == 2 && t.minute() == 30),
    ("15 2 * * *", true, |t| t.hour() == 2 && t.minute() == 15),
    ("0,30 1,2 * * *", true, |t| {
        matches!(t.hour(), 1 | 2) && matches!(t.minute(), 0 | 30)
    }),
    ("0 0 * * *", true, |t| t.hour() == 0 && t.minute() == 0),
    ("45 2 * * 0", true, |t| {
        t.hour() == 2 && t.minute() == 45 && t.weekday().to_sunday_zero_offset() == 0
    }),
    ("30 1 1 * *", true, |t| {
        t.hour() == 1 && t.minute() == 30 && t.day() == 1
    }),
    ("0 3 31 3,10 *", true, |t| {
        t.hour() == 3 && t.minute() == 0 && t.day() == 31 && matches!(t.month(), 3 | 10)
    }),
    ("* * * * *", false, |_| true),
    ("*/15 * * * *", false, |t| t.minute() % 15 == 0),
    ("30 * * * *", false, |t| t.minute() == 30),
    ("*/20 2 * * *", false, |t| {
        t.hour() == 2 && t.minute() % 20 == 0
    }),
    ("10 1-3 * * 1-5", false, |t| {
        t.minute() == 10
            && matches!(t.hour(), 1..=3)
            && matches!(t.weekday().to_monday_one_offset(), 1..=5)
    }),
];

/// Walks from `from` to `to`, minute by minute, and returns the instants of every case.
fn walked(zone: &TimeZone, from: Timestamp, to: Timestamp) -> Vec<Vec<Timestamp>> {
    let minute = SignedDuration::from_mins(1);
    let mut instants = vec![Vec::new(); CASES.len()];
    // From the day before, so that a repeated hour is known as such.
    let mut now = from - SignedDuration::from_hours(24);
    // Local times up to here have occurred.
    let mut seen = zone.to_datetime(now - minute);
    while now < to {
        let local = zone.to_datetime(now);
        // The local minutes that have passed for the first time, also those in a gap.
        let mut passed = Vec::new();
        while seen < local {
            seen += 1.minute();
            passed.push(seen);
        }
        for ((_, is_fixed, matches), instants) in CASES.iter().zip(&mut instants) {
            let fires = if *is_fixed {
                passed.iter().any(|time| matches(*time))
            } else {
                matches(local)
            };
            if fires && now >= from {
                instants.push(now);
            }
        }
        now += minute;
    }
    instants
}

fn assert_same(name: &str, from: Timestamp, to: Timestamp) {
    let walked = walked(&TimeZone::get(name).unwrap(), from, to);
    let before = u64::try_from(from.as_millisecond()).unwrap() - 1;
    let end = u64::try_from(to.as_millisecond()).unwrap();
    for ((pattern, ..), walked) in CASES.iter().zip(walked) {
        let computed: Vec<_> = CronPattern::parse(pattern, name)
            .unwrap()
            .after(windlass_core::Timestamp::from_ms(before))
            .map(windlass_core::Timestamp::as_ms)
            .take_while(|instant| *instant < end)
            .map(|instant| Timestamp::from_millisecond(i64::try_from(instant).unwrap()).unwrap())
            .collect();
        assert_eq!(computed, walked, "{pattern} in {name} from {from}");
    }
}

/// Two days around every change of the clock in 30 years.
#[test]
fn instants_around_changes_of_the_clock_are_those_of_a_walk() {
    let from: Timestamp = "1996-01-01T00:00:00Z".parse().unwrap();
    let to: Timestamp = "2026-01-01T00:00:00Z".parse().unwrap();
    let (day, minutes) = (
        SignedDuration::from_hours(24),
        SignedDuration::from_mins(20),
    );
    for name in ZONES {
        let zone = TimeZone::get(name).unwrap();
        let changes: Vec<_> = zone
            .following(from)
            .map(|change| change.timestamp())
            .take_while(|change| *change < to)
            .collect();
        assert_eq!(changes.is_empty(), name == "Asia/Kathmandu", "{name}");
        for change in changes {
            assert_same(name, change - day, change + day);
            // From inside the repeated hour, or close to the gap.
            assert_same(name, change - minutes, change + day);
            assert_same(name, change + minutes, change + day);
        }
    }
}

#[test]
fn instants_of_a_year_are_those_of_a_walk() {
    for name in ZONES {
        let year = |year: &str| format!("{year}-01-01T00:00:00Z").parse().unwrap();
        assert_same(name, year("2025"), year("2026"));
    }
}
