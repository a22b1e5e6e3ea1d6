//! Generates calls about schedules: few names, so that they are edited, and short intervals, so that they fire.

use std::time::Duration;

use windlass_core::store::{
    Missed, Overlap, Refill, RefillRequest, Rule, Run, ScheduleChange, Times,
};
use windlass_core::{Due, JobId, NewJob, QueueName, Schedule, ScheduleName, Timestamp};

use super::super::callers::Callers;
use super::super::operation::Operation;
use super::super::random::{ms, percent, pick};
use super::{group, job};

const NAMES: &[&str] = &["a", "b", "nightly"];

fn name(callers: &mut Callers) -> ScheduleName {
    ScheduleName::new(*pick(&mut callers.rng, NAMES)).expect("a valid name")
}

/// Deletes all schedules of a queue.
pub(super) fn delete_all(queue: &QueueName) -> impl Iterator<Item = Operation> {
    NAMES.iter().map(|name| {
        let name = ScheduleName::new(name).expect("a valid name");
        Operation::ChangeSchedule(queue.clone(), name, ScheduleChange::Delete)
    })
}

/// Replaces or postpones the waiting job of a schedule.
pub(in super::super) fn amend(callers: &mut Callers, queue: &QueueName, id: JobId) -> Operation {
    Operation::Enqueue(queue.clone(), vec![job::amending(callers, id)])
}

pub(super) fn put(callers: &mut Callers) -> Operation {
    let (name, has_groups) = (name(callers), callers.has_groups);
    let rng = &mut callers.rng;
    // Mostly the same definition again, so that schedules live long enough to fire.
    let rng = if percent(rng, 60) {
        &mut fastrand::Rng::with_seed(name.as_str().len() as u64 + u64::from(rng.u8(..2)))
    } else {
        rng
    };
    let mut rule = Rule::new(Times::Every {
        period: Duration::from_secs(*pick(rng, &[1, 5, 30, 300, 300, 7200])),
        anchor: Timestamp::from_ms(1000 * rng.u64(..3)),
    });
    if let Ok(rule) = &mut rule
        && percent(rng, 30)
    {
        rule.jitter = ms(rng, 0..=3_000);
    }
    let mut template = NewJob::new(job::payload(rng));
    template.kind = percent(rng, 40).then(|| job::kind(rng));
    template.unique_key = percent(rng, 15).then(|| job::key(rng));
    template.group = percent(rng, 20 * u8::from(has_groups)).then(|| group::name(rng));
    job::hold(rng, &mut template);
    template.keep_outcome = percent(rng, 20);
    template.expires = percent(rng, 15).then(|| Due::After(ms(rng, 1_000..=20_000)));
    if percent(rng, 20) {
        template.due = Due::After(ms(rng, 0..=8_000));
    }
    let mut schedule = Schedule::new(name, rule.expect("a valid rule"), template);
    let missed = [
        Missed::Skip,
        Missed::Last,
        Missed::All(1),
        Missed::All(5),
        Missed::All(40),
    ];
    schedule.missed = *pick(rng, &missed);
    // Pending jobs are rare: they need a job that runs longer than the period.
    let overlap = [
        Overlap::Skip,
        Overlap::Allow,
        Overlap::Buffer,
        Overlap::Buffer,
        Overlap::Cancel,
    ];
    schedule.overlap = *pick(rng, &overlap);
    schedule.catch_up = Duration::from_secs(*pick(rng, &[0, 60, 90, 3_600, 86_400]));
    schedule.times = percent(rng, 10).then(|| rng.u64(0..20));
    let is_paused = percent(&mut callers.rng, 10).then(|| callers.rng.bool());
    Operation::PutSchedule(callers.queue(), Box::new(schedule), is_paused)
}

/// Sends instants that a store asked for, sometimes late and more than once.
pub(super) fn refill(callers: &mut Callers) -> Operation {
    if callers.requests.is_empty() {
        return super::operate::maintain(callers);
    }
    let index = callers.rng.usize(..callers.requests.len());
    let (queue, request) = if percent(&mut callers.rng, 80) {
        callers.requests.swap_remove(index)
    } else {
        callers.requests[index].clone()
    };
    Operation::Refill(queue, vec![computed(&request)])
}

fn computed(request: &RefillRequest) -> Refill {
    let plan = windlass_schedule::Plan::new(&request.rule).expect("a valid rule");
    windlass_schedule::compute(&plan, request)
}

/// Sends the instants that a store asks for at once, or keeps the requests for later.
pub(in super::super) fn learn(
    callers: &mut Callers,
    queue: &QueueName,
    requests: &[RefillRequest],
) {
    const REQUESTS_MAX: usize = 12;
    if percent(&mut callers.rng, 80) {
        let refills = requests.iter().map(computed).collect::<Vec<_>>();
        if !refills.is_empty() {
            callers
                .urgent
                .push(Operation::Refill(queue.clone(), refills));
        }
        return;
    }
    let requests = requests.iter().cloned();
    callers
        .requests
        .extend(requests.map(|request| (queue.clone(), request)));
    let over = callers.requests.len().saturating_sub(REQUESTS_MAX);
    callers.requests.drain(..over);
}

pub(super) fn run(callers: &mut Callers) -> Operation {
    let (queue, name) = (callers.queue(), name(callers));
    let now = super::now(callers).as_ms() / 1000;
    let rng = &mut callers.rng;
    let run = if rng.bool() {
        let nonce = rng.u8(..6).to_string();
        let is_forced = rng.bool();
        Run::Now { nonce, is_forced }
    } else {
        let at = |second: u64| Timestamp::from_ms((now + second).saturating_sub(5) * 1000);
        Run::Instants((0..rng.usize(0..4)).map(|_| at(rng.u64(..10))).collect())
    };
    Operation::RunSchedule(queue, name, run)
}

pub(super) fn change(callers: &mut Callers) -> Operation {
    let (queue, name) = (callers.queue(), name(callers));
    let change = *pick(
        &mut callers.rng,
        &[
            ScheduleChange::Pause,
            ScheduleChange::Resume,
            ScheduleChange::Resume,
            ScheduleChange::Delete,
        ],
    );
    Operation::ChangeSchedule(queue, name, change)
}

pub(super) fn read(callers: &mut Callers) -> Operation {
    let queue = callers.queue();
    if callers.rng.bool() {
        return Operation::Schedules(queue, callers.rng.usize(1..3));
    }
    Operation::Schedule(queue, name(callers))
}
