//! Definitions and plans survive their encoding; damaged ones are rejected.

use windlass_core::store::{Headers, Kind, UniqueKey};
use windlass_core::{ErrorKind, Priority};

use super::*;

fn name() -> ScheduleName {
    ScheduleName::new("nightly").unwrap()
}

fn read(text: &str) -> Result<Schedule> {
    read_definition(&name(), &Bytes::copy_from_slice(text.as_bytes()))
}

/// A schedule with every option.
fn full() -> Schedule {
    let mut headers = Headers::default();
    headers.set("tenant", "blue").unwrap();
    let job = NewJob::new("a\n\nb")
        .kind(Kind::new("report").unwrap())
        .priority(Priority::new(2).unwrap())
        .unique_key(UniqueKey::new("key").unwrap())
        .headers(headers)
        .timeout(Duration::from_secs(7))
        .expires(Due::After(Duration::from_secs(100)))
        .delay(Duration::from_millis(30));
    let mut job = job.keep_outcome();
    job.retry.until = Some(Due::After(Duration::from_secs(9)));
    job.retry.max_attempts = 3;
    let mut rule = Rule::cron("30 2 * * *", "Europe/Berlin").unwrap();
    rule.jitter = Duration::from_secs(60);
    let mut schedule = Schedule::new(name(), rule, job);
    schedule.missed = Missed::All(10);
    schedule.catch_up = Duration::from_secs(3600);
    schedule.overlap = Overlap::Allow;
    schedule.times = Some(5);
    schedule.set = Some("a b.toml".to_owned());
    schedule
}

#[test]
fn a_definition_survives_its_text() {
    let rule = Rule::every(Duration::from_secs(60)).unwrap();
    let plain = Schedule::new(name(), rule, NewJob::new(""));
    for schedule in [plain, full()] {
        let stored = definition(&schedule);
        assert_eq!(read_definition(&name(), &stored).unwrap(), schedule);
    }
}

#[test]
fn a_damaged_definition_is_rejected() {
    let stored = definition(&full());
    let text = str::from_utf8(&stored).unwrap();
    assert_eq!(read(text).unwrap(), full());
    for (from, to) in [
        ("allow", "never"),
        (" 10 ", " many "),
        (" 3600000 ", " -1 "),
        (" 5 ", " x "),
        ("zone", "home"),
        ("d+30", "d30"),
        ("kreport", "yreport"),
        ("\n\n", "\n"),
    ] {
        let error = read(&text.replacen(from, to, 1)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::StoreDamaged, "{from} → {to}");
    }
}

const PLAN: &str = "7 1 1000 60000 90000 3 2 1 2 3\nnightly@x\nnightly@y\ndead 61000 nightly@z\n61 62+500 \n\
                    60 60001 fired\n61 61002 run 5 a\n62 62003 overlap\n";

#[test]
fn a_plan_is_read_to_a_record() {
    let record = read_record(full(), PLAN.as_bytes()).unwrap();

    let at = Timestamp::from_ms;
    let id = |text: &str| JobId::new(text).unwrap();
    assert_eq!((record.revision, record.is_paused), (7, true));
    let times = (record.created_at, record.settled_until, record.known_until);
    assert_eq!(times, (at(1_000), at(60_000), at(90_000)));
    let total = record.total;
    assert_eq!((total.fired, total.missed, total.skipped), (3, 2, 1));
    assert_eq!(record.current, Some(id("nightly@x")));
    assert_eq!(record.waiting, Some(id("nightly@y")));
    let end = record.last_end.unwrap();
    assert_eq!((end.id, end.at), (id("nightly@z"), at(61_000)));
    assert_eq!(end.state, JobState::Dead);
    assert_eq!(instants(&record.instants), "61 62+500 ");
    let firings: Vec<_> = record.history.into_iter().map(|past| past.firing).collect();
    assert_eq!(
        firings,
        [
            Ok(id("nightly@1970-01-01T00:01:00Z")),
            Ok(id("nightly@run-5 a")),
            Err(SkipReason::Overlap),
        ]
    );
}

#[test]
fn a_damaged_plan_is_rejected() {
    for (from, to) in [
        ("7 1", "7"),
        ("90000", "x"),
        ("dead", "ready"),
        ("62+500", "62+"),
        ("fired", "burnt"),
        ("\nnightly@x\nnightly@y\ndead 61000 nightly@z\n", "\n"),
    ] {
        let error = read_record(full(), PLAN.replacen(from, to, 1).as_bytes()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::StoreDamaged, "{from} → {to}");
    }
}
