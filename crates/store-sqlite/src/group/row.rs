//! Maps rows of the table `job_group`, and decides when a group may start its first ready job.

use rusqlite::{Connection, Params, Row, params};
use windlass_core::store::{GroupLimits, GroupName, GroupRecord, OwnLimit, Requeue, Settings};
use windlass_core::time::Now;
use windlass_core::{Mode, Timestamp};

use crate::error::{TxError, TxResult};
use crate::sql::Sql;

/// A row of the table `job_group`.
#[derive(Debug, Clone)]
pub(crate) struct GroupRow {
    pub(crate) name: GroupName,
    pub(crate) ready: u64,
    pub(crate) slots: u64,
    pub(crate) turn: u64,
    pub(crate) is_paused: bool,
    pub(crate) resting_until: Timestamp,
    pub(crate) rate_next_us: u64,
    pub(crate) limits: GroupLimits,
    pub(super) first: FirstJob,
    /// Where it waits, as stored.
    pub(super) place: Place,
    pub(super) is_stored: bool,
    /// It must be written.
    pub(super) is_changed: bool,
}

/// What a claim must know of the first ready job of a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FirstJob {
    /// It was the first one and left: the next one must be read.
    Unknown,
    Missing,
    Known {
        priority: u8,
        holds_slot: bool,
    },
}

/// The columns by which a group is found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Place {
    pub(super) may_start: bool,
    pub(super) opens_us: Option<u64>,
    pub(super) forget_us: Option<u64>,
}

const COLUMNS: &str = "name, ready, slots, turn, is_paused, resting_until, rate_next_us, limits, \
    priority, first_holds, may_start, opens_us, forget_us";

/// The largest time that SQLite stores.
const TIME_MAX: u64 = i64::MAX.cast_unsigned();

impl GroupRow {
    /// A group that is not stored.
    pub(crate) fn new(name: GroupName) -> Self {
        Self {
            name,
            ready: 0,
            slots: 0,
            turn: 0,
            is_paused: false,
            resting_until: Timestamp::default(),
            rate_next_us: 0,
            limits: GroupLimits::default(),
            first: FirstJob::Missing,
            place: Place::default(),
            is_stored: false,
            is_changed: false,
        }
    }

    /// The groups that meet a condition on the table `job_group`, in its order.
    pub(super) fn select(
        db: &Connection,
        condition: &str,
        params: impl Params,
    ) -> TxResult<Vec<Self>> {
        db.rows(&query(condition), params, Self::read)
    }

    pub(crate) fn find(db: &Connection, queue: i64, name: &GroupName) -> TxResult<Option<Self>> {
        let condition = query("queue = ?1 AND name = ?2");
        db.first(&condition, params![queue, name.as_str()], Self::read)
    }

    pub(super) fn read(row: &Row<'_>) -> TxResult<Self> {
        let name: String = row.get(0)?;
        let limits: Option<String> = row.get(7)?;
        let limits = limits.map(|text| {
            let corrupt = || TxError::corrupt("limits of a group", &text);
            read_limits(&text).ok_or_else(corrupt)
        });
        // A negative time is in the past, as 0 is.
        let time =
            |index: usize| Ok::<_, TxError>(row.get::<_, i64>(index)?.max(0).cast_unsigned());
        let priority: Option<u8> = row.get(8)?;
        let holds_slot = row.get(9)?;
        Ok(Self {
            name: GroupName::new(&name).map_err(|_| TxError::corrupt("group name", &name))?,
            ready: row.get(1)?,
            slots: row.get(2)?,
            turn: row.get(3)?,
            is_paused: row.get(4)?,
            resting_until: Timestamp::from_ms(time(5)?),
            rate_next_us: time(6)?,
            limits: limits.transpose()?.unwrap_or_default(),
            first: priority.map_or(FirstJob::Missing, |priority| FirstJob::Known {
                priority,
                holds_slot,
            }),
            place: Place {
                may_start: row.get(10)?,
                opens_us: row.get(11)?,
                forget_us: row.get(12)?,
            },
            is_stored: true,
            is_changed: false,
        })
    }

