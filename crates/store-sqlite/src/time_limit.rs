//! Interrupts statements that run past the deadline, whatever makes them slow: a damaged or hostile file
//! must not block the threads of a store.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use rusqlite::Connection;

/// Instructions of SQLite between two checks; well below a millisecond.
const INSTRUCTIONS: i32 = 10_000;

/// The time limit of a connection's statements.
#[derive(Debug)]
pub(crate) struct TimeLimit {
    length: Duration,
    ends_at: Arc<Mutex<Option<Instant>>>,
}

impl TimeLimit {
    /// Limits the statements of a connection. Nothing is limited until `start`.
    pub(crate) fn new(db: &mut Connection, length: Duration) -> rusqlite::Result<Self> {
        let ends_at = Arc::new(Mutex::new(None::<Instant>));
        let limit = ends_at.clone();
        let is_over = move || {
            let ends_at = *limit.lock().unwrap_or_else(PoisonError::into_inner);
            ends_at.is_some_and(|ends_at| Instant::now() >= ends_at)
        };
        db.progress_handler(INSTRUCTIONS, Some(is_over))?;
        Ok(Self { length, ends_at })
    }

    /// Starts the time for the statements that follow.
    pub(crate) fn start(&self) {
        let ends_at = Instant::now().checked_add(self.length);
        *self.ends_at.lock().unwrap_or_else(PoisonError::into_inner) = ends_at;
    }
}

#[cfg(test)]
mod tests {
    use windlass_core::{ErrorKind, NewJob, QueueName, Store};

    use super::*;
    use crate::error::TxResult;
    use crate::{Options, SqliteStore};

    fn endless(db: &Connection) -> TxResult<i64> {
        let sql = "WITH RECURSIVE n (i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n)
                   SELECT count(*) FROM n";
        Ok(db.query_row(sql, [], |row| row.get(0))?)
    }

    #[tokio::test]
    async fn a_statement_without_end_is_interrupted_and_the_next_call_is_answered() {
        let folder = tempfile::tempdir().unwrap();
        let options = Options {
            call_deadline: Duration::from_secs(2),
            ..Options::default()
        };
        let store = SqliteStore::open(&folder.path().join("jobs.db"), options).unwrap();
        let queue = QueueName::new("q").unwrap();

        let written = store.writer.write(0, |tx| endless(tx.db)).await;
        let read = store.reader.read(endless).await;

        assert_eq!(written.unwrap_err().kind(), ErrorKind::StoreBusy);
        assert_eq!(read.unwrap_err().kind(), ErrorKind::StoreBusy);
        store.enqueue(&queue, vec![NewJob::new("x")]).await.unwrap();
        assert_eq!(store.stats(&queue).await.unwrap().unwrap().ready, 1);
    }
}
