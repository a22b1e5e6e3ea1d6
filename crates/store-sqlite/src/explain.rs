//! explain: what keeps a job from starting, by the indexes. Read-only; the rules are in the core crate.

use rusqlite::{Connection, params};
use windlass_core::explain::{
    Explanation, GroupFacts, HOLDERS_MAX, JobsAhead, LastWorker, SlotHolder, WaitFacts,
};
use windlass_core::store::{GroupName, GroupSlot, Settings};
use windlass_core::time::Now;
use windlass_core::{BootId, Job, JobId, JobState, QueueName, Timestamp};

use crate::error::{TxError, TxResult};
use crate::group::{self, GroupRow};
use crate::lane::{self, HOLDER};
use crate::read;
use crate::row::{self, Blobs, JobMeta};
use crate::sql::Sql;
use crate::transaction::QueueRow;
use crate::workers;

/// An index has no ranks, so the jobs ahead are counted one by one up to this number, and estimated beyond.
const COUNTED_MAX: u64 = 1000;

pub(crate) fn explain(
    db: &Connection,
    name: &QueueName,
    id: &JobId,
    clock_us: u64,
) -> TxResult<Option<Explanation>> {
    let found = read::find(db, name, id, Blobs::Skip)?;
    let (Some((meta, job)), Some(queue)) = (found, QueueRow::find(db, name)?) else {
        return Ok(None);
    };
    let now = Now::guard(queue.mark_us, clock_us);
    let is_waiting = job.state.is_waiting();
    let group = job.group.as_ref().filter(|_| is_waiting);
    let group = group.map(|group| group_facts(db, &queue, group, &meta));
    let (group, in_group) = group.transpose()?.unzip();
    let workers = if is_waiting {
        workers::list(db, clock_us)?
    } else {
        Vec::new()
    };
    let facts = WaitFacts {
        now,
        is_paused: queue.is_paused,
        resting_until: Timestamp::from_ms(queue.counters.resting_until),
        rate_next_us: queue.rate_next_us,
        running: queue.counters.running,
        finished: queue.counters.ended.last_minute(now.ms()),
        waits_for: waits_for(db, &queue, &job)?,
        ahead: if job.state == JobState::Ready {
            ahead_of(db, &queue, &meta, in_group)?
        } else {
            JobsAhead::default()
        },
        group,
        last_worker: LastWorker::of_queue(&workers, name),
        settings: queue.settings,
        job,
    };
    Ok(Some(facts.explain()))
}

/// The current job of the schedule of a pending job.
fn waits_for(db: &Connection, queue: &QueueRow, job: &Job) -> TxResult<Option<(JobId, JobState)>> {
    let name = job.schedule.as_ref();
    let Some(name) = name.filter(|_| job.state == JobState::Pending) else {
        return Ok(None);
    };
    let sql =
        "SELECT job.id, job.state FROM schedule JOIN job ON job.queue = ?1 AND job.id = current
         WHERE schedule.queue = ?1 AND schedule.name = ?2";
    db.first(sql, params![queue.key, name.as_str()], |row| {
        Ok((row::read_id(row, 0)?, row::state_of(row.get(1)?)?))
    })
}

/// Counts the ready jobs that come before a ready job. `ready` is the number of ready jobs of its group.
fn ahead_of(
    db: &Connection,
    queue: &QueueRow,
    meta: &JobMeta,
    ready: Option<u64>,
) -> TxResult<JobsAhead> {
    let counters = &queue.counters;
    let before = meta.priority.index();
    let is_lane = ready.is_some() && queue.settings.group_slot.is_lane();
    let [first_lane, _] = lane::lanes(meta.priority);
    let first_lane = if is_lane { i64::MIN } else { first_lane };
    let all = ready.unwrap_or(counters.ready[before]);
    let (in_line, is_estimate) = count(db, queue, meta, first_lane, all)?;
    let in_group = match ready {
        None => 0,
        Some(_) if is_lane => in_line,
        Some(all) => count(db, queue, meta, i64::MIN, all)?.0,
    };
    Ok(JobsAhead {
        more_urgent: counters.ready[..before].iter().sum(),
        in_line,
        in_group,
        is_estimate,
    })
}

