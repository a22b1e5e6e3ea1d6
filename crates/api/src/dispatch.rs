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
    Accept, ApiResult, Audit, Cancel, Claim, CommandWorker, Complete, Delete, Enqueue, EnqueueAll,
    Fail, FailWorker, Get, Heartbeat, Leave, List, Maintain, OutcomesReply, Pause, Progress,
    Promote, Purge, QueueRequest, Queues, Register, Release, Renew, Resume, Retry, Set,
    ShowSettings, Snooze, Stats, StoreRequest, WAIT_MAX, Wait, Workers,
};

/// The longest that a cancelled claim goes on waiting. A claim in progress is never dropped, since its
/// jobs would stay leased without an owner.
const SLICE: Duration = Duration::from_secs(1);

/// Defines all ops: those on one queue, then those on the store.
macro_rules! ops {
    (queue: $($queue:ident),*; store: $($store:ident),*) => {
        /// A parsed request.
        #[derive(Debug)]
        #[expect(missing_docs, reason = "each variant is the request of the same name")]
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
    queue: Enqueue, EnqueueAll, Claim, Accept, Renew, Progress, Complete, Fail, Release, Snooze, Cancel,
        Retry, Delete, Promote, Get, List, Wait, Stats, Pause, Resume, Purge, ShowSettings, Set,
        Maintain, Audit;
    store: Queues, Register, Heartbeat, Leave, Workers, FailWorker, CommandWorker
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
                    return Ok(Reply::Claim(ClaimReply::all(queue, claimed.as_ref())));
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
        let jobs = match self {
            Self::Claim(jobs) => jobs,
            Self::Complete(OutcomesReply::Many {
                claimed: Some(jobs),
                ..
            }) => jobs,
            _ => return Vec::new(),
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
