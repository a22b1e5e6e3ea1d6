//! From the word of a verb to its answer: the one table of all verbs, for doors that read words.

use serde_json::value::{RawValue, to_raw_value};
use windlass_core::{Error as CoreError, QueueName, Store};

use crate::error::Error;
use crate::fields::Fields;
use crate::request::{
    Accept, Answer, Audit, Cancel, Claim, CommandWorker, Complete, Delete, Enqueue, EnqueueAll,
    Fail, FailWorker, Get, Heartbeat, Leave, List, Maintain, Pause, Progress, Promote, Purge,
    QueueRequest, Queues, Register, Release, Renew, Resume, Retry, Set, ShowSettings, Snooze,
    Stats, StoreRequest, Wait, Workers,
};

/// Calls a macro with all verbs: those on one queue, then those on the whole store.
macro_rules! every_verb {
    ($each:ident) => {
        $each! {
            queue: Enqueue, EnqueueAll, Claim, Accept, Renew, Progress, Complete, Fail, Release, Snooze,
                Cancel, Retry, Delete, Promote, Get, List, Wait, Stats, Pause, Resume, Purge,
                ShowSettings, Set, Maintain, Audit;
            store: Queues, Register, Heartbeat, Leave, Workers, FailWorker, CommandWorker
        }
    };
}

/// Answers a verb. `fields` are what was said besides its word; `queue` is taken out of them.
pub async fn dispatch(store: &dyn Store, op: &str, mut fields: Fields) -> Answer<Box<RawValue>> {
    macro_rules! answer {
        (queue: $($queue:ident),*; store: $($store:ident),*) => {
            match op {
                $(<$queue as QueueRequest>::OP => {
                    let queue = queue_of(&mut fields)?;
                    let request: $queue = fields.read()?;
                    written(request.answer(store, &queue).await?)
                })*
                $(<$store as StoreRequest>::OP => {
                    let request: $store = fields.read()?;
                    written(request.answer(store).await?)
                })*
                _ => Err(unknown(op)),
            }
        };
    }
    every_verb!(answer)
}

/// The words of all verbs.
pub fn ops() -> Vec<&'static str> {
    macro_rules! list {
        (queue: $($queue:ident),*; store: $($store:ident),*) => {
            vec![$(<$queue as QueueRequest>::OP,)* $(<$store as StoreRequest>::OP,)*]
        };
    }
    every_verb!(list)
}

fn queue_of(fields: &mut Fields) -> Answer<QueueName> {
    let name: Option<String> = fields.take("queue")?;
    let name = name.ok_or_else(|| {
        let help = "add \"queue\":\"NAME\"";
        CoreError::invalid("request", "missing field queue", help)
    })?;
    Ok(QueueName::new(name)?)
}

fn written(reply: impl serde::Serialize) -> Answer<Box<RawValue>> {
    to_raw_value(&reply).map_err(|error| {
        let help = "this is a fault of Windlass: report it";
        Error::new(
            "internal",
            format!("the answer cannot be written: {error}"),
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

    async fn ask(store: &dyn Store, line: Value) -> Result<Value, Error> {
        let mut fields = Fields::parse(&line.to_string())?;
        let op: String = fields.take("op")?.unwrap_or_default();
        let answer = dispatch(store, &op, fields).await?;
        Ok(serde_json::from_str(answer.get()).unwrap())
    }

    #[tokio::test]
    async fn a_job_goes_its_whole_way_by_words() {
        let store = MemoryStore::new(Arc::new(SystemClock));
        let store: &dyn Store = &store;

        let job = json!({"op":"enqueue","queue":"q","id":"a","payload":{"n":1},"priority":2});
        let job = ask(store, job).await.unwrap();
        let claimed = ask(store, json!({"op":"claim","queue":"q"})).await.unwrap();
        let token = claimed[0]["token"].clone();
        let progress = json!({"op":"progress","queue":"q","id":"a","token":token,"fraction":0.5,"message":"half"});
        ask(store, progress).await.unwrap();
        let seen = ask(store, json!({"op":"get","queue":"q","id":"a"}))
            .await
            .unwrap();
        let done = json!({"op":"complete","queue":"q","id":"a","token":token,"result":[1]});
        let done = ask(store, done).await.unwrap();
        let ended = ask(store, json!({"op":"wait","queue":"q","id":"a"}))
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
    async fn refusals_have_their_codes() {
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
            let problem = ask(&store, line.clone()).await.unwrap_err();
            assert_eq!(problem.code, code, "{line}");
        }
    }

    #[test]
    fn each_word_is_there_once() {
        let mut words = ops();
        words.sort_unstable();
        words.dedup();
        assert_eq!(words.len(), ops().len());
    }
}
