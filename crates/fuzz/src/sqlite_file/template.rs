//! The file of a store with a job in every state. It has the same bytes in every run.

use std::path::Path;
use std::sync::{Arc, LazyLock};

use rusqlite::Connection;
use tempfile::TempDir;
use windlass_api::{Request, dispatch};
use windlass_core::store::Retry;
use windlass_core::{
    BootId, ClaimRequest, JobId, JobLease, ManualClock, QueueName, Result, Store, Timestamp,
};
use windlass_store_sqlite::{Options, SqliteStore, Synchronous};

/// 2026-01-31T08:05:00Z.
pub(super) const START: Timestamp = Timestamp::from_ms(1_769_846_700_000);

/// The token of the worker's claim.
pub(super) const TOKEN: &str = "1769846700000000-00000007";

const NONCE: u32 = 7;

const JOBS: &str = r#"
{"op":"set","queue":"q","settings":{"keep_succeeded":"all","requeue":"back"}}
{"op":"register","worker":"boot","name":"w","host":"h","queues":["q"]}
{"op":"enqueue","queue":"q","id":"running","priority":1,"timeout":"9s","max_attempts":3}
{"op":"enqueue","queue":"q","id":"done","priority":2}
{"op":"enqueue","queue":"q","id":"dead","priority":3}
{"op":"enqueue","queue":"q","id":"ready","kind":"k","unique_key":"key","headers":{"a":"b"},"expires":"1h"}
{"op":"enqueue","queue":"q","id":"single","priority":0}
{"op":"enqueue","queue":"q","id":"scheduled","delay":"30s"}
{"op":"enqueue","queue":"q","id":"cancelled"}
{"op":"cancel","queue":"q","id":"cancelled"}
"#;

/// The bytes of the file.
pub(super) static FILE: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let folder = in_memory_folder();
    let path = folder.path().join("jobs.db");
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build();
    let runtime = runtime.expect("a runtime can be built");
    runtime
        .block_on(create(&path))
        .expect("a store can be created");
    // Moves everything from the log to the file.
    let db = Connection::open(&path).expect("the file can be opened");
    db.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))
        .expect("the log can be written back");
    drop(db);
    std::fs::read(&path).expect("the file can be read")
});

/// A folder in memory, where there is one.
pub(super) fn in_memory_folder() -> TempDir {
    tempfile::tempdir_in("/dev/shm")
        .or_else(|_| tempfile::tempdir())
        .expect("a folder can be created")
}

async fn create(path: &Path) -> Result<()> {
    let options = Options {
        clock: Arc::new(ManualClock::new(START)),
        synchronous: Synchronous::Off,
        ..Options::default()
    };
    let store = SqliteStore::open(path, options)?;
    for line in JOBS.lines().filter(|line| !line.is_empty()) {
        let (queue, request) = Request::parse_line(line)?;
        let reply = dispatch(&store, queue.as_ref(), request).await;
        reply.unwrap_or_else(|error| panic!("{line}: {error:?}"));
    }
    let queue = QueueName::new("q")?;
    let claim = async |request: ClaimRequest| {
        let request = ClaimRequest {
            nonce: NONCE,
            ..request
        };
        let claim = store.claim(&queue, request).await?;
        Ok::<_, windlass_core::Error>(claim.expect("jobs are ready").token)
    };
    claim(ClaimRequest::single(1)).await?;
    let token = claim(ClaimRequest::worker(BootId::new("boot")?, 1, 3)).await?;
    let lease = |id| Ok::<_, windlass_core::Error>(JobLease::new(JobId::new(id)?, token));
    let done = lease("done")?.completion().result("result");
    store.complete(&queue, vec![done], None).await?;
    let dead = lease("dead")?.failure("no").retry(Retry::Permanent);
    store.fail(&queue, vec![dead]).await?;
    Ok(())
}
