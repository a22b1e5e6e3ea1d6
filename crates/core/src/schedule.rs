//! Schedules: job templates that enqueue a job at each of their instants.
//!
//! A store knows instants, never cron: its callers compute them from the [`Rule`] and send them with
//! [`Store::refill_schedules`](crate::Store::refill_schedules). An instant is settled once: it fires, or it
//! is skipped.

mod due;
mod record;
mod rule;

use std::fmt;
use std::time::Duration;

pub use self::due::{DueInstants, PlannedInstant, next_refill};
pub use self::record::{Occurrence, ScheduleEnd, ScheduleRecord, ScheduleTotals};
pub use self::rule::{Rule, Times};
use crate::due::Due;
use crate::duplicate::OnDuplicate;
use crate::enqueued::Enqueued;
use crate::error::{Error, Result};
use crate::headers::Headers;
use crate::job::NewJob;
use crate::limits::{
    CAUGHT_UP_MAX, FUTURE_MAX, INSTANTS_MAX, Limits, NUMBER_MAX, PAGE, PAST_MAX,
    SCHEDULE_JITTER_MAX, SCHEDULE_PAYLOAD_MAX,
};
use crate::name::{JobId, ScheduleName};
use crate::text_enum::text_enum;
use crate::time::{Now, Timestamp};

/// The header with the name of the schedule that enqueued a job.
pub const SCHEDULE_HEADER: &str = "windlass-schedule";
/// The header with the instant for which a schedule enqueued a job.
pub const INSTANT_HEADER: &str = "windlass-instant";

/// The value of `known_until` of a schedule that has no further instants.
pub const KNOWN_FOREVER: Timestamp = Timestamp::from_ms(NUMBER_MAX);

/// A schedule, as its author defines it.
///
/// ```
/// # use windlass_core as windlass;
/// use windlass::store::{Overlap, Rule};
/// use windlass::{NewJob, Schedule, ScheduleName};
///
/// let rule = Rule::cron("30 2 * * *", "Europe/Berlin")?;
/// let mut nightly = Schedule::new(ScheduleName::new("nightly")?, rule, NewJob::new("report"));
/// nightly.overlap = Overlap::Buffer;
/// assert!(nightly.check().is_ok());
/// # Ok::<(), windlass::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Schedule {
    /// The name, unique in its queue.
    pub name: ScheduleName,
    /// When it fires.
    pub rule: Rule,
    /// The job to enqueue. Its id is the name of the schedule; delay, expiry and retry deadline count from
    /// the instant.
    pub job: NewJob,
    /// What happens to missed instants (default: the last one fires).
    pub missed: Missed,
    /// Missed instants older than this never fire (default: 24h).
    pub catch_up: Duration,
    /// What happens if the previous job has not ended (default: skip).
    pub overlap: Overlap,
    /// It ends after it fired this often (default: never).
    pub times: Option<u64>,
    /// The set it belongs to, such as the file that it was applied from.
    pub set: Option<String>,
}

impl Schedule {
    /// Creates a schedule with default options.
    pub fn new(name: ScheduleName, rule: Rule, mut job: NewJob) -> Self {
        job.id = JobId::of_schedule(&name);
        job.is_named = true;
        Self {
            name,
            rule,
            job,
            missed: Missed::Last,
            catch_up: Duration::from_secs(24 * 60 * 60),
            overlap: Overlap::Skip,
            times: None,
            set: None,
        }
    }

    /// Checks the schedule. It does not parse a cron pattern: the caller that computes instants did.
    pub fn check(&self) -> Result<()> {
        self.rule.check()?;
        let invalid =
            |why: &str, help: &'static str| Err(Error::invalid("schedule", why.to_owned(), help));
        if self.job.id.as_str() != self.name.as_str() || !self.job.is_named {
            return invalid("its jobs get their ids from it", "omit the id of the job");
        }
        let absolute = |due: Due| matches!(due, Due::At(_));
        let dues = [Some(self.job.due), self.job.expires, self.job.retry.until];
        if dues.into_iter().flatten().any(absolute) {
            let why = "its job has a fixed due time, expiry or retry deadline";
            return invalid(why, "use a duration: it counts from each instant");
        }
        if self.job.payload.len() > SCHEDULE_PAYLOAD_MAX {
            let help = "store large data elsewhere and put a reference to it into the payload";
            let size = self.job.payload.len();
            let why = format!("its payload has {size} bytes; maximum {SCHEDULE_PAYLOAD_MAX}");
            return invalid(&why, help);
        }
        if self.job.unique_key.is_some()
            && matches!(self.overlap, Overlap::Buffer | Overlap::Cancel)
        {
            let why = "the previous job holds the unique key, so no other job can wait for its end";
            return invalid(why, "omit the unique key, or use overlap skip or allow");
        }
        if self.job.on_duplicate != OnDuplicate::Keep || self.job.postpone_max.is_some() {
            let why = "its jobs are new or duplicates: they never replace or postpone another job";
            return invalid(why, "omit on_duplicate and postpone_max");
        }
        if matches!(self.missed, Missed::All(count) if !(1..=CAUGHT_UP_MAX).contains(&count)) {
            return invalid("missed all: count out of range", "use 1 to 32");
        }
        if self.catch_up > FUTURE_MAX {
            return invalid("catch_up is longer than 100 years", "use a shorter time");
        }
        if self.times == Some(0) {
            return invalid("times is 0", "use at least 1, or omit it for no end");
        }
        let is_text = |text: &String| text.len() <= 128 && !text.chars().any(char::is_control);
        if self.set.as_ref().is_some_and(|set| !is_text(set)) {
            let help = "use at most 128 bytes without control characters";
            return invalid("invalid name of a set", help);
        }
        self.job_at(Timestamp::default(), JobId::of_schedule(&self.name))?;
        Limits::default().check_job(&self.job)
    }

