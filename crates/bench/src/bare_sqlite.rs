//! The bare engine: a queue of one SQLite table, as one would write it by hand.

use std::path::Path;

use rusqlite::{Connection, TransactionBehavior, params};

const PAYLOAD: [u8; 100] = [7; 100];

pub(crate) struct Bare(Connection);

impl Bare {
    pub(crate) fn open(path: &Path) -> rusqlite::Result<Self> {
        let db = Connection::open(path)?;
        db.pragma_update_and_check(None, "journal_mode", "WAL", |_| Ok(()))?;
        db.pragma_update(None, "synchronous", "FULL")?;
        db.execute_batch(
            "CREATE TABLE job (key INTEGER PRIMARY KEY, state INTEGER NOT NULL, payload BLOB NOT NULL);
             CREATE INDEX job_ready ON job (key) WHERE state = 0;",
        )?;
        Ok(Self(db))
    }

    /// Inserts so many jobs, a batch per transaction.
    pub(crate) fn enqueue(&mut self, jobs: usize, batch: usize) -> rusqlite::Result<()> {
        for _ in 0..jobs / batch {
            let step = self
                .0
                .transaction_with_behavior(TransactionBehavior::Immediate)?;
            {
                let mut insert =
                    step.prepare_cached("INSERT INTO job (state, payload) VALUES (0, ?1)")?;
                for _ in 0..batch {
                    insert.execute([PAYLOAD])?;
                }
            }
            step.commit()?;
        }
        Ok(())
    }

    /// Works off so many jobs: each transaction deletes the last batch and takes the next.
    pub(crate) fn drain(&mut self, jobs: usize, batch: usize) -> rusqlite::Result<()> {
        let mut held: Vec<(i64, Vec<u8>)> = Vec::new();
        let mut done = 0;
        loop {
            let step = self
                .0
                .transaction_with_behavior(TransactionBehavior::Immediate)?;
            {
                let mut delete = step.prepare_cached("DELETE FROM job WHERE key = ?1")?;
                for (key, _) in held.drain(..) {
                    delete.execute([key])?;
                    done += 1;
                }
                let mut take = step.prepare_cached(
                    "UPDATE job SET state = 1 WHERE key IN
                        (SELECT key FROM job WHERE state = 0 ORDER BY key LIMIT ?1)
                     RETURNING key, payload",
                )?;
                let rows = take.query_map(params![batch], |row| Ok((row.get(0)?, row.get(1)?)))?;
                held.extend(rows.collect::<Result<Vec<_>, _>>()?);
            }
            step.commit()?;
            if held.is_empty() {
                assert_eq!(done, jobs, "every job is worked off once");
                return Ok(());
            }
        }
    }
}
