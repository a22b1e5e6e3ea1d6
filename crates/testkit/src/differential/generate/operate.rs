//! Generates operator and worker calls.

use std::time::Duration;

use fastrand::Rng;
use windlass_core::store::{Fingerprint, Heartbeat, NewWorker, Setting, WorkerCommand};
use windlass_core::{BootId, Change, Filter, JobState, Target};

use super::super::callers::Callers;
use super::super::operation::Operation;
use super::super::random::{percent, pick};
use super::{job, outcome, schedule};

/// Settings: low limits that take effect quickly, and the defaults.
const SETTINGS: &[&str] = &[
    "dedup_for=0s",
    "dedup_for=3s",
    "dedup_for=1h",
    "dedup_max=2",
    "dedup_max=6",
    "dedup_max=100000",
    "requeue=front",
    "requeue=front",
    "requeue=back",
    "poison_after=1",
    "poison_after=2",
    "poison_after=3",
    "poison_after=4",
    "poison_after=5",
    "keep_succeeded=with_result",
    "keep_succeeded=all",
    "keep_succeeded=nothing",
    "succeeded_age=4s",
    "succeeded_age=1h",
    "succeeded_age=all",
    "succeeded_count=0",
    "succeeded_count=3",
    "succeeded_count=all",
    "succeeded_bytes=40",
    "succeeded_bytes=all",
    "dead_age=5s",
    "dead_age=30d",
    "dead_age=30d",
    "dead_count=2",
    "dead_count=100000",
    "dead_count=100000",
    "dead_bytes=80",
    "dead_bytes=all",
    "dead_bytes=all",
    "cancelled_age=2s",
    "cancelled_age=1h",
    "cancelled_count=1",
    "cancelled_count=all",
    "cancelled_bytes=30",
    "cancelled_bytes=all",
    "partition_at=7",
    "max_running=1",
    "max_running=3",
    "max_running=none",
    "max_running=none",
    "max_running=none",
    "rate=3/1s",
    "rate=40/1m",
    "rate=none",
    "rate=none",
    "rate=none",
    "burst=1",
    "burst=4",
    "group_max_running=1",
    "group_max_running=2",
    "group_max_running=none",
    "group_max_running=none",
    "group_rate=2/1s",
    "group_rate=20/1m",
    "group_rate=none",
    "group_rate=none",
    "group_burst=1",
    "group_burst=3",
];

fn change(callers: &mut Callers, change: Change) -> Operation {
    let rng = &mut callers.rng;
    let target = match rng.u8(..20) {
        0 => Target::UniqueKey(job::key(rng)),
        1 if change == Change::Cancel => Target::Payload(job::payload(rng)),
        1..3 if change == Change::Delete => Target::UniqueKey(job::key(rng)),
        2 => Target::Filter(filter(callers)),
        3..6 if !callers.scheduled.is_empty() => {
            Target::Ids(vec![pick(rng, &callers.scheduled).clone()])
        }
        _ => {
            let count = *pick(rng, &[1, 1, 2, 4]);
            let mut ids = Vec::new();
            for _ in 0..count {
                let id = job::name(rng);
                if !ids.contains(&id) {
                    ids.push(id);
                }
            }
            Target::Ids(ids)
        }
    };
    Operation::Change(callers.queue(), change, target)
}

fn filter(callers: &mut Callers) -> Filter {
    let rng = &mut callers.rng;
    let state = percent(rng, 70).then(|| *pick(rng, JobState::ALL));
    let kind = percent(rng, 40).then(|| job::kind(rng));
    let age = |rng: &mut Rng| Duration::from_millis(*pick(rng, &[0, 1, 500, 3_000, 60_000]));
    let mut filter = Filter {
        state,
        kind,
        ..Filter::default()
    };
    match rng.u8(..14) {
        0 => filter.text = Some((*pick(rng, &["a", "1", "\"", "fail"])).to_owned()),
        1 => filter.older_than = Some(age(rng)),
        2 => filter.newer_than = Some(age(rng)),
        3 => filter.min_attempt = Some(2),
        4 => filter.group = Some(super::group::name(rng)),
        5 => filter.worker = Some(callers.workers[0].boot.clone()),
        6 => filter.header = Some("trace".parse().expect("a header name")),
        _ => {}
    }
    filter
}

pub(super) fn cancel(callers: &mut Callers) -> Operation {
    change(callers, Change::Cancel)
}

pub(super) fn retry(callers: &mut Callers) -> Operation {
    change(callers, Change::Retry)
}

