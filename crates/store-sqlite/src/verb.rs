//! Runs a verb in one transaction of the writer.

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