    /// Writes the row, or deletes it if the group has nothing left.
    pub(super) fn save(&mut self, db: &Connection, queue: i64, is_removable: bool) -> TxResult<()> {
        if is_removable {
            if self.is_stored {
                let sql = "DELETE FROM job_group WHERE queue = ?1 AND name = ?2";
                db.run(sql, params![queue, self.name.as_str()])?;
            }
            self.is_stored = false;
            return Ok(());
        }
        let sql = if self.is_stored {
            "UPDATE job_group SET ready = ?3, slots = ?4, turn = ?5, is_paused = ?6, resting_until = ?7,
                 rate_next_us = ?8, limits = ?9, priority = ?10, first_holds = ?11, may_start = ?12,
                 opens_us = ?13, forget_us = ?14
             WHERE queue = ?1 AND name = ?2"
        } else {
            "INSERT INTO job_group (queue, name, ready, slots, turn, is_paused, resting_until,
                 rate_next_us, limits, priority, first_holds, may_start, opens_us, forget_us)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14)"
        };
        let (priority, first_holds) = match self.first {
            FirstJob::Known {
                priority,
                holds_slot,
            } => (Some(priority), holds_slot),
            FirstJob::Missing | FirstJob::Unknown => (None, false),
        };
        db.run(
            sql,
            params![
                queue,
                self.name.as_str(),
                self.ready,
                self.slots,
                self.turn,
                self.is_paused,
                self.resting_until.as_ms(),
                self.rate_next_us.min(TIME_MAX),
                write_limits(&self.limits),
                priority,
                first_holds,
                self.place.may_start,
                self.place.opens_us,
                self.place.forget_us,
            ],
        )?;
        self.is_stored = true;
        Ok(())
    }

    /// Adds a job to its line.
    pub(super) fn add(
        &mut self,
        settings: &Settings,
        priority: u8,
        holds_slot: bool,
        end: Requeue,
    ) {
        self.ready += 1;
        let added = FirstJob::Known {
            priority,
            holds_slot,
        };
        self.first = match self.first {
            FirstJob::Unknown => FirstJob::Unknown,
            FirstJob::Missing => added,
            FirstJob::Known {
                priority: first, ..
            } if !settings.group_slot.is_lane() => FirstJob::Known {
                priority: first.min(priority),
                holds_slot: false,
            },
            first @ FirstJob::Known {
                holds_slot: first_holds,
                ..
            } => match (holds_slot, first_holds) {
                (true, false) => added,
                (false, true) => first,
                _ if end == Requeue::Front => added,
                _ => first,
            },
        };
    }

    /// Removes a job from its line.
    pub(super) fn remove(&mut self) {
        self.ready = self.ready.saturating_sub(1);
        self.first = if self.ready == 0 {
            FirstJob::Missing
        } else {
            FirstJob::Unknown
        };
    }

    /// From when it may start jobs, in microseconds, as far as time decides.
    pub(super) fn opens_us(&self, settings: &Settings) -> u64 {
        let limit = self.limits.rate_limit(settings);
        let by_rate = limit.map_or(0, |limit| limit.opens_at(self.rate_next_us));
        let by_rest = self.resting_until.as_ms().saturating_mul(1000);
        by_rate.max(by_rest).min(TIME_MAX)
    }

    /// Follows a clock that was set back, or other limits.
    pub(super) fn cut_rate(&mut self, settings: &Settings, now: Now) {
        let limit = self.limits.rate_limit(settings);
        self.rate_next_us = limit.map_or(0, |limit| limit.cut(self.rate_next_us, now.us));
    }

    /// Whether a pause or the slots keep the first job back.
    fn has_slot(&self, settings: &Settings, holds_slot: bool) -> bool {
        let max = self.limits.max_running(settings);
        let is_free = holds_slot || max.is_none_or(|max| self.slots < u64::from(max));
        is_free && !self.is_paused
    }

    /// Whether the limits allow a first job to start now.
    pub(super) fn may_start(
        &self,
        settings: &Settings,
        now: Now,
        mode: Mode,
        holds_slot: bool,
    ) -> bool {
        self.has_slot(settings, holds_slot)
            && self.opens_us(settings) <= now.us
            && self.is_countable(settings, mode)
    }

    /// Whether a claim in this mode may take jobs: a job that is final when claimed does not count as running.
    pub(super) fn is_countable(&self, settings: &Settings, mode: Mode) -> bool {
        mode != Mode::AtMostOnce || self.limits.max_running(settings).is_none()
    }

    /// Where the group waits now.
    pub(super) fn find_place(&self, settings: &Settings, now: Now) -> Place {
        if self.ready == 0 {
            return Place {
                forget_us: self.forget_us(settings),
                ..Place::default()
            };
        }
        let opens_us = self.opens_us(settings);
        let may_start = match self.first {
            FirstJob::Known { holds_slot, .. } => self.has_slot(settings, holds_slot),
            FirstJob::Missing | FirstJob::Unknown => false,
        };
        Place {
            may_start,
            opens_us: Some(opens_us).filter(|opens_us| *opens_us > now.us && !self.is_paused),
            forget_us: None,
        }
    }

    /// From when the group has nothing left, if only time decides that.
    fn forget_us(&self, settings: &Settings) -> Option<u64> {
        let is_idle = self.ready + self.slots == 0 && !self.is_paused;
        let limit = self.limits.rate_limit(settings);
        let rate_us = limit.map_or(0, |_| self.rate_next_us);
        let rest_us = self.resting_until.as_ms().saturating_mul(1000);
        (is_idle && self.limits == GroupLimits::default())
            .then(|| rate_us.max(rest_us).min(TIME_MAX))
    }

    pub(super) fn is_removable(&self, settings: &Settings, now: Now) -> bool {
        self.forget_us(settings).is_some_and(|at| at <= now.us)
    }

    pub(super) fn record(&self, settings: &Settings, now: Now) -> GroupRecord {
        let limit = self.limits.rate_limit(settings);
        let opens_us = limit.map_or(0, |limit| limit.opens_at(self.rate_next_us));
        GroupRecord {
            name: self.name.clone(),
            ready: self.ready,
            slots: self.slots,
            is_paused: self.is_paused,
            resting_until: Some(self.resting_until).filter(|until| *until > now.ms()),
            opens_at: (opens_us > now.us).then(|| Timestamp::from_ms(opens_us.div_ceil(1000))),
            limits: self.limits,
        }
    }
}

