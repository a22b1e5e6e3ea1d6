//! The builder of a schedule.

use std::time::Duration;

use windlass_core::store::{Missed, Overlap, Rule, Schedule, Times};
use windlass_core::{Bytes, Error, NewJob, Result, ScheduleName, Timestamp};
use windlass_schedule::Plan;

use crate::client::job_of;
use crate::typed::TypedJob;

/// Builds a schedule: a job that is enqueued by a cron pattern or an interval. Invalid options are returned as
/// an error by [`put`](crate::client::QueueSchedules::put).
///
/// ```
/// use serde::{Deserialize, Serialize};
/// use windlass::store::Timestamp;
/// use windlass::{Client, Schedule, TypedJob};
///
/// #[derive(Serialize, Deserialize, TypedJob)]
/// #[job(kind = "report", queue = "reports")]
/// struct Report {
///     days: u32,
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> windlass::Result<()> {
/// let weekly = Schedule::cron("weekly", "0 6 * * 1").zone("Europe/Berlin").job(&Report { days: 7 });
/// let mondays = weekly.next(Timestamp::from_ms(0), 2)?;
/// assert_eq!(mondays[1].since(mondays[0]).as_secs(), 7 * 24 * 60 * 60);
///
/// let client = Client::connect("memory:").await?;
/// client.schedules("reports").put(weekly).await?;
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
#[must_use = "the schedule is not stored until it is put"]
pub struct ScheduleBuilder(Result<Draft>);

#[derive(Debug)]
struct Draft {
    schedule: Schedule,
    is_paused: Option<bool>,
}

impl ScheduleBuilder {
    /// Creates a schedule from a cron pattern with 5 fields, or 6 with seconds first, in UTC.
    pub fn cron(name: &str, pattern: &str) -> Self {
        Self::new(name, Rule::cron(pattern, "UTC"))
    }

    /// Creates a schedule that fires every `period`, in whole seconds, counted from 1970.
    pub fn every(name: &str, period: Duration) -> Self {
        Self::new(name, Rule::every(period))
    }

    fn new(name: &str, rule: Result<Rule>) -> Self {
        let schedule = ScheduleName::new(name)
            .and_then(|name| Ok(Schedule::new(name, rule?, NewJob::new(Bytes::new()))));
        Self(schedule.map(|schedule| Draft {
            schedule,
            is_paused: None,
        }))
    }

    /// Changes the draft; keeps the first error.
    fn with(mut self, change: impl FnOnce(&mut Draft) -> Result<()>) -> Self {
        if let Ok(draft) = &mut self.0
            && let Err(error) = change(draft)
        {
            self.0 = Err(error);
        }
        self
    }

    fn set(self, change: impl FnOnce(&mut Schedule)) -> Self {
        self.with(|draft| {
            change(&mut draft.schedule);
            Ok(())
        })
    }

    /// Sets the time zone of the pattern, such as `Europe/Berlin` (default: UTC).
    pub fn zone(self, new: &str) -> Self {
        self.with(|draft| match &mut draft.schedule.rule.times {
            Times::Cron { zone, .. } => {
                new.clone_into(zone);
                Ok(())
            }
            Times::Every { .. } => Err(Error::invalid(
                "schedule",
                "an interval has no zone",
                "omit it, or use Schedule::cron",
            )),
        })
    }

    /// Sets the job.
    pub fn job<J: TypedJob>(self, job: &J) -> Self {
        self.with(|draft| {
            draft.set_job(job_of(job)?);
            Ok(())
        })
    }

    /// Sets the job to raw bytes.
    pub fn raw(self, payload: impl Into<Bytes>) -> Self {
        self.new_job(NewJob::new(payload))
    }

    /// Sets the job with all its options. Its id is ignored; delay, expiry and retry deadline count from each
    /// instant.
    pub fn new_job(self, job: NewJob) -> Self {
        self.with(|draft| {
            draft.set_job(job);
            Ok(())
        })
    }

    /// Sets what happens to missed instants (default: the last one fires).
    pub fn missed(self, missed: Missed) -> Self {
        self.set(|schedule| schedule.missed = missed)
    }

    /// Sets the age at which missed instants no longer fire (default: 24h).
    pub fn catch_up(self, catch_up: Duration) -> Self {
        self.set(|schedule| schedule.catch_up = catch_up)
    }

    /// Sets what happens while the previous job has not ended (default: the instant is skipped).
    pub fn overlap(self, overlap: Overlap) -> Self {
        self.set(|schedule| schedule.overlap = overlap)
    }

    /// Enqueues each job up to this long after its instant, by a hash of name and instant.
    pub fn jitter(self, jitter: Duration) -> Self {
        self.set(|schedule| schedule.rule.jitter = jitter)
    }

    /// Sets the earliest instant.
    pub fn from(self, from: Timestamp) -> Self {
        self.set(|schedule| schedule.rule.from = Some(from))
    }

    /// Sets the latest instant.
    pub fn until(self, until: Timestamp) -> Self {
        self.set(|schedule| schedule.rule.until = Some(until))
    }

    /// Ends the schedule after it fired this often.
    pub fn times(self, times: u64) -> Self {
        self.set(|schedule| schedule.times = Some(times))
    }

    /// Sets the set that it belongs to, such as the service that puts it.
    pub fn set_name(self, set: &str) -> Self {
        self.set(|schedule| schedule.set = Some(set.to_owned()))
    }

    /// Pauses or resumes it (default: a new schedule fires, an existing one stays as it is).
    pub fn paused(self, is_paused: bool) -> Self {
        self.with(|draft| {
            draft.is_paused = Some(is_paused);
            Ok(())
        })
    }

    /// Computes the first instants after a time, without a store.
    pub fn next(&self, after: Timestamp, count: usize) -> Result<Vec<Timestamp>> {
        match &self.0 {
            Ok(draft) => Ok(Plan::new(&draft.schedule.rule)?
                .after(after)
                .take(count)
                .collect()),
            Err(error) => {
                let help = error.help().to_owned();
                Err(Error::new(error.kind(), error.to_string(), help))
            }
        }
    }

    /// Returns the schedule, and whether it is paused.
    pub fn build(self) -> Result<(Schedule, Option<bool>)> {
        let Draft {
            schedule,
            is_paused,
        } = self.0?;
        Plan::new(&schedule.rule)?;
        schedule.check()?;
        Ok((schedule, is_paused))
    }
}

impl Draft {
    fn set_job(&mut self, job: NewJob) {
        let Schedule { name, rule, .. } = &self.schedule;
        let template = Schedule::new(name.clone(), rule.clone(), job);
        self.schedule.job = template.job;
    }
}
