//! Prints tasks.

use std::collections::BTreeMap;

use crate::blueque::Task;
use serde::Serialize;
use windlass_api::content;

use windlass_terminal::output::Output;
use windlass_terminal::session::Session;

/// JSON form of a task. Bytes that are not UTF-8 are in separate base64 fields.
#[derive(Debug, Serialize)]
pub(super) struct TaskReply {
    id: String,
    status: String,
    queue: Option<String>,
    parameters: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    parameters_base64: Option<String>,
    result: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    result_base64: Option<String>,
    error: Option<String>,
    node: Option<String>,
    pid: Option<i64>,
    created: Option<f64>,
    updated: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    eta: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reclaimed_node: Option<String>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    others: BTreeMap<String, String>,
}

impl TaskReply {
    pub(super) fn new(task: &Task) -> Self {
        let (parameters, parameters_base64) = content::split(task.parameters.as_ref());
        let (result, result_base64) = content::split(task.result.as_ref());
        let shown = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let others = task.others.iter();
        Self {
            id: task.id.clone(),
            status: task.status.clone(),
            queue: task.queue.clone(),
            parameters,
            parameters_base64,
            result,
            result_base64,
            error: task.error.as_deref().map(shown),
            node: task.node.clone(),
            pid: task.pid,
            created: task.created,
            updated: task.updated,
            eta: task.eta,
            reclaimed_node: task.reclaimed_node.clone(),
            others: others
                .map(|(name, value)| (name.clone(), shown(value)))
                .collect(),
        }
    }

    fn print(&self, output: &mut Output) {
        let number = |number: Option<f64>| number.map(|number| number.to_string());
        let mut fields = vec![
            ("id", Some(self.id.clone())),
            ("status", Some(self.status.clone())),
            ("queue", self.queue.clone()),
            (
                "parameters",
                self.parameters.clone().or(self.parameters_base64.clone()),
            ),
            ("result", self.result.clone().or(self.result_base64.clone())),
            ("error", self.error.clone()),
            ("node", self.node.clone()),
            ("pid", self.pid.map(|pid| pid.to_string())),
            ("created", number(self.created)),
            ("updated", number(self.updated)),
            ("eta", number(self.eta)),
            ("reclaimed node", self.reclaimed_node.clone()),
        ];
        let others = self.others.iter();
        fields.extend(others.map(|(name, value)| (name.as_str(), Some(value.clone()))));
        output.fields(fields);
    }
}

/// Prints a task, or a note that no task is available.
pub(super) fn print(session: &mut Session, task: Option<&Task>) {
    let reply = task.map(TaskReply::new);
    session.output.result(&reply, |output| match &reply {
        Some(reply) => reply.print(output),
        None => output.note("no task available"),
    });
}
