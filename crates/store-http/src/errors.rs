//! Groups of errors: reads and deletions.

use windlass_api::ErrorGroupReply;
use windlass_api::request::{ClearError, Errors};
use windlass_core::store::{ErrorGroup, Fingerprint};
use windlass_core::{QueueName, Result};

use crate::remote::{RemoteStore, found};

impl RemoteStore {
    pub(crate) async fn read_errors(&self, queue: &QueueName) -> Result<Vec<ErrorGroup>> {
        let reply = self.call(queue, Errors {}).await?;
        let groups = reply.errors.into_iter();
        groups.map(ErrorGroupReply::into_group).collect()
    }

    pub(crate) async fn clear_error(&self, queue: &QueueName, group: Fingerprint) -> Result<bool> {
        let fingerprint = group.to_string();
        let reply = found(self.call(queue, ClearError { fingerprint }).await)?;
        Ok(reply.is_some())
    }
}
