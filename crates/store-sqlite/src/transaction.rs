//! One verb's view of one queue inside a transaction.
//!
//! A queue's row is read once per transaction and written once at its end, however many calls of a
//! group use it.

use rusqlite::{Connection, params};
use windlass_core::notification::Notification;
use windlass_core::time::Now;
use windlass_core::{JobId, JobState, QueueName, Result, Setting, Settings};

use crate::error::{TxError, TxResult};
use crate::sql::Sql;
use crate::stats::Counters;

/// An open transaction.
#[derive(Debug)]
pub(crate) struct Tx<'a> {
    pub(crate) db: &'a Connection,
    queues: Vec<QueueRow>,
    notifications: Vec<Notification>,
    /// Free pages were given back: the file becomes shorter with the next checkpoint.
    pub(crate) is_shortened: bool,
}

/// A row of the table `queue`.
#[derive(Debug)]
pub(crate) struct QueueRow {
    pub(crate) key: i64,
    pub(crate) name: QueueName,
    pub(crate) settings: Settings,
    /// The settings as stored.
    settings_text: String,
    pub(crate) is_paused: bool,
    pub(crate) mark_us: u64,
    pub(crate) last_token: u64,
    pub(crate) front: i64,
    pub(crate) back: i64,
    pub(crate) counters: Counters,
    is_dirty: bool,
}

/// What a verb does about a queue that does not exist yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Missing {
    Create,
    /// Uses an empty queue and stores nothing.
    TreatAsEmpty,
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
    pub(crate) departed: Vec<(windlass_core::Token, u64)>,
    notifications: &'a mut Vec<Notification>,
    is_changed: bool,
    has_announced_work: bool,
}

impl<'a> Tx<'a> {
    pub(crate) fn new(db: &'a Connection) -> Self {
        Self {
            db,
            queues: Vec::new(),
            notifications: Vec::new(),
            is_shortened: false,
        }
    }

    /// Runs one verb on one queue, with one clock reading.
    pub(crate) fn on_queue<T>(
        &mut self,
        name: &QueueName,
        missing: Missing,
        clock_us: u64,
        verb: impl FnOnce(&mut QueueTx<'_>) -> TxResult<T>,
    ) -> TxResult<T> {
        let index = self.load(name, missing)?;
        let queue = &mut self.queues[index];
        let now = Now::guard(queue.mark_us, clock_us);
        let mut tx = QueueTx {
            db: self.db,
            queue,
            now,
            kept: 0,
            departed: Vec::new(),
            notifications: &mut self.notifications,
            is_changed: false,
            has_announced_work: false,
        };
        if now.stepped_back {
            tx.shorten_leases()?;
        }
        let reply = verb(&mut tx)?;
        tx.update_claims()?;
        if tx.is_changed {
            tx.queue.mark_us = now.us;
            tx.queue.is_dirty = true;
        }
        Ok(reply)
    }

    /// Creates the queue unless it exists.
    pub(crate) fn create_queue(&mut self, name: &QueueName) -> TxResult<()> {
        self.load(name, Missing::Create).map(drop)
    }

    fn load(&mut self, name: &QueueName, missing: Missing) -> TxResult<usize> {
        let found = self.queues.iter().position(|queue| queue.name == *name);
        let is_stored = |index: usize| self.queues[index].key != NOT_STORED;
        if let Some(index) = found
            && (is_stored(index) || missing == Missing::TreatAsEmpty)
        {
            return Ok(index);
        }
        let queue = match QueueRow::find(self.db, name)? {
            Some(queue) => queue,
            None if missing == Missing::Create => QueueRow::create(self.db, name)?,
            None => QueueRow::empty(name.clone(), NOT_STORED),
        };
        match found {
            Some(index) => self.queues[index] = queue,
            None => self.queues.push(queue),
        }
        Ok(found.unwrap_or(self.queues.len() - 1))
    }

    /// Writes the queue rows back. Returns the notifications to send after the commit.
    pub(crate) fn finish(self) -> TxResult<Vec<Notification>> {
        for queue in self
            .queues
            .iter()
            .filter(|queue| queue.is_dirty && queue.key != NOT_STORED)
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
            settings_text: String::new(),
            is_paused: false,
            mark_us: 0,
            last_token: 0,
            front: 0,
            back: 0,
            counters: Counters::default(),
            is_dirty: false,
        }
    }

    pub(crate) fn find(db: &Connection, name: &QueueName) -> TxResult<Option<Self>> {
        let stored = db.first(
            "SELECT key, settings, is_paused, mark_us, last_token, front, back, stats
             FROM queue WHERE name = ?1",
            [name.as_str()],
            |row| {
                let mut queue = Self::empty(name.clone(), row.get(0)?);
                queue.settings_text = row.get(1)?;
                queue.is_paused = row.get(2)?;
                queue.mark_us = row.get(3)?;
                queue.last_token = row.get(4)?;
                queue.front = row.get(5)?;
                queue.back = row.get(6)?;
                queue.counters = Counters::read(&row.get::<_, String>(7)?)?;
                Ok(queue)
            },
        )?;
        let Some(mut queue) = stored else {
            return Ok(None);
        };
        for line in queue.settings_text.lines() {
            let corrupt = |_| TxError::corrupt("setting", line);
            queue
                .settings
                .apply(&line.parse().map_err(corrupt)?)
                .map_err(corrupt)?;
        }
        let ends = [queue.front, queue.back];
        if ends.iter().any(|end| end.unsigned_abs() > POSITION_MAX) {
            return Err(TxError::corrupt("lane positions", ends));
        }
        Ok(Some(queue))
    }

    /// Changes settings; only those that differ from the defaults are stored.
    pub(crate) fn apply(&mut self, settings: &[Setting]) -> Result<()> {
        for setting in settings {
            self.settings.apply(setting)?;
        }
        let defaults = Settings::default().all();
        let own = self.settings.all();
        let differing = own.iter().filter(|setting| !defaults.contains(setting));
        let line = |setting: &Setting| format!("{}={}\n", setting.name(), setting.value());
        self.settings_text = differing.map(line).collect();
        Ok(())
    }

    fn create(db: &Connection, name: &QueueName) -> TxResult<Self> {
        let queue = Self::empty(name.clone(), 0);
        db.execute(
            "INSERT INTO queue (name, settings, is_paused, mark_us, last_token, front, back, stats)
             VALUES (?1, '', 0, 0, 0, 0, 0, ?2)",
            params![name.as_str(), queue.counters.write()],
        )?;
        Ok(Self {
            key: db.last_insert_rowid(),
            ..queue
        })
    }

    fn save(&self, db: &Connection) -> TxResult<()> {
        db.run(
            "UPDATE queue SET settings = ?2, is_paused = ?3, mark_us = ?4, last_token = ?5,
                              front = ?6, back = ?7, stats = ?8
             WHERE key = ?1",
            params![
                self.key,
                self.settings_text,
                self.is_paused,
                self.mark_us,
                self.last_token,
                self.front,
                self.back,
                self.counters.write(),
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
