//! Outcomes: complete, fail, release and snooze, in requests of a limited size.

use windlass_api::request::{Complete, Fail, FailedJob, Release, Snooze as SnoozeRequest};
use windlass_core::store::{Completed, Completion, Failure, Snooze};
use windlass_core::{ClaimRequest, JobLease, OutcomeStatus, QueueName, Result, Store};

use crate::parts::{after, encoded, parts};
use crate::remote::RemoteStore;

/// The largest body of most requests, with room for its other fields. The server accepts 2 MiB.
const BODY_BYTES_MAX: usize = 2_000_000;

impl RemoteStore {
    pub(crate) async fn send_completions(
        &self,
        queue: &QueueName,
        completions: Vec<Completion>,
        next: Option<ClaimRequest>,
    ) -> Result<Completed> {
        self.limits()
            .check_completions(&completions, next.as_ref())?;
        let bytes = |item: &Completion| encoded(item.result.as_ref().map_or(0, |it| it.len()));
        let parts = parts(completions, BODY_BYTES_MAX, bytes);
        let last = parts.len() - 1;
        let mut statuses = Vec::new();
        let mut claimed = None;
        for (at, part) in parts.into_iter().enumerate() {
            let claim = next.as_ref().filter(|_| at == last);
            let request = Complete {
                jobs: Some(part.into_iter().map(Into::into).collect()),
                claim: claim.map(windlass_api::request::Claim::from),
                ..Complete::default()
            };
            let reply = self.outcomes(queue, request).await;
            let reply = reply.map_err(|error| after(statuses.len(), error))?;
            statuses.extend(reply.statuses);
            claimed = reply.next;
        }
        Ok(Completed {
            statuses,
            next: claimed,
        })
    }

    pub(crate) async fn send_failures(
        &self,
        queue: &QueueName,
        failures: Vec<Failure>,
    ) -> Result<Vec<OutcomeStatus>> {
        failures.iter().try_for_each(Failure::check)?;
        let failures: Vec<_> = failures.into_iter().map(FailedJob::from).collect();
        // A character may need six bytes in JSON.
        let bytes = |failure: &FailedJob| 6 * failure.error.len();
        let mut statuses = Vec::new();
        for jobs in parts(failures, BODY_BYTES_MAX, bytes) {
            let request = Fail {
                jobs: Some(jobs),
                ..Fail::default()
            };
            let reply = self.outcomes(queue, request).await;
            let reply = reply.map_err(|error| after(statuses.len(), error))?;
            statuses.extend(reply.statuses);
        }
        Ok(statuses)
    }

    pub(crate) async fn send_releases(
        &self,
        queue: &QueueName,
        leases: Vec<JobLease>,
    ) -> Result<Vec<OutcomeStatus>> {
        let mut statuses = Vec::new();
        for leases in parts(leases, BODY_BYTES_MAX, |_| 0) {
            let request = Release {
                jobs: Some(leases.into_iter().map(Into::into).collect()),
                ..Release::default()
            };
            let reply = self.outcomes(queue, request).await;
            let reply = reply.map_err(|error| after(statuses.len(), error))?;
            statuses.extend(reply.statuses);
        }
        Ok(statuses)
    }

    pub(crate) async fn send_snoozes(
        &self,
        queue: &QueueName,
        snoozes: Vec<Snooze>,
    ) -> Result<Vec<OutcomeStatus>> {
        snoozes.iter().try_for_each(Snooze::check)?;
        let mut statuses = Vec::new();
        for snoozes in parts(snoozes, BODY_BYTES_MAX, |_| 0) {
            let request = SnoozeRequest {
                jobs: Some(snoozes.into_iter().map(Into::into).collect()),
                ..SnoozeRequest::default()
            };
            let reply = self.outcomes(queue, request).await;
            let reply = reply.map_err(|error| after(statuses.len(), error))?;
            statuses.extend(reply.statuses);
        }
        Ok(statuses)
    }
}
