//! `windlass job get`: prints the details of a job.

use std::time::Duration;

use windlass::duration;
use windlass_api::{AttemptReply, JobReply, timestamp};

use crate::commands::verb::Print;
use crate::output::Output;

impl Print for JobReply {
    fn print(&self, output: &mut Output) {
        output.fields(fields(self));
        if !self.attempts.is_empty() {
            output.line("");
        }
        let header = ["attempt", "how", "started", "took", "worker", "error"];
        output.flexible_table(&header, self.attempts.iter().map(attempt).collect(), 1);
    }
}

/// The row of an attempt. A table has only the first line of its error.
fn attempt(attempt: &AttemptReply) -> Vec<String> {
    let time = |text: &str| timestamp::parse(text).unwrap_or_default();
    let took = time(&attempt.ended_at).since(time(&attempt.started_at));
    let error = attempt
        .error
        .as_deref()
        .and_then(|error| error.lines().next());
    vec![
        attempt.attempt.to_string(),
        attempt.how.to_owned(),
        attempt.started_at.clone(),
        duration::short(took),
        attempt.worker.clone().unwrap_or_default(),
        error.unwrap_or_default().to_owned(),
    ]
}

/// Returns the names and values of all fields, in the order in which people read them.
pub(in crate::commands) fn fields(job: &JobReply) -> Vec<(&'static str, Option<String>)> {
    let percent = |fraction: f64| format!("{:.0}%", fraction * 100.0);
    let headers = job
        .headers
        .iter()
        .map(|(name, value)| format!("{name}: {value}"));
    let headers: Vec<_> = headers.collect();
    let time = |ms| duration::format(Duration::from_millis(ms));
    vec![
        ("id", Some(job.id.clone())),
        ("queue", Some(job.queue.clone())),
        ("state", Some(job.state.to_owned())),
        ("reason", job.reason.map(ToOwned::to_owned)),
        ("error", job.error.clone()),
        ("kind", job.kind.clone()),
        ("priority", Some(job.priority.to_string())),
        ("group", job.group.clone()),
        (
            "attempt",
            Some(format!("{} of {}", job.attempt, job.max_attempts)),
        ),
        (
            "expiries",
            (job.expiries > 0).then(|| job.expiries.to_string()),
        ),
        ("progress", job.progress.map(percent)),
        ("message", job.progress_message.clone()),
        ("created", Some(job.created_at.clone())),
        ("due", Some(job.due_at.clone())),
        ("expires", job.expires_at.clone()),
        ("started", job.started_at.clone()),
        ("finished", job.finished_at.clone()),
        ("worker", job.worker.clone()),
        ("lease until", job.lease_until.clone()),
        (
            "stop requested",
            job.cancel_requested.then(|| "yes".to_owned()),
        ),
        ("unique key", job.unique_key.clone()),
        ("unique until", job.unique_until.map(ToOwned::to_owned)),
        ("unique for", job.unique_for_ms.map(time)),
        ("schedule", job.schedule.clone()),
        ("headers", (!headers.is_empty()).then(|| headers.join("\n"))),
        ("payload", job.payload.clone()),
        ("payload (base64)", job.payload_base64.clone()),
        ("result", job.result.clone()),
        ("result (base64)", job.result_base64.clone()),
    ]
}
