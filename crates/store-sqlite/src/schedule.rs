//! Schedules: put, refill, run, change and read them.
//!
//! A verb works on records in memory, by the rules of the core, and writes those that it changed at its end.

mod audit;
mod definition;
mod fire;
mod row;

use rusqlite::{Connection, Params, params};
use windlass_core::limits::{PAGE, SCHEDULES_MAX};
use windlass_core::store::{
    Cursor, DurabilityLevel, Overlap, Page, Ran, Refill, RefillRequest, Run, ScheduleChange,
    SchedulePut, ScheduleRecord,
};
use windlass_core::{
    Enqueued, Error, ErrorKind, JobId, QueueName, Result, Schedule, ScheduleName, Timestamp,
};

use self::definition::is_same;
pub(crate) use self::row::select;
use crate::error::{TxError, TxResult};
use crate::sql::Sql;
use crate::transaction::{QueueRow, QueueTx};

/// A schedule that a verb has read.
#[derive(Debug)]
pub(crate) struct LoadedSchedule {
    record: ScheduleRecord,
    is_changed: bool,
}

impl QueueTx<'_> {
    pub(crate) fn put_schedule(
        &mut self,
        schedule: &Schedule,
        is_paused: Option<bool>,
    ) -> TxResult<SchedulePut> {
        let (now, name) = (self.now.ms(), &schedule.name);
        let found = self.schedule(name)?;
        let is_defined = found.is_some_and(|record| is_same(&record.schedule, schedule));
        let pauses = |record: &ScheduleRecord| is_paused.is_some_and(|to| to != record.is_paused);
        let changed = found.map(|record| !is_defined || pauses(record));
        if changed.is_none() {
            refuse_too_many(self.queue.counters.schedules)?;
            self.queue.counters.schedules += 1;
            let record = ScheduleRecord::new(schedule.clone(), now);
            self.keep_loaded(record);
        }
        if !is_defined {
            row::define(self.db, self.queue.key, schedule)?;
            // Tokens and revisions share a counter: neither repeats in a queue.
            let revision = self.now.us.max(self.queue.last_token + 1);
            self.queue.last_token = revision;
            let record = self.schedule_mut(name)?;
            record.define(schedule.clone(), revision, now);
        }
        if changed != Some(false) {
            let record = self.schedule_mut(name)?;
            record.is_paused = is_paused.unwrap_or(record.is_paused);
        }
        let record = self.schedule(name)?;
        let refill = record.and_then(|record| record.refill_request(now));
        Ok(SchedulePut { changed, refill })
    }

    pub(crate) fn refill_schedules(&mut self, refills: &[Refill]) -> TxResult<()> {
        for refill in refills {
            if let Some(loaded) = self.load(&refill.name)? {
                loaded.is_changed |= loaded.record.refill(refill.clone());
            }
        }
        let before = self.queue.fires_at;
        self.save_schedules()?;
        let is_earlier = |at| before.is_none_or(|before| at < before);
        if self.queue.fires_at.is_some_and(is_earlier) {
            self.announce_work();
        }
        Ok(())
    }

    /// Asks for the instants of up to `limit` schedules, those that know least first.
    pub(crate) fn refill_requests(&mut self, limit: usize) -> TxResult<Vec<RefillRequest>> {
        self.save_schedules()?;
        let now = self.now.ms();
        let condition = "queue = ?1 AND refill_at <= ?2 ORDER BY refill_at, name LIMIT ?3";
        let records = select(
            self.db,
            condition,
            params![self.queue.key, now.as_ms(), limit],
        )?;
        let requests = records.iter().map(|record| record.refill_request(now));
        Ok(requests.flatten().collect())
    }

    pub(crate) fn run_schedule(
        &mut self,
        name: &ScheduleName,
        run: &Run,
        level: DurabilityLevel,
    ) -> TxResult<Option<Vec<Ran>>> {
        let Some(record) = self.schedule(name)? else {
            return Ok(None);
        };
        let overlap = record.schedule.overlap;
        let now_ms = self.now_ms();
        let ran = match run {
            Run::Now { nonce, is_forced } => {
                let second = Timestamp::from_ms(now_ms - now_ms % 1000);
                let overlap = (!is_forced).then_some(overlap);
                vec![self.run_one(name, second, JobId::of_run(name, nonce), overlap, level)?]
            }
            Run::Instants(instants) => {
                let ran = instants.iter().map(|at| {
                    let id = JobId::at_instant(name, *at);
                    self.run_one(name, *at, id, None, level)
                });
                ran.collect::<TxResult<_>>()?
            }
        };
        Ok(Some(ran))
    }

    fn run_one(
        &mut self,
        name: &ScheduleName,
        instant: Timestamp,
        id: JobId,
        overlap: Option<Overlap>,
        level: DurabilityLevel,
    ) -> TxResult<Ran> {
        let new = self.job_at(name, instant, id)?;
        if let Some(existing) = self.existing(&new)? {
            return Ok(Ran::Enqueued(existing.reply(level)));
        }
        let firing = self.enqueue_scheduled(name, &new, overlap)?;
        let at = self.now.ms();
        let record = self.schedule_mut(name)?;
        let id = firing.map(|_| new.id.clone());
        record.remember(instant, at, id);
        let current = record.current.clone();
        Ok(match (firing, current) {
            (Err(_), Some(current)) => Ran::Overlap(current),
            (Err(_), None) => return Err(TxError::corrupt("schedule", name)),
            (Ok(state), _) => Ran::Enqueued(Enqueued::Accepted {
                id: new.id,
                state,
                level,
            }),
        })
    }

    pub(crate) fn change_schedule(
        &mut self,
        name: &ScheduleName,
        change: ScheduleChange,
    ) -> TxResult<bool> {
        let Some(record) = self.schedule(name)? else {
            return Ok(false);
        };
        let waiting = record.waiting.clone();
        match change {
            ScheduleChange::Pause | ScheduleChange::Resume => {
                self.schedule_mut(name)?.is_paused = change == ScheduleChange::Pause;
            }
            ScheduleChange::Delete => {
                self.schedules.remove(name);
                let sql = "DELETE FROM schedule WHERE queue = ?1 AND name = ?2";
                self.db.run(sql, params![self.queue.key, name.as_str()])?;
                let counters = &mut self.queue.counters;
                counters.schedules = counters.schedules.saturating_sub(1);
                self.queue.fires_at = self.next_firing()?;
                self.changed();
                if let Some(id) = waiting {
                    self.release_pending(&id)?;
                }
            }
        }
        Ok(true)
    }

    /// Reads a schedule, unless this verb has read it already.
    fn load(&mut self, name: &ScheduleName) -> TxResult<Option<&mut LoadedSchedule>> {
        if !self.schedules.contains_key(name) {
            let condition = "queue = ?1 AND name = ?2";
            let key = self.queue.key;
            self.load_all(condition, params![key, name.as_str()])?;
        }
        Ok(self.schedules.get_mut(name))
    }

    /// Reads the schedules that meet a condition on the table `schedule`. Returns their names, in its order.
    fn load_all(&mut self, condition: &str, params: impl Params) -> TxResult<Vec<ScheduleName>> {
        let records = select(self.db, condition, params)?;
        Ok(records
            .into_iter()
            .map(|record| self.keep_loaded(record))
            .collect())
    }

    /// Keeps a record until the end of the verb. One that may have changed is not replaced.
    fn keep_loaded(&mut self, record: ScheduleRecord) -> ScheduleName {
        let name = record.schedule.name.clone();
        self.schedules
            .entry(name.clone())
            .or_insert(LoadedSchedule {
                record,
                is_changed: false,
            });
        name
    }

    /// A schedule, to read.
    fn schedule(&mut self, name: &ScheduleName) -> TxResult<Option<&ScheduleRecord>> {
        Ok(self.load(name)?.map(|loaded| &loaded.record))
    }

    /// A schedule that was found in this transaction, to change.
    fn schedule_mut(&mut self, name: &ScheduleName) -> TxResult<&mut ScheduleRecord> {
        self.changed();
        let missing = || TxError::Damaged(format!("cannot read schedule {name}"));
        let loaded = self.load(name)?.ok_or_else(missing)?;
        loaded.is_changed = true;
        Ok(&mut loaded.record)
    }

    /// Writes the schedules that this verb has changed.
    pub(crate) fn save_schedules(&mut self) -> TxResult<()> {
        let loaded = std::mem::take(&mut self.schedules);
        let changed = loaded.values().filter(|loaded| loaded.is_changed);
        let mut is_any = false;
        for loaded in changed {
            row::save(self.db, self.queue.key, &loaded.record)?;
            is_any = true;
        }
        if is_any {
            self.changed();
            self.queue.fires_at = self.next_firing()?;
        }
        Ok(())
    }

    /// When the next instant of any schedule is due.
    fn next_firing(&self) -> TxResult<Option<u64>> {
        let sql = "SELECT fires_at FROM schedule WHERE queue = ?1 AND fires_at IS NOT NULL
                   ORDER BY fires_at LIMIT 1";
        self.db.value(sql, [self.queue.key])
    }
}

