//! Schedules, their history and their next instants as text.

use std::time::Duration;

use windlass::duration;
use windlass::store::{Clock, SystemClock, Timestamp};
use windlass_api::request::NextInstantsReply;
use windlass_api::schedule::OccurrenceReply;
use windlass_api::{ScheduleReply, timestamp};

use crate::commands::verb::Print;
use crate::output::Output;

/// An instant that is further away is shown as a date.
const FAR: Duration = Duration::from_secs(32 * 24 * 60 * 60);

impl Print for Vec<ScheduleReply> {
    fn print(&self, output: &mut Output) {
        if self.is_empty() {
            output.note("no schedules; `windlass schedules put --help` shows how to create one");
        }
        let now = Timestamp::from_ms(SystemClock.now_us() / 1000);
        let row = |schedule: &ScheduleReply| {
            vec![
                schedule.queue.clone(),
                schedule.name.clone(),
                when(schedule),
                next(schedule, now),
                schedule.fired.to_string(),
                schedule.missed.to_string(),
                schedule.skipped.to_string(),
                last(schedule),
            ]
        };
        let header = [
            "queue", "name", "when", "next", "fired", "missed", "skipped", "last job",
        ];
        output.table(&header, self.iter().map(row));
    }
}

/// The rule in one line.
fn when(schedule: &ScheduleReply) -> String {
    match (&schedule.cron, &schedule.zone, &schedule.every) {
        (Some(cron), Some(zone), _) if zone != "UTC" => format!("{cron} {zone}"),
        (Some(cron), _, _) => cron.clone(),
        (_, _, Some(every)) => format!("every {every}"),
        _ => String::new(),
    }
}

fn next(schedule: &ScheduleReply, now: Timestamp) -> String {
    if schedule.paused {
        return "paused".to_owned();
    }
    let Some(text) = schedule.next.first() else {
        return "never".to_owned();
    };
    match timestamp::parse(text) {
        // The date says more than a number of days.
        Ok(at) if at.since(now) > FAR => text.chars().take_while(|c| *c != 'T').collect(),
        Ok(at) if at > now => format!("in {}", duration::short(at.since(now))),
        _ => "now".to_owned(),
    }
}

fn last(schedule: &ScheduleReply) -> String {
    let end = schedule.last_end.as_ref();
    match (&schedule.current, end) {
        (Some(_), _) => "not ended".to_owned(),
        (None, Some(end)) => end.state.to_owned(),
        (None, None) => String::new(),
    }
}

impl Print for ScheduleReply {
    fn print(&self, output: &mut Output) {
        let definition = &self.definition;
        let missed = match (&definition.missed, definition.missed_max) {
            (Some(missed), Some(max)) => Some(format!("{missed}:{max}")),
            (missed, _) => missed.clone(),
        };
        let lines = |lines: Vec<String>| (!lines.is_empty()).then(|| lines.join("\n"));
        let job = &definition.job;
        let end = self.last_end.as_ref();
        let end = end.map(|end| format!("{} {} at {}", end.job, end.state, end.at));
        let payload = job.clone().into_job().ok().map(|job| job.payload);
        let payload = payload.filter(|payload| !payload.is_empty());
        output.fields(vec![
            ("schedule", Some(self.name.clone())),
            ("queue", Some(self.queue.clone())),
            ("paused", self.paused.then(|| "yes".to_owned())),
            ("cron", self.cron.clone()),
            ("zone", self.zone.clone()),
            ("every", self.every.clone()),
            ("jitter", definition.jitter.clone()),
            ("times", definition.times.map(|times| times.to_string())),
            ("missed", missed),
            ("catch up", definition.catch_up.clone()),
            ("overlap", definition.overlap.clone()),
            ("set", self.definition.set.clone()),
            ("kind", job.kind.clone()),
            ("group", job.group.clone()),
            (
                "payload",
                payload.map(|payload| String::from_utf8_lossy(&payload).into_owned()),
            ),
            ("created", Some(self.created_at.clone())),
            ("next", lines(self.next.iter().take(3).cloned().collect())),
            ("total fired", Some(self.fired.to_string())),
            ("total missed", Some(self.missed.to_string())),
            ("total skipped", Some(self.skipped.to_string())),
            ("current job", self.current.clone()),
            ("waiting job", self.waiting.clone()),
            ("last end", end),
            (
                "history",
                lines(self.history.iter().map(occurrence).collect()),
            ),
        ]);
    }
}

/// An occurrence in one line.
fn occurrence(occurrence: &OccurrenceReply) -> String {
    let OccurrenceReply {
        instant,
        job,
        skipped,
        ..
    } = occurrence;
    let what = match (job, skipped) {
        (Some(job), _) => format!("fired {job}"),
        (None, reason) => format!("skipped: {}", reason.unwrap_or_default()),
    };
    format!("{instant} {what}")
}

impl Print for NextInstantsReply {
    fn print(&self, output: &mut Output) {
        if self.instants.is_empty() {
            output.note("no more instants");
        }
        if self.paused {
            output.note("the schedule is paused: these instants pass without firing");
        }
        let rows = self.instants.iter().map(|instant| {
            let note = instant.note.map_or("", note);
            vec![
                format!("{} {}", instant.local.replacen('T', " ", 1), self.zone),
                instant.instant.clone(),
                note.to_owned(),
            ]
        });
        output.table(&["local", "utc", "note"], rows);
    }
}

/// What a change of the clock does to an instant, for people.
fn note(word: &str) -> &'static str {
    match word {
        "moved" => "the clock skips its time on this day: fires right after the gap",
        "after_gap" => "the clock skips times before this one: they do not fire",
        "first_of_two" => "the clock shows this time twice: this is the first",
        "second_of_two" => "the clock shows this time twice: this is the second",
        _ => "",
    }
}
