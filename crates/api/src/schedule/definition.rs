//! The definition of a schedule, as JSON and as flags of a command line.

use std::time::Duration;

use clap::Args;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use windlass_core::store::{Missed, Overlap, Rule, ScheduleRecord, Times};
use windlass_core::{Error, Result, Schedule, ScheduleName, Timestamp, duration};
use windlass_schedule::Plan;

use crate::enqueue::{EnqueueRequest, TimeValue};
use crate::request::number;
use crate::timestamp;

/// How many missed instants fire with `missed` all, if no number is set.
const MISSED_MAX_DEFAULT: usize = 10;

/// Creates or changes a schedule. An identical one changes nothing.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields)]
pub struct PutSchedule {
    /// The queue. Only in a list of schedules.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[arg(skip)]
    pub queue: Option<String>,
    /// Name of the schedule
    pub name: String,
    /// Cron pattern with 5 fields (minute hour day month weekday), or 6 with seconds first
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[arg(long, value_name = "PATTERN", allow_hyphen_values = true)]
    #[arg(conflicts_with = "every")]
    pub cron: Option<String>,
    /// Time zone of the pattern, such as Europe/Berlin [default: UTC]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[arg(long, value_name = "TZ", requires = "cron")]
    pub zone: Option<String>,
    /// Interval in whole seconds, such as 90s or 1h
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[arg(long, value_name = "D", allow_hyphen_values = true)]
    pub every: Option<String>,
    /// A time that the interval is counted from [default: 1970-01-01T00:00:00Z]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[arg(long, value_name = "T", requires = "every", allow_hyphen_values = true)]
    pub anchor: Option<TimeValue>,
    /// Enqueue each job up to this long after its instant, chosen by a hash of name and instant
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[arg(long, value_name = "D", allow_hyphen_values = true)]
    pub jitter: Option<String>,
    /// No instant before this time
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[arg(long, value_name = "T", allow_hyphen_values = true)]
    pub from: Option<TimeValue>,
    /// No instant after this time
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[arg(long, value_name = "T", allow_hyphen_values = true)]
    pub until: Option<TimeValue>,
    /// End after it fired this often
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    #[arg(value_parser = number::<u64>("number of times", "use at least 1"))]
    pub times: Option<u64>,
    /// What happens to instants more than a minute old: `skip`, `last` or `all` (default: last).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[arg(long, value_name = "P")]
    #[arg(help = "What happens to missed instants: skip, last or all:N [default: last]")]
    pub missed: Option<String>,
    /// How many of them fire with `missed` all, up to 32 (default: 10).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[arg(skip)]
    pub missed_max: Option<usize>,
    /// Missed instants older than this never fire [default: 24h]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[arg(long, value_name = "D", allow_hyphen_values = true)]
    pub catch_up: Option<String>,
    /// What happens while the previous job has not ended: skip, allow, buffer or cancel [default: skip]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[arg(long, value_name = "P")]
    pub overlap: Option<String>,
    /// Whether it is paused. If it is missing, a new one is not, and an existing one stays as it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[arg(long, value_name = "BOOL")]
    #[arg(help = "Pause or resume it: true or false [default: as it is]")]
    pub paused: Option<bool>,
    /// Set it belongs to, for apply --prune
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[arg(long, value_name = "NAME", allow_hyphen_values = true)]
    pub set: Option<String>,
    /// The job, with the fields of enqueue except `id` and `at`. Delay and expiry count from each instant.
    #[serde(default)]
    #[command(flatten)]
    pub job: EnqueueRequest,
}

impl PutSchedule {
    /// Validates the definition, also its cron pattern and zone. Returns the schedule, and whether it is
    /// paused.
    pub fn into_schedule(self) -> Result<(Schedule, Option<bool>)> {
        let name = ScheduleName::new(&self.name)?;
        let rule = self.rule()?;
        if self.job.id.is_some() || self.job.generated.is_some() {
            let why = "its jobs get their ids from it";
            return Err(Error::invalid("schedule", why, "omit the id of the job"));
        }
        let missed = missed(self.missed.as_deref(), self.missed_max)?;
        let mut schedule = Schedule::new(name, rule, self.job.into_job()?);
        schedule.missed = missed;
        if let Some(text) = &self.catch_up {
            schedule.catch_up = duration::parse_named("catch_up", text)?;
        }
        if let Some(text) = &self.overlap {
            let names: Vec<_> = Overlap::ALL
                .iter()
                .map(|overlap| overlap.as_str())
                .collect();
            let overlap = Overlap::from_text(text);
            schedule.overlap = overlap.ok_or_else(|| Error::unknown("overlap", text, &names))?;
        }
        schedule.times = self.times;
        schedule.set = self.set;
        Plan::new(&schedule.rule)?;
        schedule.check()?;
        Ok((schedule, self.paused))
    }

