//! Checks of a store, its queues and its workers, for `windlass doctor` and the dashboard.

mod latency;
mod queues;
#[cfg(test)]
mod sample;
mod schedules;
mod workers;

use serde::Serialize;
use windlass_core::{QueueName, Result, Store};

use crate::error::Error;

/// Status of a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
#[expect(missing_docs, reason = "the names say it")]
pub enum CheckStatus {
    Ok,
    Warn,
    Fail,
}

/// The result of one check.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Check {
    /// What was checked.
    pub name: String,
    /// How it is.
    pub status: CheckStatus,
    /// What was found.
    pub message: String,
    /// What to do about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fix: Option<String>,
    /// The queue, if it is about one.
    #[serde(skip)]
    pub queue: Option<QueueName>,
}

impl Check {
    /// Creates a check that found nothing wrong.
    pub fn ok(name: impl Into<String>, message: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            status: CheckStatus::Ok,
            message: message.into(),
            fix: None,
            queue: None,
        }
    }

    /// Creates a check that found something to look after.
    pub fn warn(
        name: impl Into<String>,
        message: impl Into<String>,
        fix: impl Into<String>,
    ) -> Self {
        Self {
            status: CheckStatus::Warn,
            fix: Some(fix.into()),
            ..Self::ok(name, message)
        }
    }

    /// Creates a check that found an error.
    pub fn fail(
        name: impl Into<String>,
        message: impl Into<String>,
        fix: impl Into<String>,
    ) -> Self {
        Self {
            status: CheckStatus::Fail,
            ..Self::warn(name, message, fix)
        }
    }

    /// Creates a check that could not be made.
    pub fn failed(name: &str, error: &Error) -> Self {
        Self::fail(name, &error.message, &error.help)
    }
}

/// Runs the checks that apply to every store and adds their results, also those made before an error. Checks of the
/// type of a store are up to the caller.
pub async fn examine(store: &dyn Store, is_redis: bool, checks: &mut Vec<Check>) -> Result<()> {
    latency::examine(store, is_redis, checks).await;
    let workers = store.workers().await?;
    workers::examine(&workers, checks);
    queues::examine(store, &workers, is_redis, checks).await
}
