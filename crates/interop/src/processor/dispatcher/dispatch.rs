//! Assigns ready jobs to idle workers.

use std::collections::HashSet;

use serde_json::value::RawValue;
use windlass_api::content::Content;
use windlass_api::{Error, Undelivered, timestamp};
use windlass_core::limits::PAGE;
use windlass_core::store::{ClaimedJob, Claimer, WorkerCommand};
use windlass_core::{BootId, Claim, ClaimRequest, JobLease, Mode, QueueName, Result};

use super::object::Object;
use super::reply::json;
use super::{Outgoing, Processor};

impl Processor {
    /// Assigns jobs of a queue to its idle workers. Errors are logged; the next tick retries.
    pub(super) async fn dispatch(&self, queue: &QueueName) -> Outgoing {
        let mut outgoing = Outgoing::default();
        if let Err(error) = self.dispatch_into(queue, &mut outgoing).await {
            let Error { message, help, .. } = Error::from(&error);
            self.error(&format!(
                "cannot dispatch jobs of queue {queue}, will retry: {message}; {help}"
            ));
        }
        outgoing
    }

    async fn dispatch_into(&self, queue: &QueueName, outgoing: &mut Outgoing) -> Result<()> {
        // Requeue jobs that were not accepted in time first, so that they are assigned first.
        windlass_schedule::maintain(self.store.as_ref(), queue, PAGE).await?;
        let stats = self.store.stats(queue).await?;
        if stats.is_none_or(|stats| stats.ready == 0 || stats.is_paused) {
            return Ok(());
        }
        for worker in self.idle_workers(queue).await? {
            let request = ClaimRequest {
                claimer: Claimer::Single {
                    worker: Some(worker.clone()),
                },
                ..ClaimRequest::single(1)
            };
            let request = request.mode(Mode::Dispatch).lease(self.options.lease);
            let Some(claim) = self.store.claim(queue, request).await? else {
                break;
            };
            for job in &claim.jobs {
                let lease = JobLease::new(job.id.clone(), claim.token);
                let claimed = Undelivered {
                    queue: queue.clone(),
                    leases: vec![lease],
                };
                outgoing.put(self.assignment(queue, &worker, &claim, job), Some(claimed));
            }
        }
        Ok(())
    }

    /// Returns the idle workers of a queue, the one seen last first: it is the most likely to be alive.
    async fn idle_workers(&self, queue: &QueueName) -> Result<Vec<BootId>> {
        let (mut workers, now) = self.workers_and_time().await?;
        workers.retain(|worker| {
            worker.new.queues.contains(queue)
                && !worker.running.iter().any(|(running, _)| running == queue)
                && worker.command == WorkerCommand::Continue
                && !self.is_expired(worker, now)
        });
        if workers.is_empty() {
            return Ok(Vec::new());
        }
        let holders = self.holders(queue).await?;
        let busy: HashSet<_> = holders.into_iter().map(|(worker, _)| worker).collect();
        workers.retain(|worker| !busy.contains(&worker.new.boot));
        workers.sort_by_key(|worker| std::cmp::Reverse(worker.last_seen));
        Ok(workers.into_iter().map(|worker| worker.new.boot).collect())
    }

    fn assignment(
        &self,
        queue: &QueueName,
        worker: &BootId,
        claim: &Claim,
        job: &ClaimedJob,
    ) -> String {
        let at = timestamp::format(claim.token.issued_at());
        let topic = format!("workers/{worker}/job_assignment");
        self.envelope(&topic, None, &payload(queue, job, &at))
    }
}

/// Returns the stored payload plus `dispatched_at`. `uuid` and `queue_name`, which the worker needs
/// for its messages, are added if missing, as in jobs enqueued through another interface.
fn payload(queue: &QueueName, job: &ClaimedJob, dispatched_at: &str) -> String {
    let content = Content::of(&job.payload);
    let text = match &content {
        Content::Text(text) => text.as_str(),
        Content::Base64(_) => "",
    };
    let object = Object::parse("payload", text);
    let mut fields: Vec<String> = Vec::new();
    if let Ok(object) = &object {
        // A requeued job may contain the time of an earlier dispatch.
        let kept = object.fields().filter(|(name, _)| *name != "dispatched_at");
        fields.extend(kept.map(|(name, value)| field(name, value)));
    }
    let has = |name| {
        object
            .as_ref()
            .is_ok_and(|object| object.raw(name).is_some())
    };
    for (name, value) in [("uuid", job.id.as_str()), ("queue_name", queue.as_str())] {
        if !has(name) {
            fields.push(format!("\"{name}\":{}", json(&value)));
        }
    }
    if object.is_err() {
        let (name, value) = match &content {
            Content::Text(text) => ("payload", text),
            Content::Base64(base64) => ("payload_base64", base64),
        };
        fields.push(format!("\"{name}\":{}", json(value)));
    }
    fields.push(format!("\"dispatched_at\":\"{dispatched_at}\""));
    format!("{{{}}}", fields.join(","))
}

fn field(name: &str, value: &RawValue) -> String {
    // The stored JSON may have line breaks between values, but never within strings.
    let value = value.get().replace(['\n', '\r'], " ");
    format!("{}:{value}", json(&name))
}

#[cfg(test)]
mod tests {
    use windlass_core::store::Headers;
    use windlass_core::{JobId, NewJob, Priority, Timestamp};

    use super::*;

    fn assigned(stored: &[u8]) -> String {
        let new = NewJob::new(stored.to_vec());
        let job = ClaimedJob {
            id: JobId::new("j").unwrap(),
            kind: None,
            payload: new.payload,
            headers: Headers::default(),
            priority: Priority::default(),
            group: None,
            attempt: 1,
            expiries: 0,
            retry: new.retry,
            timeout: None,
            created_at: Timestamp::default(),
            due_at: Timestamp::default(),
        };
        payload(&QueueName::new("q").unwrap(), &job, "T")
    }

    #[test]
    fn a_worker_gets_the_payload_as_it_was_stored() {
        for (stored, assigned_as) in [
            (
                &br#"{"uuid":"j","queue_name":"q","n" : 1.0}"#[..],
                r#"{"uuid":"j","queue_name":"q","n":1.0,"dispatched_at":"T"}"#,
            ),
            (
                br#"{"uuid":"j","queue_name":"q","dispatched_at":"old","x":[1, 2]}"#,
                r#"{"uuid":"j","queue_name":"q","x":[1, 2],"dispatched_at":"T"}"#,
            ),
            (
                b"{\"to\":[1,\n2]}",
                r#"{"to":[1, 2],"uuid":"j","queue_name":"q","dispatched_at":"T"}"#,
            ),
            (
                b"dear \"Ann\"",
                r#"{"uuid":"j","queue_name":"q","payload":"dear \"Ann\"","dispatched_at":"T"}"#,
            ),
            (
                b"\xff",
                r#"{"uuid":"j","queue_name":"q","payload_base64":"/w==","dispatched_at":"T"}"#,
            ),
        ] {
            assert_eq!(assigned(stored), assigned_as);
        }
    }
}