    fn rule(&self) -> Result<Rule> {
        let invalid = |why: &str, help: &'static str| Err(Error::invalid("schedule", why, help));
        let time = |field: &str, value: &Option<TimeValue>| {
            let parse = |value: &TimeValue| {
                let error = |error: Error| Error::invalid(field, error, TIMES);
                timestamp::parse(&value.text()).map_err(error)
            };
            value.as_ref().map(parse).transpose()
        };
        let anchor = time("anchor", &self.anchor)?;
        let times = match (&self.cron, &self.every) {
            (Some(pattern), None) if anchor.is_none() => Times::Cron {
                pattern: pattern.clone(),
                zone: self.zone.clone().unwrap_or_else(|| "UTC".to_owned()),
            },
            (None, Some(every)) if self.zone.is_none() => Times::Every {
                period: duration::parse_named("every", every)?,
                anchor: anchor.unwrap_or_default(),
            },
            (Some(_), None) => return invalid("cron has no anchor", "omit it, or use every"),
            (None, Some(_)) => return invalid("every has no zone", "omit it, or use cron"),
            (Some(_), Some(_)) => return invalid("both cron and every are set", "set one of them"),
            (None, None) => {
                let help = "set cron, such as `30 2 * * *`, or every, such as 10m";
                return invalid("neither cron nor every is set", help);
            }
        };
        let mut rule = Rule::new(times)?;
        if let Some(jitter) = &self.jitter {
            rule.jitter = duration::parse_named("jitter", jitter)?;
        }
        rule.from = time("from", &self.from)?;
        rule.until = time("until", &self.until)?;
        if rule
            .from
            .zip(rule.until)
            .is_some_and(|(from, until)| until < from)
        {
            return invalid("until is before from", "swap the two times, or omit one");
        }
        Ok(rule)
    }
}

const TIMES: &str = "use RFC 3339, such as 2026-01-31T08:05:00Z, or unix seconds";

/// Parses the policy: its name, and the number of instants as `all:N` or separately.
fn missed(text: Option<&str>, max: Option<usize>) -> Result<Missed> {
    let (name, number) = match text {
        Some(text) => text
            .split_once(':')
            .map_or((text, None), |(name, n)| (name, Some(n))),
        None => ("last", None),
    };
    let invalid = |why: String| {
        Err(Error::invalid(
            "missed",
            why,
            "use skip, last, or all with 1 to 32",
        ))
    };
    let number = match (number.map(str::parse), max) {
        (None, max) => max,
        (Some(Ok(number)), None) => Some(number),
        _ => return invalid(format!("{:?}: invalid number", text.unwrap_or_default())),
    };
    match (name, number) {
        ("skip", None) => Ok(Missed::Skip),
        ("last", None) => Ok(Missed::Last),
        ("all", number) => Ok(Missed::All(number.unwrap_or(MISSED_MAX_DEFAULT))),
        ("skip" | "last", Some(_)) => invalid(format!("{name} has no number")),
        _ => Err(Error::unknown("missed", name, &["skip", "last", "all"])),
    }
}

impl From<&ScheduleRecord> for PutSchedule {
    fn from(record: &ScheduleRecord) -> Self {
        let schedule = &record.schedule;
        let mut definition = Self::from(schedule);
        definition.paused = record.is_paused.then_some(true);
        definition
    }
}

