//! JSON forms of tasks and processes.

use crate::worqr::Process;
use serde::Serialize;
use windlass::Bytes;
use windlass_api::content::Content;

/// A task. Bytes that are not UTF-8 are in a separate base64 field.
#[derive(Debug, Serialize)]
pub(super) struct TaskReply {
    #[serde(skip_serializing_if = "Option::is_none")]
    task: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    task_base64: Option<String>,
}

/// A task in progress.
#[derive(Debug, Serialize)]
pub(super) struct ProcessReply {
    pub(super) id: String,
    #[serde(flatten)]
    pub(super) task: TaskReply,
}

impl TaskReply {
    pub(super) fn new(task: &Bytes) -> Self {
        let (task, task_base64) = Content::of(task).split();
        Self { task, task_base64 }
    }

    /// Returns the text or the base64 form.
    pub(super) fn shown(&self) -> &str {
        let shown = self.task.as_ref().or(self.task_base64.as_ref());
        shown.map_or("", String::as_str)
    }
}

impl ProcessReply {
    pub(super) fn new(process: Process) -> Self {
        Self {
            task: TaskReply::new(&process.task),
            id: process.id,
        }
    }
}
