//! Schedules: the definition, which only a put changes, and the plan, which each instant changes.

use std::fmt::Write as _;
use std::time::Duration;

use windlass_core::schedule::PlannedInstant;
use windlass_core::store::{
    Missed, Occurrence, Overlap, Rule, ScheduleEnd, ScheduleRecord, ScheduleTotals, SkipReason,
};
use windlass_core::time::as_ms;
use windlass_core::{
    Bytes, Due, JobId, JobState, NewJob, Result, Schedule, ScheduleName, Timestamp,
};

use super::names::{DEADLINE, DUE_AT, EXPIRES_AT};
use super::opts::{Opts, spec};
use super::{damaged, number, text, time};

const DEFINITION: &str = "schedule";
const PLAN: &str = "plan of a schedule";

/// Encodes a definition: a line of policies, the rule, an empty line, the spec of the job, an empty line
/// and the payload.
pub(crate) fn definition(schedule: &Schedule) -> Bytes {
    let missed = match schedule.missed {
        Missed::Skip => "skip".to_owned(),
        Missed::Last => "last".to_owned(),
        Missed::All(count) => count.to_string(),
    };
    let times = schedule.times.map(|times| times.to_string());
    let set = schedule.set.as_ref().map(|set| format!("={set}"));
    let head = format!(
        "{} {missed} {} {} {}\n{}\n\n{}\n",
        schedule.overlap,
        as_ms(schedule.catch_up),
        times.unwrap_or_default(),
        set.unwrap_or_default(),
        schedule.rule.to_text(),
        spec(&schedule.job),
    );
    let mut bytes = head.into_bytes();
    bytes.extend_from_slice(&schedule.job.payload);
    Bytes::from(bytes)
}

/// Decodes a definition.
pub(crate) fn read_definition(name: &ScheduleName, bytes: &Bytes) -> Result<Schedule> {
    let bad = || damaged(DEFINITION, "missing part");
    let rule_end = find(bytes, b"\n\n").ok_or_else(bad)?;
    let (head, value) = (&bytes[..rule_end], bytes.slice(rule_end + 2..));
    let (head, rule) = text(DEFINITION, head)?.split_once('\n').ok_or_else(bad)?;
    let spec_end = find(&value, b"\n\n").ok_or_else(bad)?;
    let job = read_job(
        text(DEFINITION, &value[..=spec_end])?,
        value.slice(spec_end + 2..),
    )?;
    let rule = Rule::from_text(rule).ok_or_else(|| damaged(DEFINITION, "invalid rule"))?;
    let mut schedule = Schedule::new(name.clone(), rule, job);
    let mut fields = head.splitn(5, ' ');
    let mut field = || fields.next().ok_or_else(bad);
    schedule.overlap =
        Overlap::from_text(field()?).ok_or_else(|| damaged(DEFINITION, "invalid overlap"))?;
    schedule.missed = match field()? {
        "skip" => Missed::Skip,
        "last" => Missed::Last,
        count => Missed::All(usize::try_from(number(DEFINITION, count)?).unwrap_or(usize::MAX)),
    };
    schedule.catch_up = Duration::from_millis(number(DEFINITION, field()?)?);
    schedule.times = match field()? {
        "" => None,
        times => Some(number(DEFINITION, times)?),
    };
    schedule.set = field()?.strip_prefix('=').map(str::to_owned);
    Ok(schedule)
}

/// The job of a spec, in which times are delays.
fn read_job(spec: &str, payload: Bytes) -> Result<NewJob> {
    let is_time = |line: &&str| line.starts_with([DUE_AT, DEADLINE, EXPIRES_AT]);
    let (times, others): (Vec<_>, Vec<_>) = spec.split_inclusive('\n').partition(is_time);
    let delay = |letter: char| {
        let mut lines = times.iter().map(|line| line.trim_end_matches('\n'));
        let value = lines.find_map(|line| line.strip_prefix(letter));
        let delay = value.map(|value| {
            let ms = value.strip_prefix('+').unwrap_or_default();
            number(DEFINITION, ms).map(|ms| Due::After(Duration::from_millis(ms)))
        });
        delay.transpose()
    };
    let opts = Opts::read(others.concat().as_bytes())?;
    let mut job = NewJob::new(payload);
    job.kind = opts.kind;
    job.priority = opts.priority;
    job.group = opts.group;
    job.due = delay(DUE_AT)?.unwrap_or_default();
    job.retry = opts.retry;
    job.retry.until = delay(DEADLINE)?;
    job.timeout = opts.timeout;
    job.expires = delay(EXPIRES_AT)?;
    job.unique_key = opts.unique_key;
    job.unique_until = opts.unique_until;
    job.unique_for = opts.unique_for;
    job.headers = opts.headers;
    job.keep_outcome = opts.keep_outcome;
    Ok(job)
}

