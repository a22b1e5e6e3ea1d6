//! Runs a verb in one transaction of the writer, or reads in one snapshot.

use rusqlite::Connection;
use windlass_core::{QueueName, Result};

use crate::SqliteStore;
use crate::error::TxResult;
use crate::transaction::{QueueTx, Tx};

impl SqliteStore {
    /// Runs a verb in a transaction.
    pub(crate) async fn write<T: Send + 'static>(
        &self,
        verb: impl FnMut(&mut Tx<'_>) -> TxResult<T> + Send + 'static,
    ) -> Result<T> {
        self.writer.write(0, verb).await
    }

    /// Reads one queue in one snapshot, with the time of the clock in microseconds.
    pub(crate) async fn read_queue<T: Send + 'static>(
        &self,
        queue: &QueueName,
        read: impl FnOnce(&Connection, &QueueName, u64) -> TxResult<T> + Send + 'static,
    ) -> Result<T> {
        let (queue, clock_us) = (queue.clone(), self.options.clock.now_us());
        self.reader.read(move |db| read(db, &queue, clock_us)).await
    }

    /// Runs a verb on one queue in one transaction. A missing queue is empty.
    pub(crate) async fn on_queue<T: Send + 'static>(
        &self,
        queue: &QueueName,
        mut verb: impl FnMut(&mut QueueTx<'_>) -> TxResult<T> + Send + 'static,
    ) -> Result<T> {
        let queue = queue.clone();
        self.write(move |tx| tx.on_queue(&queue, &mut verb)).await
    }

    /// Runs a verb on one queue in one transaction. A missing queue is created.
    pub(crate) async fn on_created_queue<T: Send + 'static>(
        &self,
        queue: &QueueName,
        mut verb: impl FnMut(&mut QueueTx<'_>) -> TxResult<T> + Send + 'static,
    ) -> Result<T> {
        let queue = queue.clone();
        self.write(move |tx| {
            tx.create_queue(&queue)?;
            tx.on_queue(&queue, &mut verb)
        })
        .await
    }
}
