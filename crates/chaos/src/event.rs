//! One line of an actor: a call it is about to make, or a reply it got.

use std::fmt;

use windlass_core::store::ClaimedJob;
use windlass_core::{BootId, JobId, JobLease, OutcomeStatus, Token};

/// An event with the time since its process started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// Microseconds on the process's monotonic clock; 0 for lines of the preloaded library.
    pub at_us: u64,
    /// The event.
    pub event: Event,
}

/// An event logged by an actor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// A worker starts, with a new boot id.
    Boot(BootId),
    /// Ready: for the start of a race, or for work.
    Ready,
    /// About to enqueue these, in one call.
    Enqueuing(Vec<JobId>),
    /// The job was stored.
    Accepted(JobId),
    /// The job already existed.
    Duplicate(JobId),
    /// The job was stored at a lower durability level than requested.
    BelowLevel(JobId),
    /// About to claim.
    Claiming,
    /// Claimed a job.
    Claimed(JobLease),
    /// What decides the order of a claimed job.
    Ordered(JobLease, JobOrder),
    /// Claimed a job of a schedule, which was created at this time, in milliseconds.
    Fired(JobId, u64),
    /// The effect of a job happened at this time, in microseconds of the system clock.
    Effect(JobLease, u64),
    /// About to renew all its leases.
    Renewing,
    /// The lease of this token was renewed.
    Renewed(Token),
    /// About to complete.
    Completing(JobLease),
    /// The status of an outcome.
    Outcome(OutcomeStatus, JobLease),
    /// A transient error of the store; the call is retried.
    StoreError(String),
    /// Something that must never happen has happened.
    Violation(String),
    /// A worker was asked to stop.
    Stopping,
    /// A worker has exited, with counts of its jobs.
    Exited {
        /// Completed.
        succeeded: u64,
        /// Released.
        released: u64,
        /// Lost to an expired lease.
        lost: u64,
    },
    /// A race is over: jobs completed, and the longest call in microseconds.
    Raced(u64, u64),
    /// About to sync a file (logged by the preloaded library).
    Syncing(String),
    /// The file was synced (logged by the preloaded library).
    Synced(String),
}

/// What decides the order of a job among others that return to their queue with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct JobOrder {
    /// Its priority.
    pub priority: u8,
    /// Its attempt.
    pub attempt: u32,
    /// How many of its leases expired.
    pub expiries: u32,
}

impl From<&ClaimedJob> for JobOrder {
    fn from(job: &ClaimedJob) -> Self {
        Self {
            priority: job.priority.level(),
            attempt: job.attempt,
            expiries: job.expiries,
        }
    }
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Boot(boot) => write!(f, "boot {boot}"),
            Self::Ready => f.write_str("ready"),
            Self::Enqueuing(ids) => {
                f.write_str("enqueuing")?;
                ids.iter().try_for_each(|id| write!(f, " {id}"))
            }
            Self::Accepted(id) => write!(f, "accepted {id}"),
            Self::Duplicate(id) => write!(f, "duplicate {id}"),
            Self::BelowLevel(id) => write!(f, "below_level {id}"),
            Self::Claiming => f.write_str("claiming"),
            Self::Claimed(lease) => write!(f, "claimed {} {}", lease.id, lease.token),
            Self::Ordered(lease, order) => {
                let JobOrder {
                    priority,
                    attempt,
                    expiries,
                } = order;
                let JobLease { id, token } = lease;
                write!(f, "ordered {id} {token} {priority} {attempt} {expiries}")
            }
            Self::Fired(id, created_ms) => write!(f, "fired {id} {created_ms}"),
            Self::Effect(JobLease { id, token }, at_us) => write!(f, "effect {id} {token} {at_us}"),
            Self::Renewing => f.write_str("renewing"),
            Self::Renewed(token) => write!(f, "renewed {token}"),
            Self::Completing(lease) => write!(f, "completing {} {}", lease.id, lease.token),
            Self::Outcome(status, lease) => write!(f, "{status} {} {}", lease.id, lease.token),
            Self::StoreError(what) => write!(f, "store_error {what}"),
            Self::Violation(what) => write!(f, "violation {what}"),
            Self::Stopping => f.write_str("stopping"),
            Self::Exited {
                succeeded,
                released,
                lost,
            } => write!(f, "exited {succeeded} {released} {lost}"),
            Self::Raced(jobs, longest_us) => write!(f, "raced {jobs} {longest_us}"),
            Self::Syncing(file) => write!(f, "syncing {file}"),
            Self::Synced(file) => write!(f, "synced {file}"),
        }
    }
}

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.at_us, self.event)
    }
}

