//! [`Request`] and [`Reply`]: every op by name, from one table, and its execution.

use std::time::Duration;

use serde::Serialize;
use tokio_util::sync::CancellationToken;
use windlass_core::wait::Deadline;
use windlass_core::{Error as CoreError, JobLease, QueueName, Result, Store};

use crate::claim::ClaimReply;
use crate::error::Error;
use crate::fields::Fields;
use crate::request::{
    Accept, Actions, ApiResult, ApplySchedules, Audit, Backfill, Cancel, Claim, ClearError,
    CommandWorker, Complete, Delete, DeleteQueue, DeleteSchedule, Enqueue, EnqueueAll, Errors,
    Fail, FailWorker, Get, GetGroup, GetSchedule, Groups, Heartbeat, History, Leave, List,
    Maintain, NextInstants, OutcomesReply, Pause, PauseGroup, PauseSchedule, Progress, Promote,
    Purge, QueueRequest, Queues, Register, Release, Renew, RenewLeases, Resume, ResumeGroup,
    ResumeSchedule, Retry, RunSchedule, Schedules, Set, SetGroup, ShowSettings, Snooze, Stats,
    StoreRequest, WAIT_MAX, Wait, Why, Workers, target_of,
};
use crate::route::{Method, Route, Scope};
use crate::schedule::PutSchedule;

/// The longest that a cancelled claim goes on waiting. A claim in progress is never dropped, since its
/// jobs would stay leased without an owner.
const SLICE: Duration = Duration::from_secs(1);

/// Defines all ops from one row each: the request and its routes. First those on one queue, then those on
/// the store.
macro_rules! ops {
    (
        queue { $($queue:ident: $($qmethod:ident $qpath:literal $qscope:ident $qsummary:literal),+;)* }
        store { $($store:ident: $($smethod:ident $spath:literal $sscope:ident $ssummary:literal),+;)* }
    ) => {
        /// A parsed request.
        #[derive(Debug)]
        #[expect(missing_docs, reason = "each variant is the request of the same name")]
        #[expect(clippy::large_enum_variant, reason = "one request at a time")]
        pub enum Request { $($queue($queue),)* $($store($store),)* }

        /// The reply to the request of the same name.
        #[derive(Debug, Serialize)]
        #[serde(untagged)]
        #[expect(missing_docs, reason = "each variant is the reply to the request of the same name")]
        pub enum Reply {
            $($queue(<$queue as QueueRequest>::Reply),)*
            $($store(<$store as StoreRequest>::Reply),)*
        }

        impl Request {
            /// The names of all ops.
            pub const OPS: &[&str] =
                &[$(<$queue as QueueRequest>::OP,)* $(<$store as StoreRequest>::OP,)*];

            /// The routes of all ops. The first one of an op accepts all its fields.
            pub const ROUTES: &[Route] = &[
                $($(Route::new(Method::$qmethod, $qpath, Scope::$qscope, <$queue as QueueRequest>::OP, $qsummary)
                    .with_request::<$queue>().with_reply::<<$queue as QueueRequest>::Reply>(),)+)*
                $($(Route::new(Method::$smethod, $spath, Scope::$sscope, <$store as StoreRequest>::OP, $ssummary)
                    .with_request::<$store>().with_reply::<<$store as StoreRequest>::Reply>(),)+)*
            ];

            /// Describes what the request is applied to, for the log of operator actions.
            pub fn target(&self) -> String {
                match self {
                    $(Self::$queue(request) => target_of(request),)*
                    $(Self::$store(request) => target_of(request),)*
                }
            }

            /// Parses a request from a JSON object with the op in the field `op`.
            pub fn parse_line(line: &str) -> Result<(Option<QueueName>, Self)> {
                let mut fields = Fields::parse(line)?;
                let op: String = fields.take("op")?.unwrap_or_default();
                Self::parse(&op, fields)
            }

            /// Parses a request. An op on one queue takes its queue from the field `queue`.
            pub fn parse(op: &str, mut fields: Fields<'_>) -> Result<(Option<QueueName>, Self)> {
                match op {
                    $(<$queue as QueueRequest>::OP => {
                        let queue = fields.take_queue()?;
                        Ok((Some(queue), Self::$queue(fields.read()?)))
                    })*
                    $(<$store as StoreRequest>::OP => Ok((None, Self::$store(fields.read()?))),)*
                    _ => Err(CoreError::unknown("op", op, Self::OPS)),
                }
            }
        }

        /// Executes a request. An op on one queue needs `queue`.
        pub async fn dispatch(
            store: &dyn Store,
            queue: Option<&QueueName>,
            request: Request,
        ) -> ApiResult<Reply> {
            let queue = queue.ok_or_else(missing_queue);
            match request {
                $(Request::$queue(request) => request.execute(store, queue?).await.map(Reply::$queue),)*
                $(Request::$store(request) => request.execute(store).await.map(Reply::$store),)*
            }
        }
    };
}

