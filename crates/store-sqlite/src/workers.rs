//! The worker registry: which workers are alive, what they run, and commands for them.

use rusqlite::{Connection, Row, params};
use windlass_core::limits::{WORKER_FORGET_AFTER, WORKER_SILENCE_MAX};
use windlass_core::store::{Heartbeat, NewWorker, WorkerCommand, WorkerRecord};
use windlass_core::time::{Now, as_ms};
use windlass_core::{BootId, JobId, QueueName, Timestamp};

use crate::error::{TxError, TxResult};
use crate::reap::ReclaimReason;
use crate::row::queue_name;
use crate::sql::Sql;
use crate::transaction::Tx;

/// The time of one registry operation.
fn now(db: &Connection, clock_us: u64) -> TxResult<Now> {
    let mark: Option<u64> = db.value("SELECT mark_us FROM registry", [])?;
    let missing = || TxError::Sqlite(rusqlite::Error::QueryReturnedNoRows);
    Ok(Now::guard(mark.ok_or_else(missing)?, clock_us))
}

impl Tx<'_> {
    /// Reads the clock for one registry operation and drops workers that have been silent for very
    /// long. If the clock was set far back, `last_seen` times in the future are lowered to now.
    pub(crate) fn begin_registry(&mut self) -> TxResult<u64> {
        let now = now(self.db, self.clock_us)?;
        self.db.run("UPDATE registry SET mark_us = ?1", [now.us])?;
        let now_ms = now.ms().as_ms();
        if now.stepped_back {
            let sql = "UPDATE worker SET last_seen = min(last_seen, ?1)";
            self.db.run(sql, [now_ms])?;
        }
        if let Some(forgotten) = now_ms.checked_sub(as_ms(WORKER_FORGET_AFTER)) {
            let sql = "DELETE FROM worker WHERE last_seen <= ?1";
            self.db.run(sql, [forgotten])?;
        }
        Ok(now_ms)
    }

    pub(crate) fn register(&mut self, new: &NewWorker) -> TxResult<()> {
        let now_ms = self.begin_registry()?;
        for queue in &new.queues {
            self.create_queue(queue)?;
        }
        self.db.run(
            "INSERT OR REPLACE INTO worker
                 (boot, name, host, pid, version, queues, running, command, started_at, last_seen)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, '', 'continue', ?7, ?7)",
            params![
                new.boot.as_str(),
                new.name,
                new.host,
                new.pid,
                new.version,
                write_queues(&new.queues),
                now_ms,
            ],
        )?;
        Ok(())
    }

    pub(crate) fn heartbeat(&mut self, heartbeat: &Heartbeat) -> TxResult<WorkerCommand> {
        let now_ms = self.begin_registry()?;
        let running = heartbeat.running.iter();
        let running: String = running
            .map(|(queue, id)| format!("{queue}\t{id}\n"))
            .collect();
        let silence_ms = as_ms(WORKER_SILENCE_MAX);
        let command: Option<String> = self.db.value(
            "UPDATE worker SET last_seen = ?2, running = ?3
             WHERE boot = ?1 AND last_seen + ?4 > ?2 RETURNING command",
            params![heartbeat.boot.as_str(), now_ms, running, silence_ms],
        )?;
        command.map_or(Ok(WorkerCommand::Reregister), |text| read_command(&text))
    }

    pub(crate) fn command(&mut self, boot: &BootId, command: WorkerCommand) -> TxResult<bool> {
        self.begin_registry()?;
        let sql = "UPDATE worker SET command = ?2 WHERE boot = ?1";
        let known = self.db.run(sql, params![boot.as_str(), command.as_str()])?;
        Ok(known > 0)
    }

    pub(crate) fn leave(&mut self, boot: &BootId, queue: Option<&QueueName>) -> TxResult<u64> {
        let queues = self.unregister(boot, queue)?;
        let queues = match queue {
            Some(queue) => vec![queue.clone()],
            None => queues.unwrap_or_default(),
        };
        self.reclaim(boot, &queues, ReclaimReason::GivenUp)
    }

    pub(crate) fn fail_worker(&mut self, boot: &BootId) -> TxResult<Option<u64>> {
        self.unregister(boot, None)?
            .map(|queues| self.reclaim(boot, &queues, ReclaimReason::Expired))
            .transpose()
    }

    /// Removes a worker from one queue, or unregisters it with `None`. Returns the queues it had,
    /// or `None` if the worker is unknown.
    fn unregister(
        &mut self,
        boot: &BootId,
        queue: Option<&QueueName>,
    ) -> TxResult<Option<Vec<QueueName>>> {
        self.begin_registry()?;
        let sql = "SELECT queues FROM worker WHERE boot = ?1";
        let queues: Option<String> = self.db.value(sql, [boot.as_str()])?;
        let Some(queues) = queues.as_deref().map(read_queues).transpose()? else {
            return Ok(None);
        };
        if let Some(queue) = queue {
            let rest = queues.iter().filter(|name| *name != queue);
            let sql = "UPDATE worker SET queues = ?2 WHERE boot = ?1";
            self.db
                .run(sql, params![boot.as_str(), write_queues(rest)])?;
        } else {
            let sql = "DELETE FROM worker WHERE boot = ?1";
            self.db.run(sql, [boot.as_str()])?;
        }
        Ok(Some(queues))
    }

    /// Reclaims the jobs that a worker holds in some queues.
    fn reclaim(
        &mut self,
        boot: &BootId,
        queues: &[QueueName],
        reason: ReclaimReason,
    ) -> TxResult<u64> {
        let reclaim = |queue| self.on_queue(queue, |tx| tx.reclaim_all(boot, reason));
        queues.iter().map(reclaim).sum()
    }
}

