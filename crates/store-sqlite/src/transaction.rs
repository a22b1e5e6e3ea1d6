//! One verb's view of one queue inside a transaction.
//!
//! A queue's row is read once per transaction and written once at its end, however many calls of a
//! group use it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use rusqlite::{Connection, params};
use windlass_core::history::OpenMinute;
use windlass_core::notification::Notification;
use windlass_core::store::{GroupName, QueueDeletion, Setting, Settings};
use windlass_core::time::Now;
use windlass_core::{JobId, JobState, QueueName, ScheduleName, Token};

use crate::error::{TxError, TxResult};
use crate::group::GroupRow;
use crate::history;
use crate::schedule::LoadedSchedule;
use crate::sql::Sql;
use crate::stats::Counters;

/// An open transaction.
#[derive(Debug)]
pub(crate) struct Tx<'a> {
    pub(crate) db: &'a Connection,
    /// The clock, read once per call.
    pub(crate) clock_us: u64,
    queues: Vec<QueueRow>,
    notifications: Vec<Notification>,
    path: &'a Path,
    /// Payload bytes of the jobs that schedules have enqueued.
    fired_bytes: u64,
    /// Many schedules were written: the commit may start a small checkpoint.
    pub(crate) has_scattered_writes: bool,
    /// Free pages were given back: the file becomes shorter with the next checkpoint.
    pub(crate) is_shortened: bool,
}

/// A row of the table `queue`.
#[derive(Debug)]
pub(crate) struct QueueRow {
    pub(crate) key: i64,
    pub(crate) name: QueueName,
    pub(crate) settings: Settings,
    pub(crate) is_paused: bool,
    pub(crate) mark_us: u64,
    pub(crate) last_token: u64,
    pub(crate) front: i64,
    pub(crate) back: i64,
    pub(crate) counters: Counters,
    /// When the next instant of its schedules is due, so that a claim need not ask.
    pub(crate) fires_at: Option<u64>,
    /// The number of the rate limit.
    pub(crate) rate_next_us: u64,
    is_dirty: bool,
}

/// More positions than can ever be assigned; larger stored values are corrupt and could overflow.
const POSITION_MAX: u64 = u64::MAX / 4;

/// The key of a queue that is not stored.
const NOT_STORED: i64 = -1;

/// One verb on one queue, inside a transaction.
#[derive(Debug)]
pub(crate) struct QueueTx<'a> {
    pub(crate) db: &'a Connection,
    pub(crate) queue: &'a mut QueueRow,
    pub(crate) now: Now,
    /// Jobs and ids added to the finished ones by this verb; it prunes in proportion.
    pub(crate) kept: usize,
    /// Claims that jobs left during this verb, with counts.
    pub(crate) departed: BTreeMap<Token, u64>,
    /// Whether jobs left claims during this verb.
    pub(crate) has_departures: bool,
    /// Schedules that this verb has read.
    pub(crate) schedules: BTreeMap<ScheduleName, LoadedSchedule>,
    /// Groups that this verb has read.
    pub(crate) groups: BTreeMap<GroupName, GroupRow>,
    /// Groups in which this verb freed a slot.
    pub(crate) freed: BTreeSet<GroupName>,
    pub(crate) path: &'a Path,
    pub(crate) fired_bytes: &'a mut u64,
    pub(crate) has_scattered_writes: &'a mut bool,
    notifications: &'a mut Vec<Notification>,
    is_changed: bool,
    has_announced_work: bool,
}

impl<'a> Tx<'a> {
    pub(crate) fn new(db: &'a Connection, path: &'a Path) -> Self {
        Self {
            db,
            clock_us: 0,
            queues: Vec::new(),
            notifications: Vec::new(),
            path,
            fired_bytes: 0,
            has_scattered_writes: false,
            is_shortened: false,
        }
    }