ops! {
    queue {
        Enqueue: Post "/v1/queues/{queue}/jobs" Enqueue "Enqueues a job";
        EnqueueAll: Post "/v1/queues/{queue}/jobs/batch" Enqueue "Enqueues a batch of jobs in one call";
        Claim: Post "/v1/queues/{queue}/claim" Work "Claims ready jobs and leases them to the caller; waits for jobs for up to 60 seconds";
        Accept: Post "/v1/queues/{queue}/jobs/{id}/accept" Work "Accepts a dispatched job";
        Renew: Post "/v1/queues/{queue}/renew" Work "Renews the lease of a token";
        RenewLeases: Post "/v1/queues/{queue}/renew_leases" Work "Renews the lease of all claims of a worker, and reports which tokens are lost";
        Progress: Post "/v1/queues/{queue}/jobs/{id}/progress" Work "Reports the progress of a job; does not renew the lease";
        Complete: Post "/v1/queues/{queue}/complete" Work "Completes jobs and optionally claims more in the same call",
            Post "/v1/queues/{queue}/jobs/{id}/complete" Work "Completes a job";
        Fail: Post "/v1/queues/{queue}/fail" Work "Fails jobs: each is retried later or becomes dead",
            Post "/v1/queues/{queue}/jobs/{id}/fail" Work "Fails a job: it is retried later or becomes dead";
        Release: Post "/v1/queues/{queue}/release" Work "Releases jobs to the queue without counting the attempts",
            Post "/v1/queues/{queue}/jobs/{id}/release" Work "Releases a job to the queue without counting the attempt";
        Snooze: Post "/v1/queues/{queue}/snooze" Work "Snoozes jobs, their groups or their queue: runs them later without counting the attempts",
            Post "/v1/queues/{queue}/jobs/{id}/snooze" Work "Snoozes a job, its group or its queue: runs it later without counting the attempt";
        Cancel: Post "/v1/queues/{queue}/cancel" Operate "Cancels jobs; running jobs are asked to stop",
            Post "/v1/queues/{queue}/jobs/{id}/cancel" Operate "Cancels a job; a running job is asked to stop";
        Retry: Post "/v1/queues/{queue}/retry" Operate "Retries dead jobs",
            Post "/v1/queues/{queue}/jobs/{id}/retry" Operate "Retries a dead job";
        Delete: Post "/v1/queues/{queue}/delete" Operate "Deletes finished jobs",
            Delete "/v1/queues/{queue}/jobs/{id}" Operate "Deletes a finished job";
        Promote: Post "/v1/queues/{queue}/promote" Operate "Makes scheduled jobs ready now",
            Post "/v1/queues/{queue}/jobs/{id}/promote" Operate "Makes a scheduled job ready now";
        Get: Get "/v1/queues/{queue}/jobs/{id}" Read "Returns a job with its payload and result";
        Why: Get "/v1/queues/{queue}/jobs/{id}/why" Read "Explains why a job waits, and when it probably starts";
        List: Get "/v1/queues/{queue}/jobs" Read "Lists jobs, one page at a time, without payloads and results";
        Wait: Get "/v1/queues/{queue}/jobs/{id}/wait" Read "Waits until a job has finished, for up to 60 seconds";
        Stats: Get "/v1/queues/{queue}" Read "Returns the stats of a queue";
        History: Get "/v1/queues/{queue}/history" Read "Returns the history of a queue, one row per minute";
        Pause: Post "/v1/queues/{queue}/pause" Operate "Pauses a queue: claims return no jobs";
        Resume: Post "/v1/queues/{queue}/resume" Operate "Resumes a paused or resting queue";
        Purge: Post "/v1/queues/{queue}/purge" Admin "Deletes a page of ready, scheduled and pending jobs";
        DeleteQueue: Delete "/v1/queues/{queue}" Admin "Deletes a queue without jobs: its settings, stats and remembered ids";
        ShowSettings: Get "/v1/queues/{queue}/settings" Read "Returns the settings of a queue";
        Set: Put "/v1/queues/{queue}/settings" Admin "Updates the settings of a queue";
        Groups: Get "/v1/queues/{queue}/groups" Read "Lists the groups of a queue by name, one page at a time";
        GetGroup: Get "/v1/queues/{queue}/groups/{group}" Read "Returns a group with its limits";
        SetGroup: Put "/v1/queues/{queue}/groups/{group}" Operate "Changes the limits of a group, pauses or resumes it";
        PauseGroup: Post "/v1/queues/{queue}/groups/{group}/pause" Operate "Pauses a group: claims return none of its jobs";
        ResumeGroup: Post "/v1/queues/{queue}/groups/{group}/resume" Operate "Resumes a paused or resting group";
        Errors: Get "/v1/queues/{queue}/errors" Read "Lists the errors of failed attempts in groups, the one seen last first";
        ClearError: Delete "/v1/queues/{queue}/errors/{fingerprint}" Operate "Deletes a group of errors; its jobs stay as they are";
        PutSchedule: Put "/v1/queues/{queue}/schedules/{name}" Admin "Creates or changes a schedule; an identical one changes nothing";
        GetSchedule: Get "/v1/queues/{queue}/schedules/{name}" Read "Returns a schedule with its next instants and its history";
        DeleteSchedule: Delete "/v1/queues/{queue}/schedules/{name}" Admin "Deletes a schedule and its history, but not its jobs";
        Schedules: Get "/v1/queues/{queue}/schedules" Read "Lists the schedules of a queue by name, one page at a time";
        RunSchedule: Post "/v1/queues/{queue}/schedules/{name}/run" Operate "Enqueues a job of a schedule now";
        PauseSchedule: Post "/v1/queues/{queue}/schedules/{name}/pause" Operate "Pauses a schedule: its instants pass without firing";
        ResumeSchedule: Post "/v1/queues/{queue}/schedules/{name}/resume" Operate "Resumes a paused schedule";
        NextInstants: Get "/v1/queues/{queue}/schedules/{name}/next" Read "Returns the next instants of a schedule in its time zone, with notes about changes of the clock";
        Backfill: Post "/v1/queues/{queue}/schedules/{name}/backfill" Operate "Enqueues the jobs of a page of instants between two times";
        Maintain: Post "/v1/queues/{queue}/maintain" Operate "Runs maintenance on a page: fires schedules, promotes due jobs, returns jobs with expired leases, prunes finished jobs";
        Audit: Post "/v1/queues/{queue}/audit" Admin "Audits a page of the queue and repairs what is inconsistent";
    }
    store {
        Queues: Get "/v1/queues" Read "Lists all queues with their stats";
        ApplySchedules: Post "/v1/schedules/apply" Admin "Puts a list of schedules, and optionally deletes the others of their set";
        Register: Post "/v1/workers" Work "Registers a worker";
        Heartbeat: Post "/v1/workers/{worker}/heartbeat" Work "Records a heartbeat, renews the leases of the worker and returns its next command";
        Leave: Post "/v1/workers/{worker}/leave" Work "Unregisters a worker and releases its jobs";
        Actions: Get "/v1/actions" Read "Lists the log of operator actions, newest first, one page at a time";
        Workers: Get "/v1/workers" Read "Lists the registered workers";
        FailWorker: Post "/v1/workers/{worker}/fail" Operate "Declares a worker dead and returns its jobs to their queues now";
        CommandWorker: Post "/v1/workers/{worker}/command" Operate "Queues a command for the worker's next heartbeat";
    }
}

