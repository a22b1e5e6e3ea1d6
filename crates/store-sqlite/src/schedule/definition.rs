//! The definition of a schedule as text: one `name=value` per line, and its payload in a column of its own.

use std::fmt::Write;
use std::time::Duration;

use windlass_core::limits::CAUGHT_UP_MAX;
use windlass_core::store::{GroupName, Kind, Missed, Overlap, Rule, UniqueKey};
use windlass_core::time::as_ms;
use windlass_core::{Bytes, Due, NewJob, Priority, Schedule, ScheduleName};

use crate::row::{hold_of, read_policy, write_hold, write_policy};

/// Whether two schedules are stored alike. The store keeps times in milliseconds.
pub(super) fn is_same(one: &Schedule, other: &Schedule) -> bool {
    one.job.payload == other.job.payload && write(one) == write(other)
}

pub(super) fn write(schedule: &Schedule) -> String {
    let Schedule { job, rule, .. } = schedule;
    let missed = match schedule.missed {
        Missed::Skip => "skip".to_owned(),
        Missed::Last => "last".to_owned(),
        Missed::All(count) => count.to_string(),
    };
    let mut retry = job.retry;
    retry.until = None;
    let headers = job.headers.iter();
    let headers = headers.map(|(name, value)| ("header", Some(format!("{name}:{value}"))));
    // The names differ from those of the rule.
    let lines = [
        ("missed", Some(missed)),
        ("catch_up", Some(as_ms(schedule.catch_up).to_string())),
        ("overlap", Some(schedule.overlap.to_string())),
        ("times", schedule.times.map(|times| times.to_string())),
        ("set", schedule.set.clone()),
        ("priority", Some(job.priority.level().to_string())),
        ("kind", job.kind.as_ref().map(ToString::to_string)),
        ("group", job.group.as_ref().map(ToString::to_string)),
        (
            "unique_key",
            job.unique_key.as_ref().map(ToString::to_string),
        ),
        (
            "unique_for",
            write_hold(job.unique_until, job.unique_for).map(|hold| hold.to_string()),
        ),
        ("due", Some(write_due(job.due))),
        ("expires", job.expires.map(write_due)),
        ("retry", write_policy(&retry)),
        ("retry_until", job.retry.until.map(write_due)),
        (
            "timeout",
            job.timeout.map(|timeout| as_ms(timeout).to_string()),
        ),
        ("keep_outcome", job.keep_outcome.then(|| "1".to_owned())),
    ];
    let mut text = rule.to_text();
    for (name, value) in lines.into_iter().chain(headers) {
        if let Some(value) = value {
            // Writing to a string cannot fail.
            let _ = write!(text, "\n{name}={value}");
        }
    }
    text
}

pub(super) fn read(name: ScheduleName, text: &str, payload: Bytes) -> Option<Schedule> {
    let field = |name: &str| fields(text, name).next();
    let ms = |name| parse(field(name), |ms| ms.parse().ok().map(Duration::from_millis));
    let mut job = NewJob::new(payload);
    job.priority = Priority::new(field("priority")?.parse().ok()?).ok()?;
    job.kind = parse(field("kind"), |kind| Kind::new(kind).ok())?;
    job.group = parse(field("group"), |group| GroupName::new(group).ok())?;
    job.unique_key = parse(field("unique_key"), |key| UniqueKey::new(key).ok())?;
    let hold = parse(field("unique_for"), |hold| hold.parse().ok())?;
    (job.unique_until, job.unique_for) = hold_of(hold).ok()?;
    job.due = read_due(field("due")?)?;
    job.expires = parse(field("expires"), read_due)?;
    job.retry = read_policy(field("retry")).ok()?;
    job.retry.until = parse(field("retry_until"), read_due)?;
    job.timeout = ms("timeout")?;
    job.keep_outcome = field("keep_outcome").is_some();
    for header in fields(text, "header") {
        let (name, value) = header.split_once(':')?;
        job.headers.set(name, value).ok()?;
    }
    let mut schedule = Schedule::new(name, Rule::from_text(text)?, job);
    schedule.missed = match field("missed")? {
        "skip" => Missed::Skip,
        "last" => Missed::Last,
        count => Missed::All(count.parse().ok().filter(|count| *count <= CAUGHT_UP_MAX)?),
    };
    schedule.catch_up = ms("catch_up")??;
    schedule.overlap = Overlap::from_text(field("overlap")?)?;
    schedule.times = parse(field("times"), |times| times.parse().ok())?;
    schedule.set = field("set").map(str::to_owned);
    Some(schedule)
}