    /// Runs one verb on one queue. A missing queue is empty, and not stored.
    pub(crate) fn on_queue<T>(
        &mut self,
        name: &QueueName,
        verb: impl FnOnce(&mut QueueTx<'_>) -> TxResult<T>,
    ) -> TxResult<T> {
        let index = self.load(name)?;
        let queue = &mut self.queues[index];
        let now = Now::guard(queue.mark_us, self.clock_us);
        let mut tx = QueueTx {
            db: self.db,
            queue,
            now,
            kept: 0,
            departed: BTreeMap::new(),
            has_departures: false,
            schedules: BTreeMap::new(),
            groups: BTreeMap::new(),
            freed: BTreeSet::new(),
            path: self.path,
            fired_bytes: &mut self.fired_bytes,
            has_scattered_writes: &mut self.has_scattered_writes,
            notifications: &mut self.notifications,
            is_changed: false,
            has_announced_work: false,
        };
        if now.stepped_back {
            tx.shorten_leases()?;
            tx.cut_rate(tx.queue.settings.rate_limit());
            tx.forget_groups(tx.queue.mark_us)?;
            tx.follow_group_limits()?;
        }
        let reply = verb(&mut tx)?;
        tx.update_claims()?;
        // Not before the end: a claim of the same call may take the slots.
        if tx.has_departures {
            tx.announce_free_slots();
        }
        tx.save_groups()?;
        tx.announce_free_groups()?;
        tx.save_schedules()?;
        if tx.is_changed {
            tx.queue.mark_us = now.us;
            tx.queue.is_dirty = true;
        }
        Ok(reply)
    }

    /// Creates the queue unless it exists.
    pub(crate) fn create_queue(&mut self, name: &QueueName) -> TxResult<()> {
        let index = self.load(name)?;
        if !self.queues[index].is_stored() {
            self.queues[index] = QueueRow::create(self.db, name)?;
        }
        Ok(())
    }

    /// Deletes a queue without jobs and schedules, and all its rows.
    pub(crate) fn delete_queue(&mut self, name: &QueueName) -> TxResult<QueueDeletion> {
        let index = self.load(name)?;
        let key = self.queues[index].key;
        if key == NOT_STORED {
            return Ok(QueueDeletion::NotFound);
        }
        let first = "SELECT key FROM job WHERE queue = ?1 AND id > '' ORDER BY id LIMIT 1";
        if self.db.value::<i64>(first, [key])?.is_some() {
            return Ok(QueueDeletion::HasJobs);
        }
        let first = "SELECT 1 FROM schedule WHERE queue = ?1 LIMIT 1";
        if self.db.has(first, [key])? {
            return Ok(QueueDeletion::HasSchedules);
        }
        for table in [
            "lease",
            "claim",
            "claim_ids",
            "departure",
            "tombstone",
            "job_group",
            "history",
            "open_minute",
            "error_group",
        ] {
            let sql = format!("DELETE FROM {table} WHERE queue = ?1");
            self.db.run(&sql, [key])?;
        }
        // Its last token stays, so that no number is issued twice if it is created again.
        let clear = "UPDATE queue SET settings = '', is_paused = 0, mark_us = 0, front = 0, back = 0, stats = '',
                                      rate_next_us = 0
                     WHERE key = ?1";
        self.db.run(clear, [key])?;
        self.queues[index] = QueueRow::empty(name.clone(), NOT_STORED);
        Ok(QueueDeletion::Deleted)
    }

    fn load(&mut self, name: &QueueName) -> TxResult<usize> {
        if let Some(index) = self.queues.iter().position(|queue| queue.name == *name) {
            return Ok(index);
        }
        let found = QueueRow::find(self.db, name)?;
        let empty = || QueueRow::empty(name.clone(), NOT_STORED);
        self.queues.push(found.unwrap_or_else(empty));
        Ok(self.queues.len() - 1)
    }

    /// Writes the queue rows back. Returns the notifications to send after the commit.
    pub(crate) fn finish(self) -> TxResult<Vec<Notification>> {
        for queue in self
            .queues
            .iter()
            .filter(|queue| queue.is_dirty && queue.is_stored())
        {
            queue.save(self.db)?;
        }
        Ok(self.notifications)
    }
}

impl QueueRow {
    fn empty(name: QueueName, key: i64) -> Self {
        Self {
            key,
            name,
            settings: Settings::default(),
            is_paused: false,
            mark_us: 0,
            last_token: 0,
            front: 0,
            back: 0,
            counters: Counters::default(),
            fires_at: None,
            rate_next_us: 0,
            is_dirty: false,
        }
    }