fn query(condition: &str) -> String {
    format!("SELECT {COLUMNS} FROM job_group WHERE {condition}")
}

/// Limits as text: maximum, rate and burst; `None` for the defaults.
fn write_limits(limits: &GroupLimits) -> Option<String> {
    let GroupLimits {
        max_running,
        rate,
        burst,
    } = limits;
    let burst = burst.map_or(OwnLimit::Default, OwnLimit::At);
    (*limits != GroupLimits::default()).then(|| format!("{max_running} {rate} {burst}"))
}

fn read_limits(text: &str) -> Option<GroupLimits> {
    let mut fields = text.split(' ');
    let max_running = fields.next()?.parse().ok()?;
    let rate = fields.next()?.parse().ok()?;
    let burst: OwnLimit<u32> = fields.next()?.parse().ok()?;
    let is_valid = max_running != OwnLimit::At(0) && burst != OwnLimit::At(0);
    is_valid.then(|| GroupLimits {
        max_running,
        rate,
        burst: burst.or(None),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_read_back_as_written() {
        for limits in ["3 100/1m 7", "none none default", "default 1/1h30m default"] {
            let read = read_limits(limits).unwrap();
            assert_eq!(write_limits(&read).as_deref(), Some(limits));
        }
        for bad in ["", "0 none default", "1 1/0s default", "1 none 0", "1"] {
            assert_eq!(read_limits(bad), None, "{bad}");
        }
        assert_eq!(write_limits(&GroupLimits::default()), None);
    }
}
