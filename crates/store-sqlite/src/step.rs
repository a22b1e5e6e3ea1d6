//! One verb's view of one queue inside a transaction.
//!
//! A queue's own row is read once per transaction and written once at its end, however many calls
//! of a group touch it.

use rusqlite::{Connection, OptionalExtension, params};
use windlass_core::notification::Notification;
use windlass_core::time::Now;
use windlass_core::{JobId, JobState, QueueName, Result, Setting, Settings};

use crate::fault::{Db, Fault};
use crate::figures::Figures;

/// A transaction under way.
#[derive(Debug)]
pub(crate) struct Tx<'a> {
    pub(crate) db: &'a Connection,
    queues: Vec<QueueRow>,
    hints: Vec<Notification>,
}

/// A queue's own row.
#[derive(Debug)]
pub(crate) struct QueueRow {
    pub(crate) key: i64,
    pub(crate) name: QueueName,
    pub(crate) settings: Settings,
    /// The settings as they are stored.
    settings_text: String,
    pub(crate) is_paused: bool,
    pub(crate) mark_us: u64,
    pub(crate) last_token: u64,
    pub(crate) front: i64,
    pub(crate) back: i64,
    pub(crate) figures: Figures,
    is_dirty: bool,
}

/// Whether a verb makes a queue that does not exist yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Missing {
    Create,
    /// It sees an empty queue and leaves nothing behind.
    Pretend,
}

/// More positions than can ever be given out; stored ones beyond would overflow.
const POSITION_MAX: u64 = u64::MAX / 4;

/// The key of a queue that is not stored: no row belongs to it.
const PRETENDED: i64 = -1;

/// One verb at work on one queue.
#[derive(Debug)]
pub(crate) struct Step<'a> {
    pub(crate) db: &'a Connection,
    pub(crate) queue: &'a mut QueueRow,
    pub(crate) now: Now,
    /// Ended in this step and kept or remembered: what the step must prune after itself.
    pub(crate) kept: usize,
    /// Claims that jobs left in this step, and how many did.
    pub(crate) left: Vec<(windlass_core::Token, u64)>,
    hints: &'a mut Vec<Notification>,
    is_changed: bool,
    has_announced_work: bool,
}

impl<'a> Tx<'a> {
    pub(crate) fn new(db: &'a Connection) -> Self {
        Self {
            db,
            queues: Vec::new(),
            hints: Vec::new(),
        }
    }

    /// Runs one verb on one queue, with one reading of the clock.
    pub(crate) fn step<T>(
        &mut self,
        name: &QueueName,
        missing: Missing,
        clock_us: u64,
        verb: impl FnOnce(&mut Step<'_>) -> Db<T>,
    ) -> Db<T> {
        let index = self.load(name, missing)?;
        let queue = &mut self.queues[index];
        let now = Now::guard(queue.mark_us, clock_us);
        let mut step = Step {
            db: self.db,
            queue,
            now,
            kept: 0,
            left: Vec::new(),
            hints: &mut self.hints,
            is_changed: false,
            has_announced_work: false,
        };
        if now.stepped_back {
            step.cut_leases()?;
        }
        let reply = verb(&mut step)?;
        step.settle_claims()?;
        if step.is_changed {
            step.queue.mark_us = now.us;
            step.queue.is_dirty = true;
        }
        Ok(reply)
    }

    /// Makes a queue that does not exist yet; an existing one is left as it is.
    pub(crate) fn make_queue(&mut self, name: &QueueName) -> Db<()> {
        self.load(name, Missing::Create).map(drop)
    }

    fn load(&mut self, name: &QueueName, missing: Missing) -> Db<usize> {
        let found = self.queues.iter().position(|queue| queue.name == *name);
        let is_stored = |index: usize| self.queues[index].key != PRETENDED;
        if let Some(index) = found
            && (is_stored(index) || missing == Missing::Pretend)
        {
            return Ok(index);
        }
        let queue = match QueueRow::find(self.db, name)? {
            Some(queue) => queue,
            None if missing == Missing::Create => QueueRow::create(self.db, name)?,
            None => QueueRow::empty(name.clone(), PRETENDED),
        };
        match found {
            Some(index) => self.queues[index] = queue,
            None => self.queues.push(queue),
        }
        Ok(found.unwrap_or(self.queues.len() - 1))
    }

    /// Writes the queues' rows back; answers whom to tell what.
    pub(crate) fn finish(self) -> Db<Vec<Notification>> {
        for queue in self
            .queues
            .iter()
            .filter(|queue| queue.is_dirty && queue.key != PRETENDED)
        {
            queue.save(self.db)?;
        }
        Ok(self.hints)
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
            figures: Figures::default(),
            is_dirty: false,
        }
    }

