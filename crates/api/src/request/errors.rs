//! errors and `clear_error`.

use clap::Args;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use windlass_core::store::Fingerprint;
use windlass_core::{QueueName, Store};

use super::{ApiResult, QueueRequest};
use crate::error::Error;
use crate::error_group::ErrorGroupReply;

/// Lists the groups of errors of a queue, the one seen last first.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields)]
pub struct Errors {}

/// The groups of errors of a queue.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct ErrorsReply {
    /// The groups, at most 200, the one seen last first.
    pub errors: Vec<ErrorGroupReply>,
}

impl QueueRequest for Errors {
    const OP: &'static str = "errors";
    type Reply = ErrorsReply;

    async fn execute(self, store: &dyn Store, queue: &QueueName) -> ApiResult<ErrorsReply> {
        let groups = store.error_groups(queue).await?;
        let errors = groups.iter().map(ErrorGroupReply::from).collect();
        Ok(ErrorsReply { errors })
    }
}

/// Deletes a group of errors; its jobs stay as they are.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields)]
pub struct ClearError {
    /// Fingerprint of the group
    pub fingerprint: String,
}

/// The group that was deleted.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct ClearErrorReply {
    /// The queue.
    pub queue: String,
    /// The fingerprint of the group.
    pub fingerprint: String,
}

impl QueueRequest for ClearError {
    const OP: &'static str = "clear_error";
    type Reply = ClearErrorReply;

    async fn execute(self, store: &dyn Store, queue: &QueueName) -> ApiResult<ClearErrorReply> {
        let fingerprint: Fingerprint = self.fingerprint.parse()?;
        if !store.clear_error_group(queue, fingerprint).await? {
            return Err(Error::error_group_not_found(queue, fingerprint));
        }
        Ok(ClearErrorReply {
            queue: queue.to_string(),
            fingerprint: fingerprint.to_string(),
        })
    }
}
