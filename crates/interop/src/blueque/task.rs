//! A task as its hash has it.

use std::collections::BTreeMap;

use bytes::Bytes;
use redis::Value;
use windlass_core::Result;

use super::Layout;
use crate::reply;

/// A task as it was when it was read.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Task {
    /// Its id.
    pub id: String,
    /// scheduled, pending, reserved, started, complete, failed; the design note says succeeded.
    pub status: String,
    /// The queue it belongs to; other peers of the design note may not say.
    pub queue: Option<String>,
    /// What it is about, as its producer wrote it.
    pub parameters: Option<Bytes>,
    /// What it left behind.
    pub result: Option<Bytes>,
    /// Why it failed.
    pub error: Option<Bytes>,
    /// The listener that holds or held it.
    pub node: Option<String>,
    /// The process that runs or ran it.
    pub pid: Option<i64>,
    /// The listener that claimed it as an orphan, in the original's way.
    pub reclaimed_node: Option<String>,
    /// When it was made, in seconds.
    pub created: Option<f64>,
    /// When it last changed, in seconds.
    pub updated: Option<f64>,
    /// When it is due, in seconds.
    pub eta: Option<f64>,
    /// The fields of other subsystems.
    pub others: BTreeMap<String, Bytes>,
}

impl Task {
    /// Reads names and values in turn.
    pub(super) fn read(layout: Layout, id: &str, values: Vec<Value>) -> Result<Self> {
        let mut fields = BTreeMap::new();
        let mut values = values.into_iter();
        while let (Some(name), Some(value)) = (values.next(), values.next()) {
            fields.insert(reply::text(name)?, reply::bytes(value)?);
        }
        // A mark of ours, of no meaning to others.
        fields.remove("ticket");
        let mut task = Self {
            id: id.to_owned(),
            status: text(&mut fields, "status").unwrap_or_default(),
            queue: text(&mut fields, "queue"),
            parameters: fields.remove("parameters"),
            result: fields.remove("result"),
            error: fields.remove("error"),
            node: text(&mut fields, "node"),
            pid: number(&mut fields, "pid"),
            reclaimed_node: text(&mut fields, "reclaimed_node"),
            created: number(&mut fields, "created"),
            updated: number(&mut fields, "updated"),
            eta: number(&mut fields, "eta"),
            others: BTreeMap::new(),
        };
        if layout == Layout::Document
            && let Some((node, pid)) = text(&mut fields, "worker").as_deref().and_then(holder)
        {
            task.node = Some(node.to_owned());
            task.pid = pid.parse().ok();
        }
        task.others = fields;
        Ok(task)
    }
}

/// The two words of the design note's `worker`.
pub(super) fn holder(worker: &str) -> Option<(&str, &str)> {
    worker.rsplit_once(' ')
}

fn text(fields: &mut BTreeMap<String, Bytes>, name: &str) -> Option<String> {
    let bytes = fields.remove(name)?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

fn number<T: std::str::FromStr>(fields: &mut BTreeMap<String, Bytes>, name: &str) -> Option<T> {
    text(fields, name)?.parse().ok()
}

/// What is stored for parameters, a result or an error: as it is where the library was released,
/// and JSON by the design note, so what is not JSON becomes a JSON string.
pub fn encode(layout: Layout, bytes: impl Into<Bytes>) -> Bytes {
    let bytes = bytes.into();
    let is_json = || serde_json::from_slice::<serde::de::IgnoredAny>(&bytes).is_ok();
    if layout == Layout::Released || is_json() {
        return bytes;
    }
    let text = String::from_utf8_lossy(&bytes).into_owned();
    Bytes::from(serde_json::Value::String(text).to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_json_becomes_a_json_string_by_the_design_note() {
        assert_eq!(encode(Layout::Released, "worker_lost"), "worker_lost");
        assert_eq!(encode(Layout::Document, "worker_lost"), "\"worker_lost\"");
        assert_eq!(encode(Layout::Document, ""), "\"\"");
        assert_eq!(encode(Layout::Document, "{\"a\": 1}"), "{\"a\": 1}");
    }

    #[test]
    fn fields_of_other_subsystems_are_kept_apart() {
        let bulk = |text: &str| Value::BulkString(text.as_bytes().to_vec());
        let values = ["status", "started", "worker", "w 7", "billing", "x"].map(bulk);
        let task = Task::read(Layout::Document, "1", values.to_vec()).unwrap();
        assert_eq!(task.node.as_deref(), Some("w"));
        assert_eq!(task.pid, Some(7));
        assert_eq!(task.others["billing"], "x");
        assert_eq!(task.others.len(), 1);
    }
}