impl From<&Schedule> for PutSchedule {
    fn from(schedule: &Schedule) -> Self {
        let rule = &schedule.rule;
        let time = |at: Timestamp| TimeValue::Text(timestamp::format(at));
        let (cron, zone, every, anchor) = match &rule.times {
            Times::Cron { pattern, zone } => {
                (Some(pattern.clone()), Some(zone.clone()), None, None)
            }
            Times::Every { period, anchor } => {
                let anchor = Some(*anchor).filter(|anchor| *anchor != Timestamp::default());
                (None, None, Some(duration::format(*period)), anchor)
            }
        };
        let (missed, missed_max) = match schedule.missed {
            Missed::Skip => ("skip", None),
            Missed::Last => ("last", None),
            Missed::All(count) => ("all", Some(count)),
        };
        let job = EnqueueRequest {
            id: None,
            generated: None,
            ..EnqueueRequest::from(schedule.job.clone())
        };
        Self {
            queue: None,
            name: schedule.name.to_string(),
            cron,
            zone,
            every,
            anchor: anchor.map(time),
            jitter: Some(rule.jitter)
                .filter(|jitter| *jitter > Duration::ZERO)
                .map(duration::format),
            from: rule.from.map(time),
            until: rule.until.map(time),
            times: schedule.times,
            missed: Some(missed.to_owned()),
            missed_max,
            catch_up: Some(duration::format(schedule.catch_up)),
            overlap: Some(schedule.overlap.as_str().to_owned()),
            paused: None,
            set: schedule.set.clone(),
            job,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fields::read;

    fn schedule(json: &str) -> Result<(Schedule, Option<bool>)> {
        read::<PutSchedule>(json)?.into_schedule()
    }

    #[test]
    fn a_definition_survives_its_json() {
        for json in [
            r#"{"name":"n","cron":"30 2 * * *","zone":"Europe/Berlin","job":{"payload":{"a": 1.0}}}"#,
            r#"{"name":"n","every":"90s","anchor":100,"jitter":"5s","from":"2026-01-01T00:00:00Z",
                "until":"2027-01-01T00:00:00Z","times":3,"missed":"all","missed_max":7,"catch_up":"2h",
                "overlap":"buffer","set":"deploy","job":{"payload_base64":"/w==","kind":"k","priority":2,
                "delay":"5s","max_attempts":3,"timeout":"1m","expires":"10m","headers":{"a":"b"},
                "retry":{"first":"2s","max":"1m","jitter":false,"until":"1h"},"keep_outcome":true}}"#,
            r#"{"name":"n","every":"90s","job":{"unique_key":"k","unique_for":"5m"}}"#,
            r#"{"name":"n","every":"90s","job":{"unique_key":"k","unique_until":"start"}}"#,
        ] {
            let (first, _) = schedule(json).unwrap();
            let again = serde_json::to_string(&PutSchedule::from(&first)).unwrap();
            assert_eq!(schedule(&again).unwrap().0, first, "{again}");
        }
    }

    #[test]
    fn an_invalid_definition_says_what_to_do() {
        for (fields, expected) in [
            ("", "neither cron nor every"),
            (r#","cron":"* * * * *","every":"1s""#, "both cron and every"),
            (r#","cron":"61 * * * *""#, "61"),
            (r#","cron":"* * * *""#, "4 fields"),
            (
                r#","cron":"* * * * *","zone":"Mars/Base""#,
                "unknown time zone",
            ),
            (r#","cron":"* * * * *","anchor":5"#, "no anchor"),
            (r#","every":"1s","zone":"UTC""#, "no zone"),
            (r#","every":"1500ms""#, "whole seconds"),
            (r#","every":"soon""#, "every"),
            (r#","every":"1s","jitter":"25h""#, "24h"),
            (r#","every":"1s","from":"tomorrow""#, "from"),
            (
                r#","every":"1s","from":9,"until":8"#,
                "until is before from",
            ),
            (r#","every":"1s","job":"x""#, "fields of a job"),
            (r#","every":"1s","missed":"some""#, "missed"),
            (
                r#","every":"1s","missed":"last","missed_max":3"#,
                "no number",
            ),
            (r#","every":"1s","missed":"all:33""#, "1 to 32"),
            (r#","every":"1s","overlap":"perhaps""#, "overlap"),
            (r#","every":"1s","job":{"id":"x"}"#, "ids"),
            (
                r#","every":"1s","job":{"at":"2026-01-01T00:00:00Z"}"#,
                "duration",
            ),
            (r#","every":"1s","job":{"paylod":1}"#, "unknown field"),
            (
                r#","every":"1s","job":{"on_duplicate":"replace"}"#,
                "omit on_duplicate",
            ),
            (
                r#","every":"1s","job":{"postpone_max":"5m"}"#,
                "omit on_duplicate and postpone_max",
            ),
            (
                r#","every":"1s","job":{"unique_for":"5m"}"#,
                "no unique key",
            ),
            (r#","every":"1s","tz":"UTC""#, "unknown field"),
        ] {
            let error = schedule(&format!(r#"{{"name":"n"{fields}}}"#)).expect_err(fields);
            let text = format!("{error}; {}", error.help());
            assert!(text.contains(expected), "{fields}: {text}");
        }
        assert!(schedule(r#"{"every":"1s"}"#).is_err());
    }
}