pub(crate) fn missing_queue() -> CoreError {
    let help = "add \"queue\":\"NAME\"";
    CoreError::invalid("request", "missing field queue", help)
}

/// Executes a request like [`dispatch`]. One that waits ends early when `cancel` is cancelled.
pub async fn dispatch_until(
    store: &dyn Store,
    queue: Option<&QueueName>,
    request: Request,
    cancel: &CancellationToken,
) -> ApiResult<Reply> {
    match (request, queue) {
        (Request::Claim(claim), Some(queue)) => {
            let is_full = claim.full.unwrap_or(false);
            let (mut claim, wait) = claim.into_request()?;
            let deadline = Deadline::after(Some(wait.min(WAIT_MAX)));
            loop {
                let is_last = cancel.is_cancelled() || deadline.is_over();
                let slice = if is_last {
                    Duration::ZERO
                } else {
                    deadline.clamp(SLICE)
                };
                let claimed = store.claim_waiting(queue, &mut claim, slice).await?;
                if claimed.is_some() || is_last || wait.is_zero() {
                    let claimed = claimed.as_ref();
                    let jobs = ClaimReply::detailed(queue, claimed, &claim.claimer, is_full);
                    return Ok(Reply::Claim(jobs));
                }
            }
        }
        // `wait` only reads, so it is safe to drop.
        (request @ Request::Wait(_), queue) => tokio::select! {
            reply = dispatch(store, queue, request) => reply,
            () = cancel.cancelled() => Err(Error::shutting_down()),
        },
        (request, queue) => dispatch(store, queue, request).await,
    }
}

