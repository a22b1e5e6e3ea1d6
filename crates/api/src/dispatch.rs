//! Executes an op by name. One table lists all ops.

use serde_json::value::{RawValue, to_raw_value};
use windlass_core::{Error as CoreError, QueueName, Store};

use crate::error::Error;
use crate::fields::Fields;
use crate::request::{
    Accept, ApiResult, Audit, Cancel, Claim, CommandWorker, Complete, Delete, Enqueue, EnqueueAll,
    Fail, FailWorker, Get, Heartbeat, Leave, List, Maintain, Pause, Progress, Promote, Purge,
    QueueRequest, Queues, Register, Release, Renew, Resume, Retry, Set, ShowSettings, Snooze,
    Stats, StoreRequest, Wait, Workers,
};

/// Calls a macro with all ops: those on one queue, then those on the store.
macro_rules! every_op {
    ($each:ident) => {
        $each! {
            queue: Enqueue, EnqueueAll, Claim, Accept, Renew, Progress, Complete, Fail, Release, Snooze,
                Cancel, Retry, Delete, Promote, Get, List, Wait, Stats, Pause, Resume, Purge,
                ShowSettings, Set, Maintain, Audit;
            store: Queues, Register, Heartbeat, Leave, Workers, FailWorker, CommandWorker
        }
    };
}

/// Executes an op. `fields` are its parameters; those on one queue need a field `queue`.
pub async fn dispatch(store: &dyn Store, op: &str, mut fields: Fields) -> ApiResult<Box<RawValue>> {
    macro_rules! execute {
        (queue: $($queue:ident),*; store: $($store:ident),*) => {
            match op {
                $(<$queue as QueueRequest>::OP => {
                    let queue = queue_of(&mut fields)?;
                    let request: $queue = fields.read()?;
                    to_json(request.execute(store, &queue).await?)
                })*
                $(<$store as StoreRequest>::OP => {
                    let request: $store = fields.read()?;
                    to_json(request.execute(store).await?)
                })*
                _ => Err(unknown(op)),
            }
        };
    }
    every_op!(execute)
}

/// Returns the names of all ops.
pub fn ops() -> Vec<&'static str> {
    macro_rules! list {
        (queue: $($queue:ident),*; store: $($store:ident),*) => {
            vec![$(<$queue as QueueRequest>::OP,)* $(<$store as StoreRequest>::OP,)*]
        };
    }
    every_op!(list)
}

fn queue_of(fields: &mut Fields) -> ApiResult<QueueName> {
    let name: Option<String> = fields.take("queue")?;
    let name = name.ok_or_else(|| {
        let help = "add \"queue\":\"NAME\"";
        CoreError::invalid("request", "missing field queue", help)
    })?;
    Ok(QueueName::new(name)?)
}

fn to_json(reply: impl serde::Serialize) -> ApiResult<Box<RawValue>> {
    to_raw_value(&reply).map_err(|error| {
        let help = "this is a bug in Windlass; please report it";
        Error::new(
            "internal",
            format!("cannot encode the reply: {error}"),
            help,
        )
    })
}

fn unknown(op: &str) -> Error {
    CoreError::unknown("op", op, &ops()).into()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::{Value, json};
    use windlass_core::SystemClock;
    use windlass_store_memory::MemoryStore;

    use super::*;

    async fn call(store: &dyn Store, line: Value) -> Result<Value, Error> {
        let mut fields = Fields::parse(&line.to_string())?;
        let op: String = fields.take("op")?.unwrap_or_default();
        let reply = dispatch(store, &op, fields).await?;
        Ok(serde_json::from_str(reply.get()).unwrap())
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
            assert_eq!(error.code, code, "{line}");
        }
    }

    #[test]
    fn each_op_name_is_unique() {
        let mut names = ops();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), ops().len());
    }
}
