//! How jobs ended: what is kept of a finished job's end, and the tombstones of chosen ids.

use windlass_core::{JobState, Reason, Result, Timestamp};

use super::{damaged, text, time};

/// The end of a finished job that is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Outcome {
    pub(crate) state: JobState,
    pub(crate) finished_at: Timestamp,
    /// When the latest claim handed it out, where one did.
    pub(crate) started_at: Option<Timestamp>,
    /// Why a dead job is dead.
    pub(crate) reason: Option<Reason>,
}

impl Outcome {
    pub(crate) fn read(bytes: &[u8]) -> Result<Self> {
        const PART: &str = "end of a job";
        let mut parts = text(PART, bytes)?.splitn(4, '\t');
        let mut part = || parts.next().unwrap_or_default();
        Ok(Self {
            state: final_state(PART, part())?,
            finished_at: time(PART, part())?,
            started_at: match part() {
                "" => None,
                at => Some(time(PART, at)?),
            },
            reason: match part() {
                "" => None,
                word => {
                    let reason = Reason::from_text(word);
                    Some(reason.ok_or_else(|| damaged(PART, "its reason is none"))?)
                }
            },
        })
    }
}

/// An id that a caller chose, after its job's end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Tombstone {
    pub(crate) state: JobState,
    /// How long the id is remembered.
    pub(crate) until: Timestamp,
}

impl Tombstone {
    pub(crate) fn read(bytes: &[u8]) -> Result<Self> {
        const PART: &str = "tombstone";
        let (state, until) = text(PART, bytes)?
            .split_once(' ')
            .ok_or_else(|| damaged(PART, "a part of it is missing"))?;
        Ok(Self {
            state: final_state(PART, state)?,
            until: time(PART, until)?,
        })
    }
}

fn final_state(part: &str, word: &str) -> Result<JobState> {
    JobState::from_text(word)
        .filter(|state| state.is_final())
        .ok_or_else(|| damaged(part, "its state is none that a job ends in"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Timestamp {
        Timestamp::from_ms(ms)
    }

    #[test]
    fn an_end_is_read_with_and_without_start_and_reason() {
        let read = |text: &str| Outcome::read(text.as_bytes()).unwrap();
        let cancelled = Outcome {
            state: JobState::Cancelled,
            finished_at: at(9),
            started_at: None,
            reason: None,
        };
        assert_eq!(read("cancelled\t9\t\t"), cancelled);
        assert_eq!(
            read("dead\t9\t5\tpoison"),
            Outcome {
                state: JobState::Dead,
                started_at: Some(at(5)),
                reason: Some(Reason::Poison),
                ..cancelled
            }
        );
        assert_eq!(read("dead\t9\t\texpired").reason, Some(Reason::Expired));
    }

    #[test]
    fn a_damaged_end_is_refused() {
        for bad in [
            "",
            "dead",
            "dead\t",
            "ready\t9\t\t",
            "gone\t9\t\t",
            "dead\t9\tx\t",
            "dead\t9\t5\tboredom",
            "dead\t9\t5\tpoison\t",
        ] {
            assert!(Outcome::read(bad.as_bytes()).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn a_tombstone_is_read_or_refused() {
        let expected = Tombstone {
            state: JobState::Succeeded,
            until: at(7),
        };
        assert_eq!(Tombstone::read(b"succeeded 7").unwrap(), expected);
        for bad in ["", "succeeded", "succeeded ", "running 7", "dead 7 8"] {
            assert!(Tombstone::read(bad.as_bytes()).is_err(), "{bad:?}");
        }
    }
}
