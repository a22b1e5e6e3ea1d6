//! A minimal queue in one SQLite table, as durable as Windlass.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use rusqlite::{Connection, TransactionBehavior, params};
use windlass::Result;

use crate::error;
use crate::load::batches;
use crate::measure::real;
use crate::tasks::panicked;

/// The bare queue on SQLite.
#[derive(Debug, Clone)]
pub(crate) struct BareSqlite {
    db: Arc<Mutex<Connection>>,
    payload: usize,
}

impl BareSqlite {
    pub(super) async fn open(path: PathBuf, payload: usize) -> Result<Self> {
        let opened = tokio::task::spawn_blocking(move || {
            let db = Connection::open(path)?;
            db.pragma_update_and_check(None, "journal_mode", "WAL", |_| Ok(()))?;
            db.pragma_update(None, "synchronous", "FULL")?;
            db.execute_batch(
                "CREATE TABLE job (key INTEGER PRIMARY KEY, state INTEGER NOT NULL, payload BLOB NOT NULL);
                 CREATE INDEX job_ready ON job (key) WHERE state = 0;",
            )?;
            Ok::<_, rusqlite::Error>(db)
        });
        let db = opened
            .await
            .map_err(panicked)?
            .map_err(error::bare_engine)?;
        Ok(Self {
            db: Arc::new(Mutex::new(db)),
            payload,
        })
    }

    /// Inserts jobs, one batch per transaction. Returns jobs per second.
    pub(super) async fn enqueue(&self, jobs: u64, batch: usize) -> Result<f64> {
        let payload = vec![b'x'; self.payload];
        self.timed(move |db| {
            for count in batches(jobs, batch) {
                let tx = db.transaction_with_behavior(TransactionBehavior::Immediate)?;
                {
                    let mut insert =
                        tx.prepare_cached("INSERT INTO job (state, payload) VALUES (0, ?1)")?;
                    for _ in 0..count {
                        insert.execute([&payload])?;
                    }
                }
                tx.commit()?;
            }
            Ok(jobs)
        })
        .await
    }

    /// Drains all jobs: each transaction deletes the last batch and fetches the next.
    pub(super) async fn drain(&self, batch: usize) -> Result<f64> {
        self.timed(move |db| {
            let mut fetched: Vec<(i64, Vec<u8>)> = Vec::new();
            let mut done = 0;
            loop {
                let tx = db.transaction_with_behavior(TransactionBehavior::Immediate)?;
                {
                    let mut delete = tx.prepare_cached("DELETE FROM job WHERE key = ?1")?;
                    for (key, _) in fetched.drain(..) {
                        delete.execute([key])?;
                        done += 1;
                    }
                    let mut fetch = tx.prepare_cached(
                        "UPDATE job SET state = 1 WHERE key IN
                            (SELECT key FROM job WHERE state = 0 ORDER BY key LIMIT ?1)
                         RETURNING key, payload",
                    )?;
                    let rows =
                        fetch.query_map(params![batch], |row| Ok((row.get(0)?, row.get(1)?)))?;
                    fetched.extend(rows.collect::<rusqlite::Result<Vec<_>>>()?);
                }
                tx.commit()?;
                if fetched.is_empty() {
                    return Ok(done);
                }
            }
        })
        .await
    }

    pub(super) async fn clear(&self) -> Result<()> {
        let cleared = self.timed(|db| db.execute("DELETE FROM job", []).map(|_| 1));
        cleared.await.map(drop)
    }

    /// Runs `work` on a blocking thread. Returns jobs per second.
    async fn timed(
        &self,
        work: impl FnOnce(&mut Connection) -> rusqlite::Result<u64> + Send + 'static,
    ) -> Result<f64> {
        let db = Arc::clone(&self.db);
        let rate = tokio::task::spawn_blocking(move || {
            let mut db = db.lock().unwrap_or_else(PoisonError::into_inner);
            let began = Instant::now();
            work(&mut db).map(|jobs| real(jobs) / began.elapsed().as_secs_f64())
        });
        rate.await.map_err(panicked)?.map_err(error::bare_engine)
    }
}
