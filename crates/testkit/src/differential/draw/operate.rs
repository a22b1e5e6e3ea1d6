//! Draws what operators do, and what workers say of themselves.

use windlass_core::{
    BootId, Filter, Heartbeat, JobState, NewWorker, Setting, Target, WorkerCommand,
};

use super::super::chance::{percent, pick};
use super::super::step::{Change, Step};
use super::super::world::World;
use super::job;

/// Values of settings: tight ones that bite at once, and the defaults.
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
    "poison_after=3",
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
];

fn change(world: &mut World, change: Change) -> Step {
    let rng = &mut world.rng;
    let target = match rng.u8(..20) {
        0 => Target::UniqueKey(job::key(rng)),
        1 if change == Change::Cancel => Target::Payload(job::payload(rng)),
        2 => Target::Filter(filter(world)),
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
    Step::Change(world.queue(), change, target)
}

fn filter(world: &mut World) -> Filter {
    let rng = &mut world.rng;
    let state = percent(rng, 70).then(|| *pick(rng, JobState::ALL));
    let kind = percent(rng, 40).then(|| job::kind(rng));
    Filter { state, kind }
}

pub(super) fn cancel(world: &mut World) -> Step {
    change(world, Change::Cancel)
}

pub(super) fn retry(world: &mut World) -> Step {
    change(world, Change::Retry)
}

pub(super) fn delete(world: &mut World) -> Step {
    change(world, Change::Delete)
}

pub(super) fn promote(world: &mut World) -> Step {
    change(world, Change::Promote)
}

pub(super) fn purge(world: &mut World) -> Step {
    Step::Purge(world.queue())
}

pub(super) fn maintain(world: &mut World) -> Step {
    let limit = *pick(&mut world.rng, &[1, 3, 100, 100, 5_000]);
    Step::Maintain(world.queue(), limit)
}

pub(super) fn audit(world: &mut World) -> Step {
    Step::Audit(world.queue())
}

pub(super) fn pause(world: &mut World) -> Step {
    Step::Pause(world.queue())
}

pub(super) fn resume(world: &mut World) -> Step {
    Step::Resume(world.queue())
}

pub(super) fn set(world: &mut World) -> Step {
    let text = pick(&mut world.rng, SETTINGS);
    let setting: Setting = text.parse().expect("the table holds valid settings");
    Step::Set(world.queue(), setting)
}

/// Something that only reads.
pub(super) fn look(world: &mut World) -> Step {
    let queue = world.queue();
    match world.rng.u8(..6) {
        0 => Step::Settings(queue),
        1 => Step::Stats(queue),
        2 => Step::Get(queue, job::name(&mut world.rng)),
        3 => {
            let limit = *pick(&mut world.rng, &[1, 7, 1_000]);
            Step::List(queue, filter(world), limit)
        }
        4 => Step::Queues,
        _ => Step::Workers,
    }
}

/// A worker that lives, or one that did.
fn some_boot(world: &mut World) -> BootId {
    let index = world.rng.usize(..world.lives.len());
    if percent(&mut world.rng, 10) {
        return BootId::new("nobody").expect("a short plain name is valid");
    }
    world.lives[index].boot.clone()
}

pub(super) fn register(world: &mut World) -> Step {
    let boot = some_boot(world);
    let count = if percent(&mut world.rng, 70) { 1 } else { 2 };
    Step::Register(NewWorker {
        boot,
        name: "worker".to_owned(),
        host: "here".to_owned(),
        pid: world.rng.u32(1..1000),
        version: "0.1.0".to_owned(),
        queues: world.queues()[..count].to_vec(),
    })
}

pub(super) fn heartbeat(world: &mut World) -> Step {
    let boot = some_boot(world);
    let queue = world.queue();
    let running = if world.rng.bool() {
        vec![(queue, job::name(&mut world.rng))]
    } else {
        vec![]
    };
    Step::Heartbeat(Heartbeat { boot, running })
}

pub(super) fn leave(world: &mut World) -> Step {
    let boot = some_boot(world);
    let queue = world.rng.bool().then(|| world.queue());
    Step::Leave(boot, queue)
}

pub(super) fn fail_worker(world: &mut World) -> Step {
    Step::FailWorker(some_boot(world))
}

pub(super) fn command(world: &mut World) -> Step {
    let command = *pick(
        &mut world.rng,
        &[
            WorkerCommand::Continue,
            WorkerCommand::Pause,
            WorkerCommand::Stop,
        ],
    );
    Step::Command(some_boot(world), command)
}
