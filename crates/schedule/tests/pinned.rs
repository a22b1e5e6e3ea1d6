//! Changes of the clock, pinned: what fires in a gap, and what fires in a repeated hour.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot continue fails at that line"
)]

use windlass_core::Timestamp;
use windlass_core::schedule::instant_text;
use windlass_schedule::CronPattern;

/// The instants of a pattern after the first one, which is given.
fn assert_instants(pattern: &str, zone: &str, after: &str, expected: &[&str]) {
    let after: jiff::Timestamp = after.parse().unwrap();
    let after = Timestamp::from_ms(u64::try_from(after.as_millisecond()).unwrap());
    let pattern = CronPattern::parse(pattern, zone).unwrap();
    let instants: Vec<_> = pattern.after(after).take(expected.len()).collect();
    let instants: Vec<_> = instants.into_iter().map(instant_text).collect();
    assert_eq!(instants, expected);
}

#[test]
fn a_fixed_time_in_a_gap_fires_at_the_first_moment_after_it() {
    // Berlin: 02:00 to 03:00. Lord Howe: 02:00 to 02:30. Chatham: 02:45 to 03:45.
    let berlin = ["2026-03-29T01:00:00Z", "2026-03-30T00:30:00Z"];
    assert_instants(
        "30 2 * * *",
        "Europe/Berlin",
        "2026-03-28T12:00:00Z",
        &berlin,
    );
    let lord_howe = ["2026-10-03T15:30:00Z", "2026-10-04T15:15:00Z"];
    assert_instants(
        "15 2 * * *",
        "Australia/Lord_Howe",
        "2026-10-03T12:00:00Z",
        &lord_howe,
    );
    let chatham = ["2026-09-26T14:00:00Z", "2026-09-27T13:15:00Z"];
    assert_instants(
        "0 3 * * *",
        "Pacific/Chatham",
        "2026-09-26T12:00:00Z",
        &chatham,
    );
}

#[test]
fn several_fixed_times_in_a_gap_fire_once() {
    let expected = ["2026-03-29T01:00:00Z", "2026-03-30T00:10:00Z"];
    assert_instants(
        "10,20,30 2 * * *",
        "Europe/Berlin",
        "2026-03-28T12:00:00Z",
        &expected,
    );
}

#[test]
fn a_fixed_time_that_occurs_twice_fires_the_first_time() {
    let berlin = ["2026-10-25T00:30:00Z", "2026-10-26T01:30:00Z"];
    assert_instants(
        "30 2 * * *",
        "Europe/Berlin",
        "2026-10-24T12:00:00Z",
        &berlin,
    );
    let lord_howe = ["2026-04-04T14:45:00Z", "2026-04-05T15:15:00Z"];
    assert_instants(
        "45 1 * * *",
        "Australia/Lord_Howe",
        "2026-04-04T12:00:00Z",
        &lord_howe,
    );
    let chatham = ["2026-04-04T13:15:00Z", "2026-04-05T14:15:00Z"];
    assert_instants(
        "0 3 * * *",
        "Pacific/Chatham",
        "2026-04-04T12:00:00Z",
        &chatham,
    );
}

#[test]
fn a_pattern_with_ranges_or_steps_skips_a_gap_and_runs_through_both_halves() {
    let skipped = ["2026-03-30T00:00:00Z", "2026-03-30T00:30:00Z"];
    assert_instants(
        "*/30 2 * * *",
        "Europe/Berlin",
        "2026-03-28T12:00:00Z",
        &skipped,
    );
    let hourly = ["2026-03-29T00:30:00Z", "2026-03-29T01:30:00Z"];
    assert_instants(
        "30 * * * *",
        "Europe/Berlin",
        "2026-03-29T00:00:00Z",
        &hourly,
    );
    let both = [
        "2026-10-25T00:30:00Z",
        "2026-10-25T01:30:00Z",
        "2026-10-25T02:30:00Z",
    ];
    assert_instants("30 * * * *", "Europe/Berlin", "2026-10-25T00:00:00Z", &both);
}

#[test]
fn a_zone_without_changes_and_with_odd_minutes_is_plain() {
    let expected = ["2026-03-29T00:15:00Z", "2026-03-30T00:15:00Z"];
    assert_instants(
        "0 6 * * *",
        "Asia/Kathmandu",
        "2026-03-28T12:00:00Z",
        &expected,
    );
}
