//! Workers: a caller reaches those whose queues it reaches.

use windlass_api::request::{Heartbeat, Register};
use windlass_api::{Fields, WorkerReply, dispatch};
use windlass_core::{Clock, QueueName, SystemClock, Timestamp, WorkerRecord};

use super::{Answered, json, json_text};
use crate::error::Refusal;
use crate::request::{Call, check_reach};
use crate::scope::Grant;
use crate::state::{BODY_BYTES_MAX, Door};

fn reaches(grant: &Grant, worker: &WorkerRecord) -> bool {
    let queues = &worker.new.queues;
    // One that names no queue may be anybody's.
    grant.reaches_all() || !queues.is_empty() && queues.iter().all(|queue| grant.reaches(queue))
}

/// The workers that the caller reaches.
pub(super) async fn list(door: &Door, grant: &Grant) -> Answered {
    let now = Timestamp::from_ms(SystemClock.now_us() / 1000);
    let workers = door.store.workers().await?;
    let seen = workers.iter().filter(|worker| reaches(grant, worker));
    let replies: Vec<_> = seen.map(|worker| WorkerReply::new(worker, now)).collect();
    json(&replies)
}

/// A verb on one worker.
pub(super) async fn one(door: &Door, mut call: Call) -> Answered {
    check_worker(door, &call.grant, call.worker()).await?;
    let fields = call.fields(BODY_BYTES_MAX).await?;
    verb(door, call.route.op, fields).await
}

/// Refuses a worker of queues that the caller does not reach; one that nobody knows is for the
/// verb to tell.
async fn check_worker(door: &Door, grant: &Grant, id: &str) -> Result<(), Refusal> {
    if grant.reaches_all() {
        return Ok(());
    }
    let workers = door.store.workers().await?;
    let found = workers.iter().find(|worker| worker.new.boot.as_str() == id);
    if found.is_none_or(|worker| reaches(grant, worker)) {
        return Ok(());
    }
    let why = "the token is not good for all queues of this worker";
    let help = "use a token whose pattern matches them";
    Err(Refusal::new("forbidden", why, help))
}

/// Makes a worker known, with queues that the caller reaches; it may not take the place of one that
/// the caller does not.
pub(super) async fn register(door: &Door, mut call: Call) -> Answered {
    let fields = call.fields(BODY_BYTES_MAX).await?;
    // Read as the verb reads it, so that no shape of it gets by.
    let named: Register = fields.read()?;
    check_all(&call.grant, &named.queues)?;
    if named.queues.is_empty() && !call.grant.reaches_all() {
        let why = "the token is not good for a worker that names no queues";
        let help = "name its queues; the token's pattern has to match them";
        return Err(Refusal::new("forbidden", why, help));
    }
    if let Some(id) = named.worker {
        check_worker(door, &call.grant, &id).await?;
    }
    verb(door, call.route.op, fields).await
}

/// Shows that a worker lives; the jobs it names are of queues that the caller reaches.
pub(super) async fn heartbeat(door: &Door, mut call: Call) -> Answered {
    check_worker(door, &call.grant, call.worker()).await?;
    let fields = call.fields(BODY_BYTES_MAX).await?;
    let named: Heartbeat = fields.read()?;
    check_all(&call.grant, named.running.iter().map(|job| &job.queue))?;
    verb(door, call.route.op, fields).await
}

/// Refuses names of queues that the caller does not reach.
fn check_all<'a>(
    grant: &Grant,
    queues: impl IntoIterator<Item = &'a String>,
) -> Result<(), Refusal> {
    for name in queues {
        check_reach(grant, &QueueName::new(name)?)?;
    }
    Ok(())
}

async fn verb(door: &Door, op: &str, fields: Fields) -> Answered {
    let answer = dispatch(door.store.as_ref(), op, fields).await?;
    Ok(json_text(answer.get().to_owned()))
}