/// Decodes a plan, to the record of its schedule.
pub(crate) fn read_record(schedule: Schedule, plan: &[u8]) -> Result<ScheduleRecord> {
    let bad = || damaged(PLAN, "missing part");
    let mut lines = text(PLAN, plan)?.splitn(6, '\n');
    let mut line = || lines.next().ok_or_else(bad);
    let mut numbers = line()?.split(' ');
    let mut next = || number(PLAN, numbers.next().unwrap_or_default());
    let (revision, is_paused) = (next()?, next()? == 1);
    let mut at = || next().map(Timestamp::from_ms);
    let (created_at, settled_until, known_until) = (at()?, at()?, at()?);
    let total = ScheduleTotals {
        fired: next()?,
        missed: next()?,
        skipped: next()?,
    };
    // The scripts know the number of instants and occurrences.
    let _counts = (next()?, next()?);
    Ok(ScheduleRecord {
        revision,
        created_at,
        is_paused,
        settled_until,
        known_until,
        total,
        current: maybe_id(line()?)?,
        waiting: maybe_id(line()?)?,
        last_end: read_end(line()?)?,
        instants: read_instants(line()?)?,
        history: read_history(&schedule.name, line()?)?,
        schedule,
    })
}

fn maybe_id(id: &str) -> Result<Option<JobId>> {
    (!id.is_empty()).then(|| job_id(id)).transpose()
}

fn job_id(id: &str) -> Result<JobId> {
    super::job_id(PLAN, id.as_bytes())
}

/// `STATE SPACE TIME SPACE ID`.
fn read_end(end: &str) -> Result<Option<ScheduleEnd>> {
    if end.is_empty() {
        return Ok(None);
    }
    let mut fields = end.splitn(3, ' ');
    let mut field = || fields.next().unwrap_or_default();
    let state = JobState::from_text(field())
        .filter(|state| state.is_final())
        .ok_or_else(|| damaged(PLAN, "not a final state"))?;
    let at = time(PLAN, field())?;
    let id = job_id(field())?;
    Ok(Some(ScheduleEnd { id, state, at }))
}

/// Encodes instants, as `SECONDS SPACE` or `SECONDS + JITTER_MS SPACE` each.
pub(crate) fn instants(instants: &[PlannedInstant]) -> String {
    let mut text = String::with_capacity(instants.len() * 11);
    for PlannedInstant { at, jitter } in instants {
        let _ = write!(text, "{}", at.as_ms() / 1000);
        if !jitter.is_zero() {
            let _ = write!(text, "+{}", as_ms(*jitter));
        }
        text.push(' ');
    }
    text
}

fn read_instants(text: &str) -> Result<Vec<PlannedInstant>> {
    let read = |text: &str| {
        let (at, jitter) = text.split_once('+').unwrap_or((text, "0"));
        Ok(PlannedInstant {
            at: seconds(at)?,
            jitter: Duration::from_millis(number(PLAN, jitter)?),
        })
    };
    text.split_terminator(' ').map(read).collect()
}

fn seconds(text: &str) -> Result<Timestamp> {
    let seconds = number(PLAN, text)?;
    let ms = seconds.checked_mul(1000);
    ms.map(Timestamp::from_ms)
        .ok_or_else(|| damaged(PLAN, "invalid instant"))
}

/// Lines `SECONDS SPACE TIME SPACE`, then `fired`, `run NONCE`, or why the instant was skipped.
fn read_history(name: &ScheduleName, text: &str) -> Result<Vec<Occurrence>> {
    let read = |line: &str| {
        let mut fields = line.splitn(3, ' ');
        let mut field = || fields.next().unwrap_or_default();
        let (instant, at) = (seconds(field())?, time(PLAN, field())?);
        let firing = match field() {
            "fired" => Ok(JobId::at_instant(name, instant)),
            what => match what.strip_prefix("run ") {
                Some(nonce) => Ok(job_id(&format!("{name}@run-{nonce}"))?),
                None => Err(SkipReason::from_text(what)
                    .ok_or_else(|| damaged(PLAN, "unknown occurrence"))?),
            },
        };
        Ok(Occurrence {
            instant,
            at,
            firing,
        })
    };
    text.lines().map(read).collect()
}

fn find(bytes: &[u8], what: &[u8]) -> Option<usize> {
    bytes.windows(what.len()).position(|window| window == what)
}

#[cfg(test)]
mod tests;