fn refuse_too_many(schedules: u64) -> Result<()> {
    if schedules < SCHEDULES_MAX as u64 {
        return Ok(());
    }
    Err(Error::new(
        ErrorKind::Conflict,
        format!("the queue has {SCHEDULES_MAX} schedules, which is the maximum"),
        "delete schedules, or use another queue",
    ))
}

/// Reads a schedule.
pub(crate) fn get(
    db: &Connection,
    queue: &QueueName,
    name: &ScheduleName,
) -> TxResult<Option<ScheduleRecord>> {
    let condition = "queue = (SELECT key FROM queue WHERE name = ?1) AND name = ?2";
    Ok(select(db, condition, [queue.as_str(), name.as_str()])?.pop())
}

/// Reads a page of schedules, by name.
pub(crate) fn list(
    db: &Connection,
    queue: &QueueName,
    from: Option<&Cursor>,
    limit: usize,
) -> TxResult<Page<ScheduleRecord>> {
    let from = from.map_or("", |Cursor(name)| name.as_str());
    let mut page = Page {
        items: Vec::new(),
        next: None,
    };
    let Some(queue) = QueueRow::find(db, queue)? else {
        return Ok(page);
    };
    let limit = limit.clamp(1, PAGE);
    let condition = "queue = ?1 AND name > ?2 ORDER BY name LIMIT ?3";
    page.items = select(db, condition, params![queue.key, from, limit + 1])?;
    if page.items.len() > limit {
        page.items.truncate(limit);
        let last = page.items.last();
        page.next = last.map(|record| Cursor(record.schedule.name.to_string()));
    }
    Ok(page)
}