    pub(crate) fn find(db: &Connection, name: &QueueName) -> Db<Option<Self>> {
        let mut statement = db.prepare_cached(
            "SELECT key, settings, is_paused, mark_us, last_token, front, back, figures
             FROM queue WHERE name = ?1",
        )?;
        let stored = statement
            .query_row([name.as_str()], |row| {
                let mut queue = Self::empty(name.clone(), row.get(0)?);
                queue.is_paused = row.get(2)?;
                queue.mark_us = row.get(3)?;
                queue.last_token = row.get(4)?;
                queue.front = row.get(5)?;
                queue.back = row.get(6)?;
                Ok((queue, row.get::<_, String>(1)?, row.get::<_, String>(7)?))
            })
            .optional()?;
        let Some((mut queue, settings, figures)) = stored else {
            return Ok(None);
        };
        for line in settings.lines() {
            let unreadable = |_| Fault::unreadable("setting", line);
            queue
                .settings
                .apply(&line.parse().map_err(unreadable)?)
                .map_err(unreadable)?;
        }
        queue.settings_text = settings;
        queue.figures = Figures::read(&figures)?;
        let ends = [queue.front, queue.back];
        if ends.iter().any(|end| end.unsigned_abs() > POSITION_MAX) {
            return Err(Fault::unreadable("ends of the lanes", ends));
        }
        Ok(Some(queue))
    }

    /// Changes settings; only what differs from the defaults is stored.
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

    fn create(db: &Connection, name: &QueueName) -> Db<Self> {
        let queue = Self::empty(name.clone(), 0);
        db.execute(
            "INSERT INTO queue (name, settings, is_paused, mark_us, last_token, front, back, figures)
             VALUES (?1, '', 0, 0, 0, 0, 0, ?2)",
            params![name.as_str(), queue.figures.write()],
        )?;
        Ok(Self {
            key: db.last_insert_rowid(),
            ..queue
        })
    }

    fn save(&self, db: &Connection) -> Db<()> {
        let mut statement = db.prepare_cached(
            "UPDATE queue SET settings = ?2, is_paused = ?3, mark_us = ?4, last_token = ?5,
                              front = ?6, back = ?7, figures = ?8
             WHERE key = ?1",
        )?;
        statement.execute(params![
            self.key,
            self.settings_text,
            self.is_paused,
            self.mark_us,
            self.last_token,
            self.front,
            self.back,
            self.figures.write(),
        ])?;
        Ok(())
    }
}

impl Step<'_> {
    /// Notes that this step changes the state.
    pub(crate) fn changed(&mut self) {
        self.is_changed = true;
    }

    /// A clock that was set far back is believed: no lease may now last longer than its length.
    fn cut_leases(&mut self) -> Db<()> {
        self.db.execute(
            "UPDATE lease SET until = min(until, ?2 + length_ms) WHERE queue = ?1",
            params![self.queue.key, self.now_ms()],
        )?;
        self.changed();
        Ok(())
    }

    /// The step's time in milliseconds, as SQLite takes it.
    pub(crate) fn now_ms(&self) -> u64 {
        self.now.ms().as_ms()
    }

    /// Tells listeners that a job came into a state.
    pub(crate) fn announce(&mut self, id: &JobId, state: JobState) {
        self.hints.push(Notification::Event(
            self.queue.name.clone(),
            id.clone(),
            state,
        ));
        if state == JobState::Ready {
            self.announce_work();
        }
    }

    /// Tells listeners that a claim may find something, now or sooner than it expected.
    pub(crate) fn announce_work(&mut self) {
        if !std::mem::replace(&mut self.has_announced_work, true) {
            self.hints.push(Notification::Work(self.queue.name.clone()));
        }
    }

    pub(crate) fn announce_cancel(&mut self, id: &JobId) {
        self.hints
            .push(Notification::Cancel(self.queue.name.clone(), id.clone()));
    }
}
