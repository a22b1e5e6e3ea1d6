//! history.

use clap::Args;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use windlass_core::history::HISTORY_MINUTES;
use windlass_core::{Error as CoreError, QueueName, Store};

use super::{ApiResult, QueueRequest};
use crate::error::Error;
use crate::history::HistoryRowReply;

/// Returns the history of a queue, one row per minute, oldest first.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema, Args)]
#[serde(default, deny_unknown_fields)]
pub struct History {
    /// The number of minutes until now, up to 1440 (default: 60).
    #[arg(long, value_name = "N")]
    #[arg(help = "Number of minutes until now, up to 1440 [default: 60]")]
    pub minutes: Option<u32>,
}

/// The history of a queue.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct HistoryReply {
    /// The queue.
    pub queue: String,
    /// One row per minute, oldest first; the last minute is not over. Minutes without claims and maintenance have no
    /// row.
    pub rows: Vec<HistoryRowReply>,
}

impl History {
    /// The number of minutes, if none is set.
    pub const MINUTES_DEFAULT: u32 = 60;
}

impl QueueRequest for History {
    const OP: &'static str = "history";
    type Reply = HistoryReply;

    async fn execute(self, store: &dyn Store, queue: &QueueName) -> ApiResult<HistoryReply> {
        let minutes = self.minutes.unwrap_or(Self::MINUTES_DEFAULT);
        if minutes == 0 {
            let help = format!("use 1 to {HISTORY_MINUTES}");
            let error = CoreError::invalid("minutes", "0 is too small; minimum 1", help);
            return Err(error.into());
        }
        let rows = store.history(queue, minutes).await?;
        if rows.is_empty() && store.stats(queue).await?.is_none() {
            return Err(Error::queue_not_found(queue));
        }
        Ok(HistoryReply {
            queue: queue.to_string(),
            rows: rows.iter().map(HistoryRowReply::from).collect(),
        })
    }
}