/// The jobs of a line from a lane on that come before a job, of `all` in the line, and whether that is an estimate.
fn count(
    db: &Connection,
    queue: &QueueRow,
    meta: &JobMeta,
    first_lane: i64,
    all: u64,
) -> TxResult<(u64, bool)> {
    let group = meta.group.as_ref().map(|group| group.as_str());
    let line = match group {
        None => "group_name IS NULL",
        Some(_) => "group_name = ?2",
    };
    let line = format!("queue = ?1 AND state = 1 AND {line}");
    let position = "SELECT position FROM job WHERE key = ?1";
    let position: i64 = db.value(position, [meta.key])?.unwrap_or_default();
    let sql = format!(
        "SELECT count(*) FROM (SELECT 1 FROM job WHERE {line} AND lane >= ?3 AND (lane, position) < (?4, ?5)
             ORDER BY lane, position LIMIT ?6)"
    );
    let end = params![
        queue.key,
        group,
        first_lane,
        meta.lane,
        position,
        COUNTED_MAX + 1
    ];
    let counted: u64 = db.value(&sql, end)?.unwrap_or_default();
    if counted <= COUNTED_MAX {
        return Ok((counted, false));
    }
    // Positions grow with each job that enters any line.
    let end = |order: &str| {
        let sql = format!(
            "SELECT position FROM job WHERE {line} AND lane = ?3 ORDER BY position {order} LIMIT 1"
        );
        db.value::<i64>(&sql, params![queue.key, group, meta.lane])
    };
    let (first, last) = (
        end("ASC")?.unwrap_or(position),
        end("DESC")?.unwrap_or(position),
    );
    let share = |from: i64| u128::from(from.abs_diff(first));
    let estimate = share(position) * u128::from(all) / share(last).max(1);
    let estimate = u64::try_from(estimate).unwrap_or(u64::MAX);
    Ok((estimate.min(all).max(counted), true))
}

/// The group of a waiting job, and the number of its ready jobs.
fn group_facts(
    db: &Connection,
    queue: &QueueRow,
    name: &GroupName,
    meta: &JobMeta,
) -> TxResult<(GroupFacts, u64)> {
    let row = GroupRow::find(db, queue.key, name)?;
    let row = row.unwrap_or_else(|| GroupRow::new(name.clone()));
    let is_ready = meta.state == JobState::Ready;
    let first = "SELECT id FROM job WHERE queue = ?1 AND state = 1 AND group_name = ?2
                 ORDER BY lane, position LIMIT 1";
    let first = if is_ready {
        let read = |row: &rusqlite::Row<'_>| row::read_id(row, 0);
        db.first(first, params![queue.key, name.as_str()], read)?
    } else {
        None
    };
    let facts = GroupFacts {
        limits: row.limits,
        is_paused: row.is_paused,
        resting_until: row.resting_until,
        rate_next_us: row.rate_next_us,
        slots: row.slots,
        holds_slot: group::holds_slot(&queue.settings, meta),
        holders: if is_ready {
            holders(db, queue, name)?
        } else {
            Vec::new()
        },
        first,
        name: row.name,
    };
    Ok((facts, row.ready))
}

/// The first jobs by id that hold a slot.
fn holders(db: &Connection, queue: &QueueRow, name: &GroupName) -> TxResult<Vec<SlotHolder>> {
    let mut found = Vec::new();
    for condition in holder_conditions(&queue.settings) {
        let sql = format!(
            "SELECT id, state, worker, started_at FROM job INDEXED BY job_holder
             WHERE queue = ?1 AND group_name = ?2 AND {condition} ORDER BY id LIMIT ?3"
        );
        let params = params![queue.key, name.as_str(), HOLDERS_MAX];
        found.extend(db.rows(&sql, params, read_holder)?);
    }
    found.sort_by(|one, other| one.id.cmp(&other.id));
    found.truncate(HOLDERS_MAX);
    Ok(found)
}

/// The states in which jobs hold a slot, each as a term that the index knows.
fn holder_conditions(settings: &Settings) -> Vec<String> {
    let kept = |state: i64| format!("state = {state} AND lane = {HOLDER}");
    let running = "state = 2".to_owned();
    match settings.group_slot {
        GroupSlot::Run => vec![running],
        GroupSlot::Job => vec![kept(0), kept(1), running],
        GroupSlot::Success => vec![kept(0), kept(1), running, kept(4)],
    }
}

fn read_holder(row: &rusqlite::Row<'_>) -> TxResult<SlotHolder> {
    let state = row::state_of(row.get(1)?)?;
    let is_running = state == JobState::Running;
    let worker = row::text(row, 2)?.map(BootId::new).transpose();
    let since: Option<u64> = row.get(3)?;
    Ok(SlotHolder {
        id: row::read_id(row, 0)?,
        state,
        worker: worker.map_err(|_| TxError::corrupt("worker", "of a running job"))?,
        since: since.filter(|_| is_running).map(Timestamp::from_ms),
    })
}
