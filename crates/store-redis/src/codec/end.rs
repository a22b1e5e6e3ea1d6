//! How jobs ended: the end records of kept jobs, and the tombstones of custom ids.

use windlass_core::store::Reason;
use windlass_core::{JobState, Result, Timestamp};

use super::{damaged, text, time};

/// The end record of a finished job that is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct EndRecord {
    pub(crate) state: JobState,
    pub(crate) finished_at: Timestamp,
    /// When it was last claimed, if ever.
    pub(crate) started_at: Option<Timestamp>,
    /// Why the job is dead.
    pub(crate) reason: Option<Reason>,
}

impl EndRecord {
    pub(crate) fn read(bytes: &[u8]) -> Result<Self> {
        const KIND: &str = "end record";
        let mut fields = text(KIND, bytes)?.splitn(4, '\t');
        let mut field = || fields.next().unwrap_or_default();
        Ok(Self {
            state: final_state(KIND, field())?,
            finished_at: time(KIND, field())?,
            started_at: match field() {
                "" => None,
                at => Some(time(KIND, at)?),
            },
            reason: match field() {
                "" => None,
                text => {
                    let reason = Reason::from_text(text);
                    Some(reason.ok_or_else(|| damaged(KIND, "invalid reason"))?)
                }
            },
        })
    }
}

/// The tombstone of a custom id, left when its job ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Tombstone {
    pub(crate) state: JobState,
    /// When it is dropped.
    pub(crate) until: Timestamp,
}

impl Tombstone {
    pub(crate) fn read(bytes: &[u8]) -> Result<Self> {
        const KIND: &str = "tombstone";
        let (state, until) = text(KIND, bytes)?
            .split_once(' ')
            .ok_or_else(|| damaged(KIND, "missing field"))?;
        Ok(Self {
            state: final_state(KIND, state)?,
            until: time(KIND, until)?,
        })
    }
}

fn final_state(kind: &str, text: &str) -> Result<JobState> {
    JobState::from_text(text)
        .filter(|state| state.is_final())
        .ok_or_else(|| damaged(kind, "not a final state"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Timestamp {
        Timestamp::from_ms(ms)
    }

    #[test]
    fn an_end_record_is_read_with_and_without_start_and_reason() {
        let read = |text: &str| EndRecord::read(text.as_bytes()).unwrap();
        let cancelled = EndRecord {
            state: JobState::Cancelled,
            finished_at: at(9),
            started_at: None,
            reason: None,
        };
        assert_eq!(read("cancelled\t9\t\t"), cancelled);
        assert_eq!(
            read("dead\t9\t5\tpoison"),
            EndRecord {
                state: JobState::Dead,
                started_at: Some(at(5)),
                reason: Some(Reason::Poison),
                ..cancelled
            }
        );
        assert_eq!(read("dead\t9\t\texpired").reason, Some(Reason::Expired));
    }

    #[test]
    fn a_damaged_end_record_is_rejected() {
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
            assert!(EndRecord::read(bad.as_bytes()).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn a_tombstone_is_read_or_rejected() {
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