pub(crate) fn list(db: &Connection, clock_us: u64) -> TxResult<Vec<WorkerRecord>> {
    let now = now(db, clock_us)?.ms();
    let mut workers = db.rows(
        "SELECT boot, name, host, pid, version, queues, running, command, started_at, last_seen
         FROM worker ORDER BY boot",
        [],
        |row| read(row, now),
    )?;
    workers.retain(|worker| now.since(worker.last_seen) < WORKER_FORGET_AFTER);
    Ok(workers)
}

fn read(row: &Row<'_>, now: Timestamp) -> TxResult<WorkerRecord> {
    let text = |index: usize| -> TxResult<String> { Ok(row.get(index)?) };
    let boot = text(0)?;
    let running = read_running(&text(6)?)?;
    let last_seen = Timestamp::from_ms(row.get(9)?);
    Ok(WorkerRecord {
        new: NewWorker {
            boot: BootId::new(&boot).map_err(|_| TxError::corrupt("worker id", boot))?,
            name: text(1)?,
            host: text(2)?,
            pid: row.get(3)?,
            version: text(4)?,
            queues: read_queues(&text(5)?)?,
        },
        running,
        command: read_command(&text(7)?)?,
        started_at: Timestamp::from_ms(row.get(8)?),
        last_seen,
        silent_for: now.since(last_seen),
    })
}

fn write_queues<'a>(queues: impl IntoIterator<Item = &'a QueueName>) -> String {
    queues
        .into_iter()
        .map(|queue| format!("{queue}\n"))
        .collect()
}

fn read_queues(text: &str) -> TxResult<Vec<QueueName>> {
    text.lines().map(queue_name).collect()
}

fn read_running(text: &str) -> TxResult<Vec<(QueueName, JobId)>> {
    let line = |line: &str| {
        let corrupt = || TxError::corrupt("running job", line);
        let (queue, id) = line.split_once('\t').ok_or_else(corrupt)?;
        Ok((queue_name(queue)?, JobId::new(id).map_err(|_| corrupt())?))
    };
    text.lines().map(line).collect()
}

fn read_command(text: &str) -> TxResult<WorkerCommand> {
    WorkerCommand::from_text(text).ok_or_else(|| TxError::corrupt("worker command", text))
}
