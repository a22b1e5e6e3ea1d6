//! Tasks.

use std::collections::BTreeMap;

use bytes::Bytes;
use redis::Value;
use windlass_core::Result;

use super::BluequeLayout;
use crate::reply;

/// A task as it was read.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Task {
    /// Id.
    pub id: String,
    /// scheduled, pending, reserved, started, complete or failed. The document layout has succeeded
    /// instead of complete.
    pub status: String,
    /// Queue. Other clients of the document layout may not set it.
    pub queue: Option<String>,
    /// Parameters, as written by the producer.
    pub parameters: Option<Bytes>,
    /// Result.
    pub result: Option<Bytes>,
    /// Error.
    pub error: Option<Bytes>,
    /// The listener that holds or held it.
    pub node: Option<String>,
    /// Pid of the process that runs or ran it.
    pub pid: Option<i64>,
    /// The listener that claimed it as an orphan, if that was an original.
    pub reclaimed_node: Option<String>,
    /// Creation time, in seconds.
    pub created: Option<f64>,
    /// Time of the last change, in seconds.
    pub updated: Option<f64>,
    /// Due time, in seconds.
    pub eta: Option<f64>,
    /// Fields of other subsystems.
    pub others: BTreeMap<String, Bytes>,
}

impl Task {
    /// Parses alternating names and values.
    pub(super) fn read(layout: BluequeLayout, id: &str, values: Vec<Value>) -> Result<Self> {
        let mut fields = BTreeMap::new();
        let mut values = values.into_iter();
        while let (Some(name), Some(value)) = (values.next(), values.next()) {
            fields.insert(reply::text(name)?, reply::bytes(value)?);
        }
        // Internal to Windlass.
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
        if layout == BluequeLayout::Document
            && let Some((node, pid)) = text(&mut fields, "worker").as_deref().and_then(holder)
        {
            task.node = Some(node.to_owned());
            task.pid = pid.parse().ok();
        }
        task.others = fields;
        Ok(task)
    }
}

/// Splits the document layout's `worker` into listener and pid.
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

/// Encodes parameters, a result or an error: unchanged in the released layout, JSON in the document
/// layout, where anything that is not JSON becomes a JSON string.
pub fn encode(layout: BluequeLayout, bytes: impl Into<Bytes>) -> Bytes {
    let bytes = bytes.into();
    let is_json = || serde_json::from_slice::<serde::de::IgnoredAny>(&bytes).is_ok();
    if layout == BluequeLayout::Released || is_json() {
        return bytes;
    }
    let text = String::from_utf8_lossy(&bytes).into_owned();
    Bytes::from(serde_json::Value::String(text).to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_text_becomes_a_json_string_in_the_document_layout() {
        assert_eq!(
            encode(BluequeLayout::Released, "worker_lost"),
            "worker_lost"
        );
        assert_eq!(
            encode(BluequeLayout::Document, "worker_lost"),
            "\"worker_lost\""
        );
        assert_eq!(encode(BluequeLayout::Document, ""), "\"\"");
        assert_eq!(encode(BluequeLayout::Document, "{\"a\": 1}"), "{\"a\": 1}");
    }

    #[test]
    fn fields_of_other_subsystems_are_kept_apart() {
        let bulk = |text: &str| Value::BulkString(text.as_bytes().to_vec());
        let values = ["status", "started", "worker", "w 7", "billing", "x"].map(bulk);
        let task = Task::read(BluequeLayout::Document, "1", values.to_vec()).unwrap();
        assert_eq!(task.node.as_deref(), Some("w"));
        assert_eq!(task.pid, Some(7));
        assert_eq!(task.others["billing"], "x");
        assert_eq!(task.others.len(), 1);
    }
}
