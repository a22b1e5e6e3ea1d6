//! The JSON form of the delays of a retry policy.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use windlass_core::{Due, Result, RetryPolicy, duration};

use crate::enqueue::TimeValue;
use crate::timestamp;

/// The delays of a retry policy. What is missing has its default.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct RetryDelays {
    /// The delay after the first failure (default: 1s). It doubles with each further one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first: Option<String>,
    /// The longest delay (default: 1h).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max: Option<String>,
    /// Whether each delay is chosen at random between zero and its length (default: true).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub jitter: Option<bool>,
    /// No attempt starts after this time: a duration, RFC 3339 or unix seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until: Option<TimeValue>,
}

impl From<&RetryPolicy> for RetryDelays {
    fn from(policy: &RetryPolicy) -> Self {
        Self {
            first: Some(duration::format(policy.delay_first)),
            max: Some(duration::format(policy.delay_max)),
            jitter: Some(policy.has_jitter),
            until: policy.until.map(TimeValue::from),
        }
    }
}

impl RetryDelays {
    /// Sets the delays of a policy.
    pub fn apply(&self, policy: &mut RetryPolicy) -> Result<()> {
        if let Some(first) = &self.first {
            policy.delay_first = duration::parse_named("retry.first", first)?;
        }
        if let Some(max) = &self.max {
            policy.delay_max = duration::parse_named("retry.max", max)?;
        }
        policy.has_jitter = self.jitter.unwrap_or(policy.has_jitter);
        if let Some(until) = &self.until {
            policy.until = Some(timestamp::parse_due(&until.text())?);
        }
        Ok(())
    }
}

impl From<Due> for TimeValue {
    fn from(due: Due) -> Self {
        Self::Text(match due {
            Due::Now => "0s".to_owned(),
            Due::After(delay) => duration::format(delay),
            // Exact for every time, also beyond the calendar.
            Due::At(at) => format!("{}.{:03}", at.as_ms() / 1000, at.as_ms() % 1000),
        })
    }
}