impl Reply {
    /// Returns the reply as JSON text.
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).expect("replies are structs of plain values")
    }

    /// Returns the leases of the claimed jobs in the reply.
    pub fn leases(&self) -> Vec<JobLease> {
        let (Self::Claim(jobs)
        | Self::Complete(OutcomesReply::Many {
            claimed: Some(jobs),
            ..
        })) = self
        else {
            return Vec::new();
        };
        jobs.iter().filter_map(ClaimReply::lease).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::{Value, json};
    use windlass_core::SystemClock;
    use windlass_store_memory::MemoryStore;

    use super::*;

    async fn call(store: &dyn Store, line: Value) -> Result<Value, Error> {
        let line = line.to_string();
        let (queue, request) = Request::parse_line(&line)?;
        let reply = dispatch(store, queue.as_ref(), request).await?;
        Ok(serde_json::to_value(&reply).unwrap())
    }

    #[tokio::test]
    async fn a_job_is_enqueued_claimed_and_completed_by_op() {
        let store = MemoryStore::new(Arc::new(SystemClock));
        let store: &dyn Store = &store;

        let job = json!({"op":"enqueue","queue":"q","id":"a","payload":{"n":1},"priority":2});
        let job = call(store, job).await.unwrap();
        let claimed = call(store, json!({"op":"claim","queue":"q"}))
            .await
            .unwrap();
        let token = claimed[0]["token"].clone();
        let progress = json!({"op":"progress","queue":"q","id":"a","token":token,"fraction":0.5,"message":"half"});
        call(store, progress).await.unwrap();
        let seen = call(store, json!({"op":"get","queue":"q","id":"a"}))
            .await
            .unwrap();
        let done = json!({"op":"complete","queue":"q","id":"a","token":token,"result":[1]});
        let done = call(store, done).await.unwrap();
        let ended = call(store, json!({"op":"wait","queue":"q","id":"a"}))
            .await
            .unwrap();

        assert_eq!(
            (&job["state"], &claimed[0]["payload"]),
            (&json!("ready"), &json!(r#"{"n":1}"#))
        );
        assert_eq!(seen["progress_message"], "half");
        assert_eq!(done["outcome"], "completed");
        assert_eq!(
            (&ended["state"], &ended["result"]),
            (&json!("succeeded"), &json!("[1]"))
        );
    }

    #[tokio::test]
    async fn errors_have_their_codes() {
        let store = MemoryStore::new(Arc::new(SystemClock));
        for (line, code) in [
            (json!({"op":"dance"}), "invalid"),
            (json!({"op":"get","id":"a"}), "invalid"),
            (json!({"op":"get","queue":"q","id":"a"}), "not_found"),
            (json!({"op":"get","queue":"q","id":"a","x":1}), "invalid"),
            (json!({"op":"get","queue":"q q","id":"a"}), "invalid"),
            (
                json!({"op":"complete","queue":"q","id":"a","token":"1-00000001"}),
                "gone",
            ),
            (json!({"op":"complete","queue":"q"}), "invalid"),
            (json!({"op":"fail_worker","worker":"w"}), "not_found"),
            (
                json!({"op":"command","worker":"w","command":"dance"}),
                "invalid",
            ),
            (json!({"op":"stats","queue":"q"}), "not_found"),
            (
                json!({"op":"cancel","queue":"q","id":"a","all":true}),
                "invalid",
            ),
        ] {
            let error = call(&store, line.clone()).await.unwrap_err();
            assert_eq!(error.code.as_str(), code, "{line}");
        }
    }

    #[test]
    fn each_op_name_is_unique() {
        let mut names = Request::OPS.to_vec();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), Request::OPS.len());
    }
}