    pub(crate) fn find(db: &Connection, name: &QueueName) -> TxResult<Option<Self>> {
        let stored = db.first(
            "SELECT key, settings, is_paused, mark_us, last_token, front, back, stats, fires_at,
                    rate_next_us
             FROM queue WHERE name = ?1 AND stats > ''",
            [name.as_str()],
            |row| {
                let mut queue = Self::empty(name.clone(), row.get(0)?);
                for line in row.get::<_, String>(1)?.lines() {
                    let corrupt = |_| TxError::corrupt("setting", line);
                    let setting = line.parse().map_err(corrupt)?;
                    queue.settings.apply(&setting).map_err(corrupt)?;
                }
                queue.is_paused = row.get(2)?;
                queue.mark_us = row.get(3)?;
                queue.last_token = row.get(4)?;
                queue.front = row.get(5)?;
                queue.back = row.get(6)?;
                queue.counters = Counters::read(&row.get::<_, String>(7)?)?;
                queue.fires_at = row.get(8)?;
                // A negative number is in the past, as 0 is.
                queue.rate_next_us = row.get::<_, i64>(9)?.max(0).cast_unsigned();
                Ok(queue)
            },
        )?;
        let Some(queue) = stored else {
            return Ok(None);
        };
        let ends = [queue.front, queue.back];
        if ends.iter().any(|end| end.unsigned_abs() > POSITION_MAX) {
            return Err(TxError::corrupt("lane positions", ends));
        }
        Ok(Some(queue))
    }

    fn create(db: &Connection, name: &QueueName) -> TxResult<Self> {
        let mut queue = Self::empty(name.clone(), 0);
        (queue.key, queue.last_token) = db.query_row(
            "INSERT INTO queue (name, settings, is_paused, mark_us, last_token, front, back, stats)
             VALUES (?1, '', 0, 0, 0, 0, 0, ?2)
             ON CONFLICT (name) DO UPDATE SET stats = excluded.stats RETURNING key, last_token",
            params![name.as_str(), queue.counters.write()],
            |row| Ok((row.get(0)?, row.get(1)?)),
        )?;
        let open = OpenMinute::default().write();
        db.run(history::WRITE_OPEN, params![queue.key, open])?;
        Ok(queue)
    }

    pub(crate) const fn is_stored(&self) -> bool {
        self.key != NOT_STORED
    }

    fn save(&self, db: &Connection) -> TxResult<()> {
        db.run(
            "UPDATE queue SET is_paused = ?2, mark_us = ?3, last_token = ?4, front = ?5, back = ?6,
                              stats = ?7, fires_at = ?8, rate_next_us = ?9
             WHERE key = ?1",
            params![
                self.key,
                self.is_paused,
                self.mark_us,
                self.last_token,
                self.front,
                self.back,
                self.counters.write(),
                self.fires_at,
                self.rate_next_us,
            ],
        )?;
        Ok(())
    }
}

impl QueueTx<'_> {
    /// Marks the queue's row as changed.
    pub(crate) fn changed(&mut self) {
        self.is_changed = true;
    }

    /// Changes all settings or none; only those that differ from the defaults are stored.
    pub(crate) fn set(&mut self, settings: &[Setting]) -> TxResult<Settings> {
        let mut new = self.queue.settings.clone();
        settings.iter().try_for_each(|setting| new.apply(setting))?;
        self.check_change(&new)?;
        self.change_settings(new)?;
        let defaults = Settings::default().all();
        let own = self.queue.settings.all().into_iter();
        let differing = own.filter(|setting| !defaults.contains(setting));
        let line = |setting: Setting| format!("{}={}\n", setting.name(), setting.value());
        let text: String = differing.map(line).collect();
        let sql = "UPDATE queue SET settings = ?2 WHERE key = ?1";
        self.db.run(sql, params![self.queue.key, text])?;
        self.changed();
        Ok(self.queue.settings.clone())
    }

    /// After the clock was set far back: limits every lease to its length from now.
    fn shorten_leases(&mut self) -> TxResult<()> {
        self.db.execute(
            "UPDATE lease SET until = min(until, ?2 + length_ms) WHERE queue = ?1",
            params![self.queue.key, self.now_ms()],
        )?;
        self.changed();
        Ok(())
    }

    /// The transaction's time in milliseconds.
    pub(crate) fn now_ms(&self) -> u64 {
        self.now.ms().as_ms()
    }

    /// Notifies watchers that a job entered a state.
    pub(crate) fn announce(&mut self, id: &JobId, state: JobState) {
        self.notifications.push(Notification::Event(
            self.queue.name.clone(),
            id.clone(),
            state,
        ));
        if state == JobState::Ready {
            self.announce_work();
        }
    }

    /// Notifies watchers that a claim may find jobs, now or sooner than expected.
    pub(crate) fn announce_work(&mut self) {
        if !std::mem::replace(&mut self.has_announced_work, true) {
            self.notifications
                .push(Notification::Work(self.queue.name.clone()));
        }
    }

    pub(crate) fn announce_cancel(&mut self, id: &JobId) {
        self.notifications
            .push(Notification::Cancel(self.queue.name.clone(), id.clone()));
    }
}
