//! The settings of a queue: as rules, the numbers that scripts use, and as text.

use std::time::Duration;

use windlass_core::store::{GroupSlot, KeepSucceeded, Requeue, Setting, Settings};
use windlass_core::time::as_ms;
use windlass_core::{Bytes, Result};

use super::names::RULES_COUNT;
use super::stats::double;
use super::{damaged, text};

const KIND: &str = "settings";

/// The setting of each rule, in the order of the rules. A rate has two: its number and its period.
const NAMES: [&str; RULES_COUNT] = [
    "dedup_for",
    "dedup_max",
    "requeue",
    "poison_after",
    "keep_succeeded",
    "succeeded_age",
    "succeeded_count",
    "succeeded_bytes",
    "dead_age",
    "dead_count",
    "dead_bytes",
    "cancelled_age",
    "cancelled_count",
    "cancelled_bytes",
    "max_running",
    "rate",
    "rate",
    "burst",
    "group_max_running",
    "group_rate",
    "group_rate",
    "group_burst",
    "group_slot",
];

const UNBOUNDED: f64 = -1.0;

/// The positions of the rules that a setting changes, counted from 1 as in the scripts, and their values.
pub(crate) fn rules_of(setting: &Setting) -> Result<Vec<(usize, f64)>> {
    let mut settings = Settings::default();
    settings.apply(setting)?;
    let rules = NAMES.iter().zip((1..).zip(numbers(&settings)));
    let changed = rules.filter(|(name, _)| **name == setting.name());
    Ok(changed.map(|(_, rule)| rule).collect())
}

/// Decodes the settings of a queue from the stored texts.
pub(crate) fn settings(texts: &[(Bytes, Bytes)]) -> Result<Settings> {
    let mut settings = Settings::default();
    for (name, value) in texts {
        let setting = Setting::new(text(KIND, name)?, text(KIND, value)?)
            .map_err(|error| damaged(KIND, error))?;
        settings.apply(&setting)?;
    }
    Ok(settings)
}

fn numbers(settings: &Settings) -> [f64; RULES_COUNT] {
    let (succeeded, dead, cancelled) = (settings.succeeded, settings.dead, settings.cancelled);
    [
        double(as_ms(settings.dedup_for)),
        double(settings.dedup_max),
        index(Requeue::ALL, &settings.requeue),
        f64::from(settings.poison_after),
        index(KeepSucceeded::ALL, &settings.keep_succeeded),
        bound(succeeded.age.map(as_ms)),
        bound(succeeded.count),
        bound(succeeded.bytes),
        bound(dead.age.map(as_ms)),
        bound(dead.count),
        bound(dead.bytes),
        bound(cancelled.age.map(as_ms)),
        bound(cancelled.count),
        bound(cancelled.bytes),
        bound(settings.max_running.map(u64::from)),
        bound(settings.rate.map(|rate| u64::from(rate.count()))),
        bound(settings.rate.map(|rate| micros(rate.period()))),
        f64::from(settings.burst),
        bound(settings.group_max_running.map(u64::from)),
        bound(settings.group_rate.map(|rate| u64::from(rate.count()))),
        bound(settings.group_rate.map(|rate| micros(rate.period()))),
        f64::from(settings.group_burst),
        index(GroupSlot::ALL, &settings.group_slot),
    ]
}

fn micros(period: Duration) -> u64 {
    u64::try_from(period.as_micros()).unwrap_or(u64::MAX)
}

fn bound(bound: Option<u64>) -> f64 {
    bound.map_or(UNBOUNDED, double)
}

/// The number of a choice is its index among all.
fn index<T: PartialEq>(all: &[T], choice: &T) -> f64 {
    let index = all.iter().position(|one| one == choice);
    double(index.unwrap_or_default() as u64)
}

#[cfg(test)]
mod tests {
    use windlass_core::ErrorKind;

    use super::super::stats::pack;
    use super::*;

    fn set(texts: &[&str]) -> Settings {
        let mut settings = Settings::default();
        for text in texts {
            settings.apply(&text.parse().unwrap()).unwrap();
        }
        settings
    }

    const OTHERS: [&str; 21] = [
        "dedup_for=2s",
        "dedup_max=3",
        "requeue=back",
        "poison_after=9",
        "keep_succeeded=nothing",
        "succeeded_age=all",
        "succeeded_count=5",
        "succeeded_bytes=all",
        "dead_age=6ms",
        "dead_count=all",
        "dead_bytes=7",
        "cancelled_age=0s",
        "cancelled_count=0",
        "cancelled_bytes=8",
        "max_running=3",
        "rate=100/1m",
        "burst=4",
        "group_max_running=2",
        "group_rate=7/1s",
        "group_burst=3",
        "group_slot=success",
    ];

    #[test]
    fn the_defaults_match_those_of_the_scripts() {
        let expected = [
            3_600_000.0,
            100_000.0,
            0.0,
            4.0,
            0.0,
            3_600_000.0,
            10_000.0,
            67_108_864.0,
            2_592_000_000.0,
            100_000.0,
            268_435_456.0,
            3_600_000.0,
            10_000.0,
            67_108_864.0,
            -1.0,
            -1.0,
            -1.0,
            1.0,
            -1.0,
            -1.0,
            -1.0,
            1.0,
            0.0,
        ];
        assert_eq!(pack(&numbers(&Settings::default())), pack(&expected));
    }

    #[test]
    fn every_setting_has_its_rule() {
        let named: Vec<_> = Settings::default()
            .all()
            .iter()
            .map(|setting| setting.name())
            .collect();
        // Settings after these are not used by scripts.
        let mut names = NAMES.to_vec();
        names.dedup();
        assert_eq!(named[..names.len()], names);
        assert_eq!(named[names.len()..], ["partitions", "partition_at"]);
        let partitions = Setting::new("partitions", "auto").unwrap();
        assert_eq!(rules_of(&partitions).unwrap(), []);
        let changed: Vec<_> = OTHERS
            .iter()
            .flat_map(|text| rules_of(&text.parse().unwrap()).unwrap())
            .collect();
        let expected: Vec<_> = numbers(&set(&OTHERS))
            .into_iter()
            .enumerate()
            .map(|(index, number)| (index + 1, number))
            .collect();
        assert_eq!(changed, expected);
        assert_eq!(changed[2], (3, 1.0));
        assert_eq!(changed[5], (6, -1.0));
        assert_eq!(changed[15..17], [(16, 100.0), (17, 60_000_000.0)]);
    }

    #[test]
    fn settings_are_read_from_their_text() {
        let texts: Vec<_> = set(&OTHERS)
            .all()
            .into_iter()
            .map(|setting| {
                (
                    Bytes::from(setting.name()),
                    Bytes::from(setting.value().to_owned()),
                )
            })
            .collect();
        assert_eq!(settings(&texts).unwrap(), set(&OTHERS));
        assert_eq!(settings(&[]).unwrap(), Settings::default());
        let planted = (Bytes::from("requeue"), Bytes::from("sideways"));
        let error = settings(&[planted]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::StoreDamaged);
    }
}
