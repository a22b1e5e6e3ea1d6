//! Generates calls about groups: few names, so that groups have many jobs.

use fastrand::Rng;
use windlass_core::store::{GroupChange, GroupName, OwnLimit, Setting};
use windlass_core::{Change, Filter, Target};

use super::super::callers::Callers;
use super::super::operation::Operation;
use super::super::random::{percent, pick};

const NAMES: &[&str] = &["acme", "b", "b 2", "ö", "zoo"];

pub(super) fn name(rng: &mut Rng) -> GroupName {
    GroupName::new(*pick(rng, NAMES)).expect("a valid name")
}

/// Changes the limits of a group, pauses it, or mostly resumes it.
pub(super) fn set(callers: &mut Callers) -> Operation {
    let queue = callers.queue();
    let rng = &mut callers.rng;
    let mut change = GroupChange::default();
    match rng.u8(..10) {
        0 => change.is_paused = Some(true),
        1..4 => change.is_paused = Some(false),
        4..7 => {
            let limits = [
                OwnLimit::Default,
                OwnLimit::None,
                OwnLimit::At(1),
                OwnLimit::At(3),
            ];
            change.max_running = Some(*pick(rng, &limits));
        }
        _ => {
            let rate = pick(rng, &["default", "none", "1/1s", "5/1m"]);
            change.rate = Some(rate.parse().expect("a valid rate"));
            let burst = [OwnLimit::Default, OwnLimit::At(2), OwnLimit::At(7)];
            change.burst = percent(rng, 40).then(|| *pick(rng, &burst));
        }
    }
    let name = name(rng);
    if callers.has_groups {
        Operation::SetGroup(queue, name, change)
    } else {
        Operation::Group(queue, name)
    }
}

pub(super) fn read(callers: &mut Callers) -> Operation {
    let queue = callers.queue();
    if callers.rng.bool() {
        let limit = *pick(&mut callers.rng, &[1, 2, 100]);
        Operation::Groups(queue, limit)
    } else {
        Operation::Group(queue, name(&mut callers.rng))
    }
}

/// Changes how long jobs hold a slot. A queue that still has running jobs refuses that.
pub(super) fn change_slots(callers: &mut Callers) -> Operation {
    let queue = callers.queue();
    if !callers.has_groups {
        return Operation::Groups(queue, 100);
    }
    let slot = pick(
        &mut callers.rng,
        &["run", "job", "job", "success", "success"],
    );
    let setting: Setting = format!("group_slot={slot}")
        .parse()
        .expect("a valid setting");
    let all = Target::Filter(Filter::default());
    callers.urgent.push(Operation::Set(queue.clone(), setting));
    callers
        .urgent
        .push(Operation::Change(queue.clone(), Change::Delete, all));
    if callers.rng.bool() {
        for boot in callers.workers.iter().map(|worker| worker.boot.clone()) {
            callers.urgent.push(Operation::Purge(queue.clone()));
            callers
                .urgent
                .push(Operation::Leave(boot, Some(queue.clone())));
        }
    }
    Operation::Purge(queue)
}
