//! `windlass job get`: prints the details of a job.

use windlass_api::JobReply;

use crate::commands::verb::Print;
use crate::output::Output;

impl Print for JobReply {
    fn print(&self, output: &mut Output) {
        let percent = |fraction: f64| format!("{:.0}%", fraction * 100.0);
        let headers = self
            .headers
            .iter()
            .map(|(name, value)| format!("{name}: {value}"));
        let headers: Vec<_> = headers.collect();
        output.fields(vec![
            ("id", Some(self.id.clone())),
            ("queue", Some(self.queue.clone())),
            ("state", Some(self.state.to_owned())),
            ("reason", self.reason.map(ToOwned::to_owned)),
            ("error", self.error.clone()),
            ("kind", self.kind.clone()),
            ("priority", Some(self.priority.to_string())),
            (
                "attempt",
                Some(format!("{} of {}", self.attempt, self.max_attempts)),
            ),
            (
                "expiries",
                (self.expiries > 0).then(|| self.expiries.to_string()),
            ),
            ("progress", self.progress.map(percent)),
            ("message", self.progress_message.clone()),
            ("created", Some(self.created_at.clone())),
            ("due", Some(self.due_at.clone())),
            ("expires", self.expires_at.clone()),
            ("started", self.started_at.clone()),
            ("finished", self.finished_at.clone()),
            ("worker", self.worker.clone()),
            (
                "stop requested",
                self.cancel_requested.then(|| "yes".to_owned()),
            ),
            ("unique key", self.unique_key.clone()),
            ("headers", (!headers.is_empty()).then(|| headers.join(", "))),
            ("payload", self.payload.clone()),
            ("payload (base64)", self.payload_base64.clone()),
            ("result", self.result.clone()),
            ("result (base64)", self.result_base64.clone()),
        ]);
    }
}
