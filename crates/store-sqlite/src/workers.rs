//! The worker registry: which workers are alive, what they run, and commands for them.

use rusqlite::{Connection, OptionalExtension, Row, params};
use windlass_core::limits::{WORKER_FORGET_AFTER, WORKER_SILENCE_MAX};
use windlass_core::time::{Now, as_ms};
use windlass_core::{
    BootId, Heartbeat, JobId, NewWorker, QueueName, Timestamp, WorkerCommand, WorkerRecord,
};

use crate::error::{TxError, TxResult};
use crate::transaction::Tx;

impl Tx<'_> {
    /// Reads the clock for one registry operation and drops workers that have been silent for very
    /// long. If the clock was set far back, `last_seen` times in the future are lowered to now.
    fn begin_registry(&mut self, clock_us: u64) -> TxResult<u64> {
        let mark: u64 = self
            .db
            .query_row("SELECT mark_us FROM registry", [], |row| row.get(0))?;
        let now = Now::guard(mark, clock_us);
        self.db
            .prepare_cached("UPDATE registry SET mark_us = ?1")?
            .execute([now.us])?;
        let now_ms = now.ms().as_ms();
        if now.stepped_back {
            self.db
                .prepare_cached("UPDATE worker SET last_seen = min(last_seen, ?1)")?
                .execute([now_ms])?;
        }
        if let Some(forgotten) = now_ms.checked_sub(as_ms(WORKER_FORGET_AFTER)) {
            self.db
                .prepare_cached("DELETE FROM worker WHERE last_seen <= ?1")?
                .execute([forgotten])?;
        }
        Ok(now_ms)
    }

    pub(crate) fn register(&mut self, clock_us: u64, new: &NewWorker) -> TxResult<()> {
        let now_ms = self.begin_registry(clock_us)?;
        for queue in &new.queues {
            self.create_queue(queue)?;
        }
        self.db
            .prepare_cached(
                "INSERT OR REPLACE INTO worker
                     (boot, name, host, pid, version, queues, running, command, started_at, last_seen)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, '', 'continue', ?7, ?7)",
            )?
            .execute(params![
                new.boot.as_str(),
                new.name,
                new.host,
                new.pid,
                new.version,
                write_queues(&new.queues),
                now_ms,
            ])?;
        Ok(())
    }

    pub(crate) fn heartbeat(
        &mut self,
        clock_us: u64,
        heartbeat: &Heartbeat,
    ) -> TxResult<WorkerCommand> {
        let now_ms = self.begin_registry(clock_us)?;
        let running: String = heartbeat
            .running
            .iter()
            .map(|(queue, id)| format!("{queue}\t{id}\n"))
            .collect();
        let command: Option<String> = self
            .db
            .prepare_cached(
                "UPDATE worker SET last_seen = ?2, running = ?3
                 WHERE boot = ?1 AND last_seen + ?4 > ?2 RETURNING command",
            )?
            .query_row(
                params![
                    heartbeat.boot.as_str(),
                    now_ms,
                    running,
                    as_ms(WORKER_SILENCE_MAX)
                ],
                |row| row.get(0),
            )
            .optional()?;
        command.map_or(Ok(WorkerCommand::Reregister), |text| read_command(&text))
    }

    pub(crate) fn command(
        &mut self,
        clock_us: u64,
        boot: &BootId,
        command: WorkerCommand,
    ) -> TxResult<bool> {
        self.begin_registry(clock_us)?;
        let known = self
            .db
            .prepare_cached("UPDATE worker SET command = ?2 WHERE boot = ?1")?
            .execute(params![boot.as_str(), command.as_str()])?;
        Ok(known > 0)
    }

    /// Removes a worker from one queue, or unregisters it with `None`. Returns the queues it had,
    /// or `None` if the worker is unknown.
    pub(crate) fn leave(
        &mut self,
        clock_us: u64,
        boot: &BootId,
        queue: Option<&QueueName>,
    ) -> TxResult<Option<Vec<QueueName>>> {
        self.begin_registry(clock_us)?;
        let queues: Option<String> = self
            .db
            .prepare_cached("SELECT queues FROM worker WHERE boot = ?1")?
            .query_row([boot.as_str()], |row| row.get(0))
            .optional()?;
        let Some(queues) = queues.as_deref().map(read_queues).transpose()? else {
            return Ok(None);
        };
        let Some(queue) = queue else {
            self.db
                .prepare_cached("DELETE FROM worker WHERE boot = ?1")?
                .execute([boot.as_str()])?;
            return Ok(Some(queues));
        };
        let rest: Vec<_> = queues
            .iter()
            .filter(|name| *name != queue)
            .cloned()
            .collect();
        self.db
            .prepare_cached("UPDATE worker SET queues = ?2 WHERE boot = ?1")?
            .execute(params![boot.as_str(), write_queues(&rest)])?;
        Ok(Some(queues))
    }
}

pub(crate) fn list(db: &Connection, clock_us: u64) -> TxResult<Vec<WorkerRecord>> {
    let mark: u64 = db.query_row("SELECT mark_us FROM registry", [], |row| row.get(0))?;
    let now = Now::guard(mark, clock_us).ms();
    let mut statement = db.prepare_cached(
        "SELECT boot, name, host, pid, version, queues, running, command, started_at, last_seen
         FROM worker ORDER BY boot",
    )?;
    let mut rows = statement.query([])?;
    let mut workers = Vec::new();
    while let Some(row) = rows.next()? {
        let worker = read(row, now)?;
        if now.since(worker.last_seen) < WORKER_FORGET_AFTER {
            workers.push(worker);
        }
    }
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
        is_busy: !running.is_empty(),
        running,
        command: read_command(&text(7)?)?,
        started_at: Timestamp::from_ms(row.get(8)?),
        last_seen,
        is_silent: now.since(last_seen) >= WORKER_SILENCE_MAX,
    })
}

fn write_queues(queues: &[QueueName]) -> String {
    queues.iter().map(|queue| format!("{queue}\n")).collect()
}

fn read_queue(text: &str) -> TxResult<QueueName> {
    QueueName::new(text).map_err(|_| TxError::corrupt("queue name", text))
}

fn read_queues(text: &str) -> TxResult<Vec<QueueName>> {
    text.lines().map(read_queue).collect()
}

fn read_running(text: &str) -> TxResult<Vec<(QueueName, JobId)>> {
    let line = |line: &str| {
        let corrupt = || TxError::corrupt("running job", line);
        let (queue, id) = line.split_once('\t').ok_or_else(corrupt)?;
        Ok((read_queue(queue)?, JobId::new(id).map_err(|_| corrupt())?))
    };
    text.lines().map(line).collect()
}

fn read_command(text: &str) -> TxResult<WorkerCommand> {
    WorkerCommand::from_text(text).ok_or_else(|| TxError::corrupt("worker command", text))
}
