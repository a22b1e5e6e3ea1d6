//! How jobs ended: the end records of kept jobs, and the tombstones of ids and unique keys.

use windlass_core::store::DurabilityLevel::Memory;
use windlass_core::store::{Reason, UniqueKey};
use windlass_core::{Enqueued, JobId, JobState, Result, Timestamp};

use super::names::DUPLICATE;
use super::{damaged, job_id, text, time};
use crate::enqueue::existing;

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

/// The byte before a unique key that is the name of a tombstone.
const HELD_KEY: u8 = 1;

/// What is remembered of an id or a unique key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Tombstone {
    /// The job with this id ended.
    Id(JobId, JobState),
    /// This key is held after the job with this id ended.
    Key(UniqueKey, JobId, JobState),
    /// The enqueue with this id changed another job, and got this reply.
    Amendment(JobId, Enqueued),
}

impl Tombstone {
    /// Decodes a tombstone, and when it is dropped.
    pub(crate) fn read(name: &[u8], bytes: &[u8]) -> Result<(Self, Timestamp)> {
        const KIND: &str = "tombstone";
        let mut fields = text(KIND, bytes)?.splitn(3, ' ');
        let mut field = || fields.next().unwrap_or_default();
        let (state, until, job) = (field(), time(KIND, field())?, field());
        let tombstone = match (name.strip_prefix(&[HELD_KEY]), job) {
            (None, "") => Self::Id(job_id(KIND, name)?, final_state(KIND, state)?),
            (None, _) => {
                let split = job.split_at_checked(1);
                let (code, id) = split.ok_or_else(|| damaged(KIND, "invalid reply"))?;
                let reply = existing(&format!("{code}{state} {id}"), Memory);
                let reply = reply.map_err(|_| damaged(KIND, "invalid reply"))?;
                Self::Amendment(job_id(KIND, name)?, reply)
            }
            (Some(key), _) => {
                let key = UniqueKey::new(text(KIND, key)?);
                let key = key.map_err(|_| damaged(KIND, "invalid key"))?;
                let id = job.strip_prefix(DUPLICATE).unwrap_or_default();
                let id = job_id(KIND, id.as_bytes())?;
                Self::Key(key, id, final_state(KIND, state)?)
            }
        };
        Ok((tombstone, until))
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
        let id = |id: &str| JobId::new(id).unwrap();
        let read = |name: &str, text: &str| Tombstone::read(name.as_bytes(), text.as_bytes());
        let ended = Tombstone::Id(id("a b"), JobState::Succeeded);
        assert_eq!(read("a b", "succeeded 7").unwrap(), (ended, at(7)));
        let key = UniqueKey::new("a b").unwrap();
        let held = Tombstone::Key(key, id("c d"), JobState::Dead);
        assert_eq!(read("\x01a b", "dead 7 =c d").unwrap(), (held, at(7)));
        let reply = Enqueued::Replaced {
            id: id("c d"),
            state: JobState::Ready,
            level: Memory,
        };
        let amendment = Tombstone::Amendment(id("a b"), reply);
        assert_eq!(read("a b", "ready 7 ~c d").unwrap(), (amendment, at(7)));

        for bad in [
            "",
            "succeeded",
            "succeeded ",
            "running 7",
            "dead 7 8",
            "ready 7 ~",
        ] {
            assert!(read("a", bad).is_err(), "{bad:?}");
        }
        for bad in ["dead 7", "dead 7 =", "ready 7 =a", "dead 7 ~a", "dead 7 é"] {
            assert!(read("\x01a", bad).is_err(), "{bad:?}");
        }
        assert!(read("\x01", "dead 7 =a").is_err());
        assert!(read("a", "dead 7 é").is_err());
    }
}
