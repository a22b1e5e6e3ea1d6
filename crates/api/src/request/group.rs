//! groups, group, `set_group`, `pause_group` and `resume_group`.

use clap::Args;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use windlass_core::limits::PAGE;
use windlass_core::store::{Cursor, GroupChange, GroupName, GroupRecord};
use windlass_core::{Error as CoreError, QueueName, Result, Store};

use super::{ApiResult, QueueRequest};
use crate::error::Error;
use crate::group::GroupReply;

/// Lists a page of groups, ordered by name.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema, Args)]
#[serde(default, deny_unknown_fields)]
pub struct Groups {
    /// The maximum number of groups, up to 100 (default: 100).
    #[arg(long, value_name = "N")]
    #[arg(help = "Maximum number of groups [default: 100]")]
    pub limit: Option<usize>,
    /// `next` of the previous page.
    #[arg(long, value_name = "C", allow_hyphen_values = true)]
    #[arg(help = "Cursor printed after the previous page")]
    pub cursor: Option<String>,
}

/// A page of groups.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct GroupsReply {
    /// The groups.
    pub groups: Vec<GroupReply>,
    /// The cursor of the next page; null on the last page.
    pub next: Option<String>,
}

impl Groups {
    /// The number of groups, if no limit is set.
    pub const LIMIT_DEFAULT: usize = PAGE;
}

impl QueueRequest for Groups {
    const OP: &'static str = "groups";
    type Reply = GroupsReply;

    async fn execute(self, store: &dyn Store, queue: &QueueName) -> ApiResult<GroupsReply> {
        let limit = self.limit.unwrap_or(Self::LIMIT_DEFAULT);
        if limit == 0 {
            let help = format!("use 1 to {PAGE}");
            let error = CoreError::invalid("limit", "0 is too small; minimum 1", help);
            return Err(error.into());
        }
        let from = self.cursor.map(Cursor);
        let page = store.groups(queue, from, limit.min(PAGE)).await?;
        let settings = store.settings(queue).await?;
        let reply = |record: &GroupRecord| GroupReply::new(queue, record, &settings);
        Ok(GroupsReply {
            groups: page.items.iter().map(reply).collect(),
            next: page.next.map(|next| next.0),
        })
    }
}

/// Returns a group with its limits.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields)]
pub struct GetGroup {
    /// Name of the group
    pub group: String,
}

impl QueueRequest for GetGroup {
    const OP: &'static str = "group";
    type Reply = GroupReply;

    async fn execute(self, store: &dyn Store, queue: &QueueName) -> ApiResult<GroupReply> {
        let group = GroupName::new(&self.group)?;
        let record = store.group(queue, &group).await?;
        let record = record.ok_or_else(|| Error::group_not_found(queue, &group))?;
        let settings = store.settings(queue).await?;
        Ok(GroupReply::new(queue, &record, &settings))
    }
}

/// A limit: a number or text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged, expecting = "expected a number, none or default")]
pub enum LimitValue {
    /// `none`, `default`, or a value in quotes.
    Text(String),
    /// A number.
    Number(u64),
}

impl LimitValue {
    fn text(&self) -> String {
        match self {
            Self::Text(text) => text.clone(),
            Self::Number(number) => number.to_string(),
        }
    }
}

/// Changes the limits of a group, pauses or resumes it. A missing field stays as it is.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SetGroup {
    /// The name of the group.
    pub group: String,
    /// The maximum number of its jobs that run at the same time: a number, `none`, or `default` for
    /// `group_max_running` of the queue.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_running: Option<LimitValue>,
    /// The maximum number of its jobs handed out per period: such as `100/1m`, `none`, or `default` for
    /// `group_rate` of the queue.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<String>,
    /// The burst of the rate: a number, or `default` for `group_burst` of the queue.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub burst: Option<LimitValue>,
    /// Whether it is paused. False also ends its rest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub paused: Option<bool>,
}

impl SetGroup {
    /// Creates the request for a change.
    pub fn new(group: &GroupName, change: GroupChange) -> Self {
        let text = |limit: String| LimitValue::Text(limit);
        Self {
            group: group.to_string(),
            max_running: change.max_running.map(|limit| text(limit.to_string())),
            rate: change.rate.map(|limit| limit.to_string()),
            burst: change.burst.map(|limit| text(limit.to_string())),
            paused: change.is_paused,
        }
    }

    fn change(&self) -> Result<GroupChange> {
        let mut change = GroupChange {
            is_paused: self.paused,
            ..GroupChange::default()
        };
        let limits = [
            (
                "max_running",
                self.max_running.as_ref().map(LimitValue::text),
            ),
            ("rate", self.rate.clone()),
            ("burst", self.burst.as_ref().map(LimitValue::text)),
        ];
        for (name, value) in limits {
            if let Some(value) = value {
                change.set(name, &value)?;
            }
        }
        Ok(change)
    }
}

impl QueueRequest for SetGroup {
    const OP: &'static str = "set_group";
    type Reply = GroupReply;

    async fn execute(self, store: &dyn Store, queue: &QueueName) -> ApiResult<GroupReply> {
        let change = self.change()?;
        change_group(store, queue, &self.group, change).await
    }
}

async fn change_group(
    store: &dyn Store,
    queue: &QueueName,
    group: &str,
    change: GroupChange,
) -> ApiResult<GroupReply> {
    let group = GroupName::new(group)?;
    let record = store.set_group(queue, &group, change).await?;
    let settings = store.settings(queue).await?;
    Ok(GroupReply::new(queue, &record, &settings))
}

/// Stops handing out jobs of a group.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields)]
pub struct PauseGroup {
    /// Name of the group
    pub group: String,
}

impl QueueRequest for PauseGroup {
    const OP: &'static str = "pause_group";
    type Reply = GroupReply;

    async fn execute(self, store: &dyn Store, queue: &QueueName) -> ApiResult<GroupReply> {
        set_paused(store, queue, &self.group, true).await
    }
}

/// Hands out jobs of a paused or resting group again.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields)]
pub struct ResumeGroup {
    /// Name of the group
    pub group: String,
}

impl QueueRequest for ResumeGroup {
    const OP: &'static str = "resume_group";
    type Reply = GroupReply;

    async fn execute(self, store: &dyn Store, queue: &QueueName) -> ApiResult<GroupReply> {
        set_paused(store, queue, &self.group, false).await
    }
}

async fn set_paused(
    store: &dyn Store,
    queue: &QueueName,
    group: &str,
    is_paused: bool,
) -> ApiResult<GroupReply> {
    let change = GroupChange {
        is_paused: Some(is_paused),
        ..GroupChange::default()
    };
    change_group(store, queue, group, change).await
}
