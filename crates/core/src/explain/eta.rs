//! When a waiting job probably starts. An estimate for people: nothing acts upon it.

use std::fmt;
use std::time::Duration;

use super::{WaitFacts, WaitReason, WaitWord};
use crate::job::JobState;
use crate::rate::RateLimit;
use crate::text_enum::text_enum;

/// The time over which stores count finished jobs, in milliseconds.
const MINUTE_MS: u64 = 60_000;

/// When a job probably starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Eta {
    /// The time from now.
    pub after: Duration,
    /// What decides it.
    pub basis: EtaBasis,
}

text_enum! {
    /// What an [`Eta`] is computed from: the one of these that takes longest.
    EtaBasis {
        /// The known end of a reason.
        Until = "until",
        /// The jobs ahead, and how many finished in the last minute.
        Throughput = "throughput",
        /// The jobs ahead, and the rate of the queue.
        QueueRate = "queue_rate",
        /// The jobs ahead in the group, and its rate.
        GroupRate = "group_rate",
        /// The jobs ahead in the group, its slots and the mean time of an attempt: the running jobs of the queue ÷
        /// those that finish per second.
        GroupSlots = "group_slots",
    }
}

impl WaitFacts {
    /// The latest of all terms. Unknown if the job waits for a person, a worker or another job, or if jobs must finish first
    /// and none did in the last minute.
    pub(super) fn eta(&self, reasons: &[WaitReason]) -> Option<Eta> {
        let has = |words: &[WaitWord]| reasons.iter().any(|reason| words.contains(&reason.word()));
        let waits_for_people = has(&[
            WaitWord::QueuePaused,
            WaitWord::GroupPaused,
            WaitWord::NoWorker,
        ]);
        let is_timed = matches!(self.job.state, JobState::Scheduled | JobState::Ready);
        if waits_for_people || !is_timed {
            return None;
        }
        let untils = reasons.iter().filter_map(WaitReason::until);
        let until = untils.max().map(|until| Eta {
            after: until.since(self.now.ms()),
            basis: EtaBasis::Until,
        });
        if self.job.state == JobState::Scheduled {
            return until;
        }
        let is_full = has(&[WaitWord::QueueFull, WaitWord::GroupFull, WaitWord::LaneHead]);
        let to_finish = self.ahead.total() + u64::from(is_full);
        if to_finish > 0 && self.finished == 0 {
            return None;
        }
        let is_group_full = has(&[WaitWord::GroupFull]);
        let terms = [
            until,
            self.by_throughput(to_finish),
            self.by_queue_rate(),
            self.by_group_rate(),
            self.by_group_slots(is_group_full),
        ];
        // The first of equal terms.
        let terms = terms.into_iter().flatten().rev();
        terms.max_by_key(|eta| eta.after)
    }

    fn by_throughput(&self, to_finish: u64) -> Option<Eta> {
        let ms = to_finish
            .saturating_mul(MINUTE_MS)
            .checked_div(self.finished)?;
        eta(ms, EtaBasis::Throughput)
    }

    fn by_queue_rate(&self) -> Option<Eta> {
        let limit = self.settings.rate_limit()?;
        let ms = self.paced_ms(&limit, self.rate_next_us, self.ahead.total());
        eta(ms, EtaBasis::QueueRate)
    }

    fn by_group_rate(&self) -> Option<Eta> {
        let group = self.group.as_ref()?;
        let limit = group.limits.rate_limit(&self.settings)?;
        let ms = self.paced_ms(&limit, group.rate_next_us, self.ahead.in_group);
        eta(ms, EtaBasis::GroupRate)
    }

    fn by_group_slots(&self, is_full: bool) -> Option<Eta> {
        let group = self.group.as_ref()?;
        let slots = u64::from(group.limits.max_running(&self.settings)?);
        let attempts_ms = self.running.saturating_mul(MINUTE_MS);
        let mean_ms = attempts_ms.checked_div(self.finished)?;
        let ahead = self.ahead.in_group + u64::from(is_full);
        eta(
            ahead.saturating_mul(mean_ms) / slots.max(1),
            EtaBasis::GroupSlots,
        )
    }

    /// How long until a rate allows one claim more than `ahead`.
    fn paced_ms(&self, limit: &RateLimit, next_us: u64, ahead: u64) -> u64 {
        let next_us = limit.hand_out(limit.followed(next_us, self.now), self.now.us, ahead);
        let opens_us = limit.opens_at(next_us);
        opens_us.saturating_sub(self.now.us).div_ceil(1000)
    }
}

/// A term that says something.
fn eta(ms: u64, basis: EtaBasis) -> Option<Eta> {
    let after = Duration::from_millis(ms);
    (ms > 0).then_some(Eta { after, basis })
}
