//! A store file that something else has changed: each verb on it works or returns an error, in time.
//!
//! The input is a list of changes to the file of a store with a job in every state: single bytes, and
//! cells of tables, as another program could write them.

mod changes;
mod template;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::timeout;
use windlass_api::{Error, Request, dispatch};
use windlass_core::dump::Dump;
use windlass_core::{ManualClock, QueueName, Result, Store};
use windlass_store_sqlite::{Options, SqliteStore, Synchronous};

use template::{START, in_memory_folder};

/// The deadline of a call to the store.
const CALL_DEADLINE: Duration = Duration::from_secs(2);

/// No call may take this long, however busy the machine is.
const HANG: Duration = Duration::from_secs(30);

/// How far the clock moves before each verb: leases end after a few.
const STEP: Duration = Duration::from_secs(11);

/// The verbs to run, in this order.
const VERBS: &str = r#"
{"op":"queues"}
{"op":"stats","queue":"q"}
{"op":"settings","queue":"q"}
{"op":"list","queue":"q"}
{"op":"get","queue":"q","id":"running"}
{"op":"workers"}
{"op":"heartbeat","worker":"boot"}
{"op":"enqueue","queue":"q","id":"new","unique_key":"key"}
{"op":"enqueue","queue":"q","id":"done"}
{"op":"renew","queue":"q","token":"$token"}
{"op":"claim","queue":"q","max":3}
{"op":"progress","queue":"q","id":"$id","token":"$token","fraction":0.5}
{"op":"complete","queue":"q","id":"$id","token":"$token","result":"r"}
{"op":"claim","queue":"q","max":1}
{"op":"fail","queue":"q","id":"$id","token":"$token","error":"e"}
{"op":"claim","queue":"q","max":1}
{"op":"snooze","queue":"q","id":"$id","token":"$token","delay":"1s"}
{"op":"claim","queue":"q","max":1}
{"op":"release","queue":"q","id":"$id","token":"$token"}
{"op":"cancel","queue":"q","id":"running"}
{"op":"cancel","queue":"q","payload":"large"}
{"op":"promote","queue":"q","all":true}
{"op":"retry","queue":"q","all":true}
{"op":"leave","worker":"boot"}
{"op":"fail_worker","worker":"boot"}
{"op":"maintain","queue":"q"}
{"op":"audit","queue":"q"}
{"op":"set","queue":"q","settings":{"dead_count":"1"}}
{"op":"delete","queue":"q","id":"dead"}
{"op":"pause","queue":"q"}
{"op":"resume","queue":"q"}
{"op":"purge","queue":"q"}
"#;

/// Changes a store file, opens it and runs the verbs.
pub fn run(data: &[u8]) {
    let folder = in_memory_folder();
    let path = folder.path().join("jobs.db");
    changes::write(&path, data);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build();
    let runtime = runtime.expect("a runtime can be built");
    runtime.block_on(use_store(&path));
}

async fn use_store(path: &Path) {
    let clock = Arc::new(ManualClock::new(START));
    let options = Options {
        create: false,
        clock: clock.clone(),
        call_deadline: CALL_DEADLINE,
        synchronous: Synchronous::Off,
        ..Options::default()
    };
    let Ok(store) = SqliteStore::open(path, options) else {
        return;
    };
    let (mut token, mut id) = (template::TOKEN.to_owned(), String::new());
    for line in VERBS.lines().filter(|line| !line.is_empty()) {
        clock.advance(STEP);
        let line = line.replace("$token", &token).replace("$id", &id);
        let reply = in_time(&line, execute(&store, &line)).await;
        if let Ok(reply) = reply
            && let Some(job) = reply.get(0)
        {
            let text = |name: &str| job[name].as_str().unwrap_or_default().to_owned();
            (token, id) = (text("token"), text("id"));
        }
    }
    let queue = QueueName::new("q").expect("the name is valid");
    let _: Result<_> = in_time("dump", store.dump(&queue)).await;
    let _: Result<_> = in_time("check", store.check_file()).await;
    let _: Result<_> = in_time("compact", store.compact()).await;
}

async fn execute(store: &dyn Store, line: &str) -> std::result::Result<serde_json::Value, Error> {
    let (queue, request) = Request::parse_line(line)?;
    let reply = dispatch(store, queue.as_ref(), request).await?;
    Ok(serde_json::from_str(&reply.to_json()).expect("a reply is JSON"))
}

async fn in_time<T>(what: &str, call: impl Future<Output = T>) -> T {
    let reply = timeout(HANG, call).await;
    reply.unwrap_or_else(|_| panic!("{what} did not end within {HANG:?}"))
}
