//! Deduplication: what an enqueue does if its id or unique key is in use, and how long a key is held.

use std::fmt;
use std::time::Duration;

use crate::error::{Error, Result};
use crate::job::{Job, JobState, NewJob};
use crate::limits::FUTURE_MAX;
use crate::text_enum::text_enum;
use crate::time::{Now, Timestamp};

text_enum! {
    /// What an enqueue does if a waiting job has its id or unique key. A running or ended job is never
    /// changed.
    OnDuplicate {
        /// Leaves the job as it is.
        Keep = "keep",
        /// Replaces its content. The job keeps its id, enqueue time, due time and unique key, and starts over
        /// with attempt 1.
        Replace = "replace",
        /// Moves its due time, never to an earlier one.
        Postpone = "postpone",
        /// Replaces its content and moves its due time.
        ReplaceAndPostpone = "replace,postpone",
    }
}

impl OnDuplicate {
    /// Returns whether it replaces the content.
    pub const fn replaces(self) -> bool {
        matches!(self, Self::Replace | Self::ReplaceAndPostpone)
    }

    /// Returns whether it moves the due time.
    pub const fn postpones(self) -> bool {
        matches!(self, Self::Postpone | Self::ReplaceAndPostpone)
    }
}

text_enum! {
    /// How long a job holds its unique key.
    UniqueUntil {
        /// Until it ends.
        End = "end",
        /// Until it is first claimed. A retry does not take the key again.
        Start = "start",
    }
}

impl NewJob {
    /// Returns the new due time of `job` if this enqueue postpones it.
    pub fn postpones(&self, job: &Job, now: Now) -> Option<Timestamp> {
        if !self.on_duplicate.postpones() {
            return None;
        }
        let due = self.due.resolve(now);
        let latest = self.postpone_max.map(|max| job.created_at.plus(max));
        let due = latest.map_or(due, |latest| due.min(latest));
        (due > job.due_at.max(now.ms())).then_some(due)
    }

    pub(crate) fn check_deduplication(&self) -> Result<()> {
        let invalid = |part: &str, why: &'static str, help: &'static str| {
            Err(Error::invalid(part, why, help))
        };
        let is_long = |time: Option<Duration>| time.is_some_and(|time| time > FUTURE_MAX);
        if is_long(self.postpone_max) || is_long(self.unique_for) {
            let part = if is_long(self.postpone_max) {
                "postpone_max"
            } else {
                "unique_for"
            };
            return invalid(part, "longer than 100 years", "use a shorter time");
        }
        if self.postpone_max.is_some() && !self.on_duplicate.postpones() {
            let why = "this enqueue postpones no job";
            return invalid(
                "postpone_max",
                why,
                "add postpone to on_duplicate, or omit it",
            );
        }
        let has_key = self.unique_key.is_some();
        if !has_key && (self.unique_until != UniqueUntil::End || self.unique_for.is_some()) {
            let part = if self.unique_for.is_some() {
                "unique_for"
            } else {
                "unique_until"
            };
            return invalid(part, "the job has no unique key", "set a unique key");
        }
        if self.unique_for.is_some() && self.unique_until == UniqueUntil::Start {
            let why = "it holds the key at least until the job ends, which contradicts unique_until=start";
            return invalid("unique_for", why, "omit one of the two");
        }
        Ok(())
    }
}

impl Job {
    /// Takes the content of `new`, as an enqueue that replaces it does. The unique key stays.
    pub fn replace(&mut self, new: NewJob, now: Now) {
        self.payload = Some(new.payload);
        self.kind = new.kind;
        self.headers = new.headers;
        self.retry = new.retry.resolve(now);
        self.timeout = new.timeout;
        self.expires_at = new.expires.map(|expires| expires.resolve(now));
        self.priority = new.priority;
        self.group = new.group;
        self.attempt = 1;
        self.expiries = 0;
        self.error = None;
        self.attempts.clear();
    }

    /// Returns until when the key of a job that ends now in `state` stays held, if it does.
    pub fn key_held_until(&self, state: JobState, now: Timestamp) -> Option<Timestamp> {
        key_held_until(self.created_at, self.unique_for, state, now)
    }
}

/// Returns until when the key of a job that ends now in `state` stays held, if it does.
pub fn key_held_until(
    created_at: Timestamp,
    unique_for: Option<Duration>,
    state: JobState,
    now: Timestamp,
) -> Option<Timestamp> {
    let until = created_at.plus(unique_for?);
    (state != JobState::Cancelled && until > now).then_some(until)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::Limits;

    fn refused(job: &NewJob) -> String {
        let error = Limits::default().check_job(job).unwrap_err();
        error.to_string()
    }

    #[test]
    fn options_that_contradict_each_other_are_refused() {
        let key = || NewJob::new("x").unique_key("k".parse().unwrap());
        let hour = Duration::from_secs(3600);
        assert!(refused(&NewJob::new("x").unique_for(hour)).contains("unique_for"));
        assert!(
            refused(&NewJob::new("x").unique_until(UniqueUntil::Start)).contains("unique_until")
        );
        assert!(refused(&key().postpone_max(hour)).contains("postpone_max"));
        let both = key().unique_for(hour).unique_until(UniqueUntil::Start);
        assert!(refused(&both).contains("unique_for"));
        let job = key()
            .unique_for(hour)
            .on_duplicate(OnDuplicate::ReplaceAndPostpone);
        assert!(Limits::default().check_job(&job.postpone_max(hour)).is_ok());
    }
}
