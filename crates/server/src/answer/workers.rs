//! Workers: a caller reaches those whose queues it reaches.

use serde::Deserialize;
use windlass_api::{Fields, WorkerReply, dispatch};
use windlass_core::{Clock, QueueName, SystemClock, Timestamp, Worker};

use super::{Answered, json, json_text};
use crate::call::{Call, check_reach};
use crate::door::{BODY_BYTES_MAX, Door};
use crate::refusal::Refusal;
use crate::scope::Grant;

fn reaches(grant: &Grant, worker: &Worker) -> bool {
    let mut queues = worker.new.queues.iter();
    grant.reaches_all() || queues.all(|queue| grant.reaches(queue))
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

/// Makes a worker known, with queues that the caller reaches.
pub(super) async fn register(door: &Door, mut call: Call) -> Answered {
    let fields = call.fields(BODY_BYTES_MAX).await?;
    check_all(&call.grant, &fields, |named: &Queues| named.queues.clone())?;
    verb(door, call.route.op, fields).await
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Queues {
    queues: Vec<String>,
}

/// Shows that a worker lives; the jobs it names are of queues that the caller reaches.
pub(super) async fn beat(door: &Door, mut call: Call) -> Answered {
    check_worker(door, &call.grant, call.worker()).await?;
    let fields = call.fields(BODY_BYTES_MAX).await?;
    let queues = |named: &Running| named.running.iter().map(|job| job.queue.clone()).collect();
    check_all(&call.grant, &fields, queues)?;
    verb(door, call.route.op, fields).await
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Running {
    running: Vec<RunningJob>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct RunningJob {
    queue: String,
}

/// Refuses fields that name a queue which the caller does not reach. Fields of another shape are
/// for the verb to refuse.
fn check_all<T: for<'a> Deserialize<'a>>(
    grant: &Grant,
    fields: &Fields,
    queues: impl Fn(&T) -> Vec<String>,
) -> Result<(), Refusal> {
    let Ok(named) = fields.read::<T>() else {
        return Ok(());
    };
    for name in queues(&named) {
        check_reach(grant, &QueueName::new(name)?)?;
    }
    Ok(())
}

async fn verb(door: &Door, op: &str, fields: Fields) -> Answered {
    let answer = dispatch(door.store.as_ref(), op, fields).await?;
    Ok(json_text(answer.get().to_owned()))
}
