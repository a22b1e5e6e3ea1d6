//! actions: the log of operator actions; and what the log says about a request.

use clap::Args;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use windlass_core::action::{Action, ActionRecord};
use windlass_core::store::Cursor;
use windlass_core::{Error as CoreError, QueueName, Result, Store};

use super::{ApiResult, StoreRequest};
use crate::timestamp;

/// The fields of requests that the log shows. Others, such as payloads, never appear in it.
const SHOWN: &[&str] = &[
    "id",
    "ids",
    "unique_key",
    "all",
    "state",
    "kind",
    "text",
    "older_than",
    "newer_than",
    "worker",
    "min_attempt",
    "header",
    "group",
    "error_group",
    "name",
    "command",
    "settings",
    "max_running",
    "rate",
    "burst",
    "paused",
    "cron",
    "zone",
    "every",
    "from",
    "to",
    "force",
    "set",
    "prune",
    "schedules",
];

/// The number of ids that the log shows of one request.
const IDS_SHOWN: usize = 10;

/// Lists the log of operator actions, newest first.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema, Args)]
#[serde(default, deny_unknown_fields)]
pub struct Actions {
    /// The maximum number of actions, up to 500 (default: 100).
    #[arg(long, value_name = "N")]
    #[arg(help = "Maximum number of actions, up to 500 [default: 100]")]
    pub limit: Option<usize>,
    /// `next` of the previous page.
    #[arg(long, value_name = "C", allow_hyphen_values = true)]
    #[arg(help = "Cursor printed after the previous page")]
    pub cursor: Option<String>,
}

/// A page of the log.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct ActionsReply {
    /// The actions, newest first.
    pub actions: Vec<ActionReply>,
    /// The cursor of the next page; null on the last page.
    pub next: Option<String>,
}

/// A logged action.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct ActionReply {
    /// Its number, which grows by one.
    pub number: u64,
    /// When it was logged, by the clock of the store.
    pub at: String,
    /// The name of the token or of the user of the operating system, or `anonymous`.
    pub who: String,
    /// The interface, such as `http` or `dashboard`.
    pub interface: String,
    /// The op.
    pub op: String,
    /// The queue; null if the op is not on one.
    pub queue: Option<String>,
    /// What it was applied to, such as `id=a` or `all=true state=dead`.
    pub target: String,
    /// The id of the HTTP request.
    pub request: Option<String>,
}

impl From<ActionRecord> for ActionReply {
    fn from(record: ActionRecord) -> Self {
        let action = record.action;
        Self {
            number: record.number,
            at: timestamp::format(record.at),
            who: action.who,
            interface: action.interface,
            op: action.op,
            queue: action.queue.map(|queue| queue.to_string()),
            target: action.target,
            request: action.request,
        }
    }
}

impl ActionReply {
    /// Converts the reply back.
    pub fn into_record(self) -> Result<ActionRecord> {
        Ok(ActionRecord {
            number: self.number,
            at: timestamp::parse(&self.at)?,
            action: Action {
                who: self.who,
                interface: self.interface,
                op: self.op,
                queue: self.queue.map(QueueName::new).transpose()?,
                target: self.target,
                request: self.request,
            },
        })
    }
}

impl StoreRequest for Actions {
    const OP: &'static str = "actions";
    type Reply = ActionsReply;

    async fn execute(self, store: &dyn Store) -> ApiResult<ActionsReply> {
        let limit = self.limit.unwrap_or(100);
        if limit == 0 {
            let error = CoreError::invalid("limit", "0 is too small; minimum 1", "use 1 to 500");
            return Err(error.into());
        }
        let page = store.actions(self.cursor.map(Cursor), limit).await?;
        Ok(ActionsReply {
            actions: page.items.into_iter().map(ActionReply::from).collect(),
            next: page.next.map(|next| next.0),
        })
    }
}

/// Describes what a request is applied to, without payloads and secrets: `all=true state=dead`.
pub fn target_of(request: &impl Serialize) -> String {
    let Ok(Value::Object(fields)) = serde_json::to_value(request) else {
        return String::new();
    };
    let shown = SHOWN.iter().filter_map(|name| {
        let text = match fields.get(*name)? {
            Value::Object(settings) => {
                let setting = |(name, value)| format!("{name}={}", plain(value));
                return Some(settings.iter().map(setting).collect::<Vec<_>>().join(" "));
            }
            Value::Array(items) if items.iter().all(Value::is_string) => {
                let shown: Vec<_> = items.iter().take(IDS_SHOWN).map(plain).collect();
                match items.len().saturating_sub(IDS_SHOWN) {
                    0 => shown.join(","),
                    more => format!("{} and {more} more", shown.join(",")),
                }
            }
            Value::Array(items) => items.len().to_string(),
            Value::Null => return None,
            value => plain(value),
        };
        Some(format!("{name}={text}"))
    });
    shown.collect::<Vec<_>>().join(" ")
}

fn plain(value: &Value) -> String {
    value
        .as_str()
        .map_or_else(|| value.to_string(), ToOwned::to_owned)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_target_names_jobs_filters_and_settings_but_no_payloads() {
        let ids: Vec<String> = (0..12).map(|n| n.to_string()).collect();
        for (request, target) in [
            (json!({"id":"a","payload":"secret","each":true}), "id=a"),
            (
                json!({"all":true,"state":"dead","text":"no stamp","cursor":"x"}),
                "all=true state=dead text=no stamp",
            ),
            (json!({"ids":ids}), "ids=0,1,2,3,4,5,6,7,8,9 and 2 more"),
            (json!({"settings":{"rate":"5/1s"}}), "rate=5/1s"),
            (
                json!({"schedules":[{"job":{"payload":"secret"}}]}),
                "schedules=1",
            ),
            (json!(null), ""),
        ] {
            assert_eq!(target_of(&request), target);
        }
    }
}