    /// Returns the job for an instant. Fails only if its headers are too large.
    pub fn job_at(&self, instant: Timestamp, id: JobId) -> Result<NewJob> {
        let mut headers: Headers = self.job.headers.clone();
        headers.set(SCHEDULE_HEADER, self.name.as_str())?;
        headers.set(INSTANT_HEADER, &instant_text(instant))?;
        let from_instant = |due: Due| Due::At(due.resolve(Now::from(instant)));
        let mut job = NewJob {
            id,
            headers,
            due: from_instant(self.job.due),
            expires: self.job.expires.map(from_instant),
            ..self.job.clone()
        };
        job.retry.until = job.retry.until.map(from_instant);
        Ok(job)
    }
}

impl JobId {
    /// The id in the template of a schedule.
    fn of_schedule(name: &ScheduleName) -> Self {
        Self::new(name.as_str()).expect("the name of a schedule is a valid id")
    }

    /// Returns the id of a job that a schedule enqueues by hand, `NAME@run-NONCE`.
    pub fn of_run(name: &ScheduleName, nonce: &str) -> Self {
        Self::new(format!("{name}@run-{nonce}")).expect("the run was checked")
    }

    /// Returns the id of the job that a schedule enqueues for an instant, as in
    /// `nightly@2026-03-29T01:30:00Z`.
    pub fn at_instant(name: &ScheduleName, instant: Timestamp) -> Self {
        let text = format!("{name}@{}", instant_text(instant));
        Self::new(text).expect("a short name and a time are a valid id")
    }
}

/// Formats an instant to the second, as in `2026-03-29T01:30:00Z`.
pub fn instant_text(instant: Timestamp) -> String {
    let seconds = instant.as_ms() / 1000;
    let (days, second) = (seconds / 86_400, seconds % 86_400);
    // The proleptic Gregorian calendar, in eras of 400 years that begin in March.
    let shifted = days + 719_468;
    let (era, day_of_era) = (shifted / 146_097, shifted % 146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = (month_from_march + 2) % 12 + 1;
    let year = era * 400 + year_of_era + u64::from(month <= 2);
    let (hour, minute) = (second / 3600, second / 60 % 60);
    format!(
        "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{:02}Z",
        second % 60
    )
}

/// What happens to instants that are more than a minute old when a process settles them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Missed {
    /// None of them fires.
    Skip,
    /// The newest one fires, unless a younger instant fires anyway.
    Last,
    /// The newest ones fire, up to this many, at most 32.
    All(usize),
}

text_enum! {
    /// What happens at an instant while the previous job of the schedule has not ended.
    Overlap {
        /// The instant is skipped.
        Skip = "skip",
        /// The new job may run at the same time.
        Allow = "allow",
        /// The new job waits for the end of the previous one. If one waits already, the instant is skipped.
        Buffer = "buffer",
        /// The previous job is cancelled, and the new one waits for its end.
        Cancel = "cancel",
    }
}

text_enum! {
    /// Why an instant did not fire.
    SkipReason {
        /// No process settled it in time.
        Missed = "missed",
        /// The previous job had not ended.
        Overlap = "overlap",
        /// The schedule was paused.
        Paused = "paused",
        /// The id or the unique key of the job was in use.
        Duplicate = "duplicate",
    }
}

text_enum! {
    /// A change of a schedule, made by [`Store::change_schedule`](crate::Store::change_schedule).
    ScheduleChange {
        /// Its instants pass without firing, and are not caught up.
        Pause = "pause",
        /// Its instants fire again.
        Resume = "resume",
        /// Removes it and its history, but not its jobs. A job that waits for the previous one is released.
        Delete = "delete",
    }
}

