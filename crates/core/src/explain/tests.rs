//! Every reason alone, and which one binds.

use std::time::Duration;

use super::*;
use crate::duplicate::UniqueUntil;
use crate::group::{GroupLimits, OwnLimit};
use crate::headers::Headers;
use crate::name::{JobId, QueueName};
use crate::priority::Priority;
use crate::retry::RetryPolicy;
use crate::setting::Settings;

fn at(ms: u64) -> Timestamp {
    Timestamp::from_ms(1_000_000 + ms)
}

/// A ready job that nothing keeps back, in a queue with these settings.
fn facts(settings: &[&str]) -> WaitFacts {
    let mut queue = Settings::default();
    for setting in settings {
        queue.apply(&setting.parse().unwrap()).unwrap();
    }
    WaitFacts {
        job: ready_job(),
        now: at(0).into(),
        settings: queue,
        is_paused: false,
        resting_until: Timestamp::default(),
        rate_next_us: 0,
        running: 0,
        finished: 0,
        waits_for: None,
        ahead: JobsAhead::default(),
        group: None,
        last_worker: Some(LastWorker {
            last_seen: at(0),
            silent_for: Duration::ZERO,
        }),
    }
}

fn ready_job() -> Job {
    Job {
        id: JobId::new("a").unwrap(),
        queue: QueueName::new("q").unwrap(),
        state: JobState::Ready,
        is_named: true,
        kind: None,
        priority: Priority::default(),
        group: None,
        payload: None,
        headers: Headers::default(),
        retry: RetryPolicy::default(),
        timeout: None,
        unique_key: None,
        unique_until: UniqueUntil::End,
        unique_for: None,
        schedule: None,
        keep_outcome: false,
        attempt: 1,
        expiries: 0,
        created_at: at(0),
        due_at: at(0),
        expires_at: None,
        started_at: None,
        accepted_at: None,
        finished_at: None,
        progress: None,
        result: None,
        error: None,
        attempts: Vec::new(),
        reason: None,
        worker: None,
        token: None,
        lease_until: None,
        is_cancel_requested: false,
    }
}

fn group() -> GroupFacts {
    GroupFacts {
        name: GroupName::new("g").unwrap(),
        limits: GroupLimits::default(),
        is_paused: false,
        resting_until: Timestamp::default(),
        rate_next_us: 0,
        slots: 0,
        holds_slot: false,
        holders: Vec::new(),
        first: None,
    }
}

fn words(facts: &WaitFacts) -> Vec<&'static str> {
    let reasons = facts.explain().reasons;
    reasons
        .iter()
        .map(|reason| reason.word().as_str())
        .collect()
}

fn eta(facts: &WaitFacts) -> Option<(u64, &'static str)> {
    let eta = facts.explain().eta?;
    Some((crate::time::as_ms(eta.after), eta.basis.as_str()))
}

#[test]
fn a_job_that_nothing_keeps_back_has_no_reasons() {
    assert_eq!(words(&facts(&[])), [""; 0]);
    assert_eq!(eta(&facts(&[])), None);
}

#[test]
fn reasons_are_in_the_order_of_a_claim_and_a_known_end_does_not_bind_before_an_unknown_one() {
    let mut facts = facts(&["max_running=1", "rate=1/1m"]);
    facts.rate_next_us = at(60_000).as_ms() * 1000;
    facts.resting_until = at(90_000);
    facts.ahead.in_line = 3;
    assert_eq!(words(&facts), ["queue_resting", "queue_rate", "behind"]);

    facts.last_worker = None;
    let expected = ["no_worker", "queue_rate", "queue_resting", "behind"];
    assert_eq!(words(&facts), expected);
    facts.running = 1;
    facts.is_paused = true;
    let mut expected = ["queue_paused", "queue_full", "queue_rate", "queue_resting"].to_vec();
    expected.extend(["no_worker", "behind"]);
    assert_eq!(words(&facts), expected);
}

#[test]
fn a_job_that_holds_a_slot_of_its_lane_waits_for_no_other_job() {
    let mut facts = facts(&["group_slot=job"]);
    let holder = SlotHolder {
        id: JobId::new("head").unwrap(),
        state: JobState::Dead,
        worker: None,
        since: None,
    };
    facts.group = Some(GroupFacts {
        slots: 1,
        holders: vec![holder],
        ..group()
    });
    assert_eq!(words(&facts), ["group_full", "lane_head"]);

    facts.group.as_mut().unwrap().holds_slot = true;
    assert_eq!(words(&facts), [""; 0]);
}

#[test]
fn a_scheduled_job_names_only_what_keeps_it_back_after_it_is_due() {
    let mut facts = facts(&[]);
    facts.job.state = JobState::Scheduled;
    facts.job.due_at = at(5_000);
    facts.resting_until = at(4_000);
    assert_eq!(words(&facts), ["scheduled"]);
    assert_eq!(eta(&facts), Some((5_000, "until")));

    facts.resting_until = at(6_000);
    facts.is_paused = true;
    assert_eq!(
        words(&facts),
        ["scheduled", "queue_paused", "queue_resting"]
    );
    assert_eq!(eta(&facts), None);
}

#[test]
fn the_eta_is_the_latest_of_its_terms() {
    let mut facts = facts(&["rate=60/1m"]);
    facts.ahead.in_line = 10;
    assert_eq!(eta(&facts), None, "nothing finished in the last minute");
    facts.finished = 120;
    assert_eq!(eta(&facts), Some((10_000, "queue_rate")));
    facts.finished = 30;
    assert_eq!(eta(&facts), Some((20_000, "throughput")));

    facts.ahead.in_group = 10;
    facts.group = Some(group());
    let limits = &mut facts.group.as_mut().unwrap().limits;
    limits.rate = OwnLimit::At("1/1m".parse().unwrap());
    assert_eq!(eta(&facts), Some((600_000, "group_rate")));
    let limits = &mut facts.group.as_mut().unwrap().limits;
    limits.max_running = OwnLimit::At(2);
    facts.running = 100;
    // 100 running jobs, of which one finishes every 2 s, take 200 s each.
    assert_eq!(eta(&facts), Some((1_000_000, "group_slots")));
    facts.last_worker = None;
    assert_eq!(eta(&facts), None);
}