/// Retries all dead jobs while another job has each unique key.
pub(super) fn retry_while_keys_are_held(callers: &mut Callers) -> Operation {
    let queue = callers.queue();
    let all = Target::Filter(Filter::default());
    let retry = Operation::Change(queue.clone(), Change::Retry, all);
    callers.urgent.push(retry);
    Operation::Enqueue(queue, job::one_per_key(callers))
}

pub(super) fn delete(callers: &mut Callers) -> Operation {
    change(callers, Change::Delete)
}

pub(super) fn promote(callers: &mut Callers) -> Operation {
    change(callers, Change::Promote)
}

pub(super) fn purge(callers: &mut Callers) -> Operation {
    Operation::Purge(callers.queue())
}

/// Deletes all jobs that do not run, then the queue.
pub(super) fn delete_queue(callers: &mut Callers) -> Operation {
    let queue = callers.queue();
    let all = Target::Filter(Filter::default());
    let delete = Operation::Change(queue.clone(), Change::Delete, all);
    callers.urgent.push(Operation::DeleteQueue(queue.clone()));
    if callers.rng.bool() {
        callers.urgent.extend(schedule::delete_all(&queue));
    }
    callers.urgent.push(delete);
    Operation::Purge(queue)
}

pub(super) fn maintain(callers: &mut Callers) -> Operation {
    let limit = *pick(&mut callers.rng, &[1, 3, 100, 100, 5_000]);
    Operation::Maintain(callers.queue(), limit)
}

pub(super) fn audit(callers: &mut Callers) -> Operation {
    Operation::Audit(callers.queue())
}

pub(super) fn pause(callers: &mut Callers) -> Operation {
    Operation::SetPaused(callers.queue(), true)
}

pub(super) fn resume(callers: &mut Callers) -> Operation {
    Operation::SetPaused(callers.queue(), false)
}

pub(super) fn set(callers: &mut Callers) -> Operation {
    let text = pick(&mut callers.rng, SETTINGS);
    let setting: Setting = text.parse().expect("a valid setting");
    Operation::Set(callers.queue(), setting)
}

/// Generates a read.
pub(super) fn read(callers: &mut Callers) -> Operation {
    let queue = callers.queue();
    match callers.rng.u8(..9) {
        6 => Operation::Errors(queue),
        8 => {
            let error = outcome::error(&mut callers.rng);
            Operation::ClearError(queue, Fingerprint::of(None, &error))
        }
        0 => Operation::Settings(queue),
        1 => Operation::Stats(queue),
        2 => Operation::Get(queue, job::name(&mut callers.rng)),
        3 => {
            let limit = *pick(&mut callers.rng, &[1, 7, 1_000]);
            Operation::List(queue, filter(callers), limit)
        }
        4 => Operation::Queues,
        5 => Operation::History(queue, *pick(&mut callers.rng, &[1, 60, 1440])),
        _ => Operation::Workers,
    }
}

/// Returns a worker, or occasionally an unknown one.
fn some_boot(callers: &mut Callers) -> BootId {
    let index = callers.rng.usize(..callers.workers.len());
    if percent(&mut callers.rng, 10) {
        return BootId::new("unknown").expect("a valid name");
    }
    callers.workers[index].boot.clone()
}

pub(super) fn register(callers: &mut Callers) -> Operation {
    let boot = some_boot(callers);
    let count = if percent(&mut callers.rng, 70) { 1 } else { 2 };
    Operation::Register(NewWorker {
        boot,
        name: "worker".to_owned(),
        host: "here".to_owned(),
        pid: callers.rng.u32(1..1000),
        version: "0.1.0".to_owned(),
        queues: callers.queues()[..count].to_vec(),
    })
}

pub(super) fn heartbeat(callers: &mut Callers) -> Operation {
    let boot = some_boot(callers);
    let queue = callers.queue();
    let running = if callers.rng.bool() {
        vec![(queue, job::name(&mut callers.rng))]
    } else {
        vec![]
    };
    Operation::Heartbeat(Heartbeat { boot, running })
}

pub(super) fn leave(callers: &mut Callers) -> Operation {
    let boot = some_boot(callers);
    let queue = callers.rng.bool().then(|| callers.queue());
    Operation::Leave(boot, queue)
}

pub(super) fn fail_worker(callers: &mut Callers) -> Operation {
    Operation::FailWorker(some_boot(callers))
}

pub(super) fn command(callers: &mut Callers) -> Operation {
    let command = *pick(
        &mut callers.rng,
        &[
            WorkerCommand::Continue,
            WorkerCommand::Pause,
            WorkerCommand::Stop,
        ],
    );
    Operation::Command(some_boot(callers), command)
}