/// The values of a field, which may be given more than once.
fn fields<'a>(text: &'a str, name: &str) -> impl Iterator<Item = &'a str> {
    let lines = text.lines().filter_map(|line| line.split_once('='));
    lines.filter_map(move |(field, value)| (field == name).then_some(value))
}

/// Parses an optional field. `None` if it is invalid.
#[expect(
    clippy::option_option,
    reason = "outer: is it valid? inner: is it there?"
)]
fn parse<T>(field: Option<&str>, parse: impl FnOnce(&str) -> Option<T>) -> Option<Option<T>> {
    match field {
        None => Some(None),
        Some(text) => parse(text).map(Some),
    }
}

/// A due time that counts from an instant: a schedule has no others.
fn write_due(due: Due) -> String {
    match due {
        Due::After(delay) => as_ms(delay).to_string(),
        Due::Now | Due::At(_) => "now".to_owned(),
    }
}

fn read_due(text: &str) -> Option<Due> {
    match text {
        "now" => Some(Due::Now),
        ms => Some(Due::After(Duration::from_millis(ms.parse().ok()?))),
    }
}

#[cfg(test)]
mod tests {
    use windlass_core::store::UniqueUntil;
    use windlass_core::{RetryPolicy, Timestamp};

    use super::*;

    #[test]
    fn a_definition_is_read_back_as_written() {
        let name = ScheduleName::new("nightly").unwrap();
        let mut rule = Rule::cron("30 2 * * *", "Europe/Berlin").unwrap();
        rule.jitter = Duration::from_secs(9);
        rule.until = Some(Timestamp::from_ms(5000));
        let plain = Schedule::new(name.clone(), rule.clone(), NewJob::new("plain"));
        let mut job = NewJob::new("full")
            .priority(Priority::new(2).unwrap())
            .kind(Kind::new("re=port").unwrap())
            .group(GroupName::new("ten=ant").unwrap())
            .unique_key(UniqueKey::new("key").unwrap())
            .delay(Duration::ZERO)
            .expires(Due::After(Duration::from_secs(60)))
            .timeout(Duration::from_millis(7))
            .retry(RetryPolicy::fixed(Duration::from_secs(3)).until(Due::Now));
        job.keep_outcome = true;
        job.headers.set("trace", "a:b=c").unwrap();
        job.headers.set("empty", "").unwrap();
        let mut full = Schedule::new(name.clone(), rule, job);
        full.missed = Missed::All(3);
        full.catch_up = Duration::from_secs(1);
        full.overlap = Overlap::Cancel;
        full.times = Some(4);
        full.set = Some("deploy.toml".to_owned());
        let mut throttled = full.clone();
        throttled.job.unique_for = Some(Duration::from_millis(1500));
        let mut until_start = full.clone();
        until_start.job.unique_until = UniqueUntil::Start;

        for schedule in [plain, full, throttled, until_start] {
            let payload = schedule.job.payload.clone();
            let text = write(&schedule);
            assert_eq!(read(name.clone(), &text, payload), Some(schedule), "{text}");
        }
    }

    #[test]
    fn schedules_that_are_stored_alike_are_the_same() {
        let name = ScheduleName::new("s").unwrap();
        let rule = Rule::every(Duration::from_secs(1)).unwrap();
        let after = |us| NewJob::new("x").delay(Duration::from_micros(us));
        let schedule = |us| Schedule::new(name.clone(), rule.clone(), after(us));

        assert!(is_same(&schedule(1500), &schedule(2000)));
        assert!(!is_same(&schedule(1500), &schedule(2500)));
        let mut other = schedule(1500);
        other.job.payload = "y".into();
        assert!(!is_same(&schedule(1500), &other));
    }
}
