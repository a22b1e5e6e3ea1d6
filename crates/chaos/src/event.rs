//! One line of an actor: what it is about to do, or what it was told.

use std::fmt;

use windlass_core::{BootId, JobId, JobLease, OutcomeStatus, Token};

/// A line with the microseconds since its process began.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// On the process's own steady clock; 0 where the preloaded library spoke.
    pub at_us: u64,
    /// What was said.
    pub event: Event,
}

/// What an actor says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// A worker begins a life.
    Boot(BootId),
    /// It stands by: for the start of a race, or for work.
    Ready,
    /// About to enqueue these, in one call.
    Asking(Vec<JobId>),
    /// Told that the job is stored.
    Accepted(JobId),
    /// Told that the job was already there.
    Duplicate(JobId),
    /// Told that the job is stored, and less safely than was asked for.
    Short(JobId),
    /// About to claim.
    Claiming,
    /// Was handed a job.
    Claimed(JobLease),
    /// About to renew all it holds.
    Renewing,
    /// Told that this token goes on.
    Renewed(Token),
    /// About to complete.
    Completing(JobLease),
    /// Told how the job left its claim.
    Told(OutcomeStatus, JobLease),
    /// The store could not answer for now; the call is repeated.
    Trouble(String),
    /// Something that must never happen has happened.
    Fault(String),
    /// A worker was asked to stop.
    Stopping,
    /// A worker has left: jobs completed, given back, and lost to the end of their lease.
    Left {
        /// Completed.
        succeeded: u64,
        /// Given back.
        released: u64,
        /// Lost.
        lost: u64,
    },
    /// A race is over: jobs completed, and the longest wait for one call in microseconds.
    Raced(u64, u64),
    /// About to sync a file (said by the preloaded library).
    Syncing(String),
    /// The file is synced (said by the preloaded library).
    Synced(String),
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Boot(boot) => write!(f, "boot {boot}"),
            Self::Ready => f.write_str("ready"),
            Self::Asking(ids) => {
                f.write_str("asking")?;
                ids.iter().try_for_each(|id| write!(f, " {id}"))
            }
            Self::Accepted(id) => write!(f, "accepted {id}"),
            Self::Duplicate(id) => write!(f, "duplicate {id}"),
            Self::Short(id) => write!(f, "short {id}"),
            Self::Claiming => f.write_str("claiming"),
            Self::Claimed(hold) => write!(f, "claimed {} {}", hold.id, hold.token),
            Self::Renewing => f.write_str("renewing"),
            Self::Renewed(token) => write!(f, "renewed {token}"),
            Self::Completing(hold) => write!(f, "completing {} {}", hold.id, hold.token),
            Self::Told(how, hold) => write!(f, "{how} {} {}", hold.id, hold.token),
            Self::Trouble(what) => write!(f, "trouble {what}"),
            Self::Fault(what) => write!(f, "fault {what}"),
            Self::Stopping => f.write_str("stopping"),
            Self::Left {
                succeeded,
                released,
                lost,
            } => write!(f, "left {succeeded} {released} {lost}"),
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
    /// Reads a line back; nothing when no actor can have written it.
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
        let (word, rest) = text.split_once(' ').unwrap_or((text, ""));
        let id = || JobId::new(rest).ok();
        Some(match word {
            "boot" => Self::Boot(BootId::new(rest).ok()?),
            "ready" => Self::Ready,
            "asking" => {
                let ids = rest.split(' ').map(|id| JobId::new(id).ok());
                Self::Asking(ids.collect::<Option<_>>()?)
            }
            "accepted" => Self::Accepted(id()?),
            "duplicate" => Self::Duplicate(id()?),
            "short" => Self::Short(id()?),
            "claiming" => Self::Claiming,
            "claimed" => Self::Claimed(hold(rest)?),
            "renewing" => Self::Renewing,
            "renewed" => Self::Renewed(rest.parse().ok()?),
            "completing" => Self::Completing(hold(rest)?),
            "trouble" => Self::Trouble(rest.to_owned()),
            "fault" => Self::Fault(rest.to_owned()),
            "stopping" => Self::Stopping,
            "left" => left(rest)?,
            "raced" => {
                let (jobs, longest_us) = rest.split_once(' ')?;
                Self::Raced(jobs.parse().ok()?, longest_us.parse().ok()?)
            }
            "syncing" => Self::Syncing(rest.to_owned()),
            "synced" => Self::Synced(rest.to_owned()),
            how => Self::Told(OutcomeStatus::from_text(how)?, hold(rest)?),
        })
    }
}

fn left(text: &str) -> Option<Event> {
    let figures: Vec<u64> = text.split(' ').flat_map(str::parse).collect();
    let [succeeded, released, lost] = figures[..] else {
        return None;
    };
    Some(Event::Left {
        succeeded,
        released,
        lost,
    })
}

fn hold(text: &str) -> Option<JobLease> {
    let (id, token) = text.split_once(' ')?;
    Some(JobLease::new(JobId::new(id).ok()?, token.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read_as_written() {
        for text in [
            "1 boot 00aa",
            "2 ready",
            "3 asking a b",
            "4 accepted a",
            "5 duplicate b",
            "5 short b",
            "6 claiming",
            "7 claimed a 12-0000beef",
            "8 renewing",
            "9 renewed 12-0000beef",
            "10 completing a 12-0000beef",
            "11 completed a 12-0000beef",
            "12 lease_lost a 12-0000beef",
            "13 trouble store_busy",
            "14 fault the payload is torn",
            "15 raced 100 2500",
            "16 stopping",
            "17 left 7 2 1",
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