impl Line {
    /// Parses a line; `None` if it is invalid.
    pub fn read(text: &str) -> Option<Self> {
        let (first, rest) = text.split_once(' ').unwrap_or((text, ""));
        Some(match first.parse() {
            Ok(at_us) => Self {
                at_us,
                event: Event::read(rest)?,
            },
            Err(_) => Self {
                at_us: 0,
                event: Event::read(text)?,
            },
        })
    }
}

impl Event {
    fn read(text: &str) -> Option<Self> {
        let (name, rest) = text.split_once(' ').unwrap_or((text, ""));
        let id = || JobId::new(rest).ok();
        Some(match name {
            "boot" => Self::Boot(BootId::new(rest).ok()?),
            "ready" => Self::Ready,
            "enqueuing" => {
                let ids = rest.split(' ').map(|id| JobId::new(id).ok());
                Self::Enqueuing(ids.collect::<Option<_>>()?)
            }
            "accepted" => Self::Accepted(id()?),
            "duplicate" => Self::Duplicate(id()?),
            "below_level" => Self::BelowLevel(id()?),
            "claiming" => Self::Claiming,
            "claimed" => Self::Claimed(lease(rest)?),
            "ordered" => ordered(rest)?,
            "fired" => {
                let (id, created_ms) = rest.split_once(' ')?;
                Self::Fired(JobId::new(id).ok()?, created_ms.parse().ok()?)
            }
            "effect" => {
                let (leased, at_us) = rest.rsplit_once(' ')?;
                Self::Effect(lease(leased)?, at_us.parse().ok()?)
            }
            "renewing" => Self::Renewing,
            "renewed" => Self::Renewed(rest.parse().ok()?),
            "completing" => Self::Completing(lease(rest)?),
            "store_error" => Self::StoreError(rest.to_owned()),
            "violation" => Self::Violation(rest.to_owned()),
            "stopping" => Self::Stopping,
            "exited" => exited(rest)?,
            "raced" => {
                let (jobs, longest_us) = rest.split_once(' ')?;
                Self::Raced(jobs.parse().ok()?, longest_us.parse().ok()?)
            }
            "syncing" => Self::Syncing(rest.to_owned()),
            "synced" => Self::Synced(rest.to_owned()),
            status => Self::Outcome(OutcomeStatus::from_text(status)?, lease(rest)?),
        })
    }
}

fn ordered(text: &str) -> Option<Event> {
    let mut words = text.splitn(3, ' ');
    let leased = lease(&format!("{} {}", words.next()?, words.next()?))?;
    let numbers: Vec<u32> = words.next()?.split(' ').flat_map(str::parse).collect();
    let [priority, attempt, expiries] = numbers[..] else {
        return None;
    };
    let order = JobOrder {
        priority: u8::try_from(priority).ok()?,
        attempt,
        expiries,
    };
    Some(Event::Ordered(leased, order))
}

fn exited(text: &str) -> Option<Event> {
    let numbers: Vec<u64> = text.split(' ').flat_map(str::parse).collect();
    let [succeeded, released, lost] = numbers[..] else {
        return None;
    };
    Some(Event::Exited {
        succeeded,
        released,
        lost,
    })
}

fn lease(text: &str) -> Option<JobLease> {
    let (id, token) = text.split_once(' ')?;
    Some(JobLease::new(JobId::new(id).ok()?, token.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_parsed_as_written() {
        for text in [
            "1 boot 00aa",
            "2 ready",
            "3 enqueuing a b",
            "4 accepted a",
            "5 duplicate b",
            "5 below_level b",
            "6 claiming",
            "7 claimed a 12-0000beef",
            "7 ordered a 12-0000beef 5 2 1",
            "7 fired s@run-1 1700000000000",
            "7 effect a 12-0000beef 1700000000000000",
            "8 renewing",
            "9 renewed 12-0000beef",
            "10 completing a 12-0000beef",
            "11 completed a 12-0000beef",
            "12 lease_lost a 12-0000beef",
            "13 store_error store_busy",
            "14 violation the payload is corrupt",
            "15 raced 100 2500",
            "16 stopping",
            "17 exited 7 2 1",
            "0 synced jobs.db-wal",
        ] {
            let line = Line::read(text).unwrap_or_else(|| panic!("{text}"));
            assert_eq!(line.to_string(), text);
        }
        assert_eq!(
            Line::read("synced x"),
            Some(Line {
                at_us: 0,
                event: Event::Synced("x".to_owned())
            })
        );
        assert_eq!(Line::read("7 claimed a 12"), None);
        assert_eq!(Line::read(""), None);
    }
}