/// The reply to [`Store::put_schedule`](crate::Store::put_schedule).
#[derive(Debug, Clone, PartialEq)]
pub struct SchedulePut {
    /// `None` if the schedule was created, otherwise whether it was changed.
    pub changed: Option<bool>,
    /// Asks for instants, if the schedule needs some.
    pub refill: Option<RefillRequest>,
}

/// Asks the caller to compute the instants of a schedule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RefillRequest {
    /// The schedule.
    pub name: ScheduleName,
    /// Its revision.
    pub revision: u64,
    /// How to compute instants.
    pub rule: Rule,
    /// The instants begin after this one.
    pub after: Timestamp,
    /// The time of the store.
    pub now: Timestamp,
}

/// Instants of a schedule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refill {
    /// The schedule.
    pub name: ScheduleName,
    /// The revision that the instants were computed for.
    pub revision: u64,
    /// The instants begin after this one.
    pub after: Timestamp,
    /// How many instants after `after` were left out, because too many passed. If any, the refill is
    /// ignored unless the schedule is still settled until `after`.
    pub missed: u64,
    /// The newest instant that was left out, or `after`.
    pub missed_until: Timestamp,
    /// The instants after that, in order: at most [`PAST_MAX`] past ones and [`INSTANTS_MAX`] future ones.
    pub instants: Vec<PlannedInstant>,
    /// The instants are complete up to this time.
    pub known_until: Timestamp,
}

impl Refill {
    /// Checks the number and the order of the instants.
    pub fn check(&self) -> Result<()> {
        let is_ordered = self.instants.windows(2).all(|pair| pair[0].at < pair[1].at);
        let is_within = |instant: &PlannedInstant| {
            instant.at > self.missed_until
                && instant.at <= self.known_until
                && instant.at.as_ms().is_multiple_of(1000)
                && instant.jitter <= SCHEDULE_JITTER_MAX
        };
        let is_valid = is_ordered
            && self.after <= self.missed_until
            && (self.missed > 0) == (self.after < self.missed_until)
            && self.known_until <= KNOWN_FOREVER
            && self.instants.len() <= PAST_MAX + INSTANTS_MAX
            && self.missed <= NUMBER_MAX
            && self.instants.iter().all(is_within);
        if is_valid {
            return Ok(());
        }
        let why = "its instants are not in order or out of range";
        let help = "this is a bug in the program that computes instants";
        Err(Error::invalid("refill of a schedule", why, help))
    }
}

/// Jobs to enqueue by [`Store::run_schedule`](crate::Store::run_schedule).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Run {
    /// One job now, with the id `NAME@run-NONCE`.
    Now {
        /// Tells calls apart: a repeated call is a duplicate.
        nonce: String,
        /// Whether it may overlap with the previous job, whatever the schedule says.
        is_forced: bool,
    },
    /// One job for each of these instants, at most [`PAGE`]. They may overlap.
    Instants(Vec<Timestamp>),
}

impl Run {
    /// One job now, with a random nonce.
    pub fn now(is_forced: bool) -> Self {
        let nonce = format!("{:016x}", crate::name::random());
        Self::Now { nonce, is_forced }
    }

    /// Checks the nonce, and the number and range of the instants.
    pub fn check(&self, name: &ScheduleName) -> Result<()> {
        let invalid = |why: &'static str, help| Err(Error::invalid("schedule run", why, help));
        match self {
            Self::Now { nonce, .. } if JobId::new(format!("{name}@run-{nonce}")).is_err() => {
                invalid("invalid nonce", "use up to 20 letters and digits")
            }
            Self::Instants(instants) if instants.len() > PAGE => {
                invalid("too many instants", "send at most 100 instants per call")
            }
            Self::Instants(instants)
                if instants
                    .iter()
                    .any(|at| !at.as_ms().is_multiple_of(1000) || *at >= KNOWN_FOREVER) =>
            {
                invalid("invalid instant", "use whole seconds")
            }
            _ => Ok(()),
        }
    }
}

/// The reply to [`Store::run_schedule`](crate::Store::run_schedule) for one job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ran {
    /// The job was enqueued, or is a duplicate.
    Enqueued(Enqueued),
    /// This job of the schedule has not ended, so nothing was enqueued.
    Overlap(JobId),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_instant_is_formatted_to_the_second() {
        for (seconds, text) in [
            (0, "1970-01-01T00:00:00Z"),
            (951_782_399, "2000-02-28T23:59:59Z"),
            (951_782_400, "2000-02-29T00:00:00Z"),
            (1_774_747_800, "2026-03-29T01:30:00Z"),
            (4_107_542_400, "2100-03-01T00:00:00Z"),
            (253_402_300_799, "9999-12-31T23:59:59Z"),
        ] {
            assert_eq!(instant_text(Timestamp::from_ms(seconds * 1000)), text);
        }
    }
}
