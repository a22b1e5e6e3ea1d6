//! Each invariant catches a planted violation.

use super::*;

const T1: &str = "100-00000001";
const T2: &str = "200-00000002";

fn codes(violations: &[Violation]) -> Vec<&'static str> {
    violations.iter().map(|found| found.invariant).collect()
}

fn ledger(processes: &[(&str, String)]) -> Ledger {
    let processes: Vec<_> = processes
        .iter()
        .map(|(name, text)| (*name, text.as_str()))
        .collect();
    Ledger::read(&processes)
}

fn listing(jobs: &[(&str, JobState)]) -> Vec<ListedJob> {
    jobs.iter()
        .map(|(id, state)| (JobId::new(id).unwrap(), *state))
        .collect()
}

fn stats(succeeded: u64) -> Stats {
    Stats {
        succeeded,
        ..Stats::default()
    }
}

/// A producer with `a` and `b` accepted, and no reply for `c`.
fn producer() -> (&'static str, String) {
    (
        "producer",
        "1 enqueuing a b\n2 accepted a\n3 accepted b\n4 enqueuing c".to_owned(),
    )
}

#[test]
fn a_sound_run_breaks_nothing() {
    let worker = format!(
        "1 boot w\n2 claiming\n3 claimed a {T1}\n4 completing a {T1}\n5 completed a {T1}\n\
         6 completing a {T1}\n7 completed a {T1}"
    );
    let ledger = ledger(&[producer(), ("worker", worker)]);
    let end = [("a", JobState::Succeeded), ("b", JobState::Succeeded)];
    assert_eq!(at_the_end(&ledger, &listing(&end), &stats(2)), []);
    let with_maybe = [&end[..], &[("c", JobState::Succeeded)]].concat();
    assert_eq!(at_the_end(&ledger, &listing(&with_maybe), &stats(3)), []);
}

#[test]
fn i0_a_violation_logged_by_an_actor_is_caught() {
    let ledger = ledger(&[("worker", "1 violation the payload is corrupt".to_owned())]);
    assert_eq!(codes(&of_ledger(&ledger)), ["I0"]);
}

#[test]
fn i1_an_accepted_job_that_is_lost_is_caught() {
    let end = listing(&[("a", JobState::Succeeded)]);
    assert_eq!(
        codes(&at_the_end(&ledger(&[producer()]), &end, &stats(1))),
        ["I1"]
    );
}

#[test]
fn i1_an_accepted_job_that_never_ended_is_caught() {
    let end = listing(&[("a", JobState::Succeeded), ("b", JobState::Running)]);
    let stats = Stats {
        running: 1,
        ..stats(1)
    };
    assert_eq!(
        codes(&at_the_end(&ledger(&[producer()]), &end, &stats)),
        ["I1"]
    );
}

#[test]
fn i1_a_job_stored_twice_or_never_enqueued_is_caught() {
    let state = JobState::Succeeded;
    let end = listing(&[
        ("a", state),
        ("b", state),
        ("c", state),
        ("c", state),
        ("d", state),
    ]);
    assert_eq!(
        codes(&at_the_end(&ledger(&[producer()]), &end, &stats(5))),
        ["I1", "I1"]
    );
}

#[test]
fn i1_an_id_accepted_twice_or_gone_is_caught() {
    let again = ("again", "1 enqueuing a\n2 accepted a".to_owned());
    let gone = ("worker", format!("1 gone b {T1}"));
    assert_eq!(
        codes(&of_ledger(&ledger(&[producer(), again, gone]))),
        ["I1", "I1"]
    );
}

#[test]
fn i2_a_token_given_to_two_boots_is_caught() {
    // The nonces differ; other systems fence with the number alone.
    let processes = [
        ("one", format!("1 claimed a {T1}\n2 claimed b {T1}")),
        ("two", "1 claimed c 100-00000009".to_owned()),
    ];
    assert_eq!(codes(&of_ledger(&ledger(&processes))), ["I2"]);
}

#[test]
fn i3_two_tokens_that_completed_one_job_are_caught() {
    let processes = [
        ("one", format!("1 claimed a {T1}\n2 completed a {T1}")),
        ("two", format!("1 claimed a {T2}\n2 completed a {T2}")),
    ];
    assert_eq!(codes(&of_ledger(&ledger(&processes))), ["I3", "I6"]);
}

#[test]
fn i3_a_confirmed_completion_that_was_undone_is_caught() {
    let worker = ("worker", format!("1 claimed a {T1}\n2 completed a {T1}"));
    let end = listing(&[("a", JobState::Dead), ("b", JobState::Succeeded)]);
    let stats = Stats {
        dead: 1,
        ..stats(1)
    };
    assert_eq!(
        codes(&at_the_end(&ledger(&[producer(), worker]), &end, &stats)),
        ["I3"]
    );
}

#[test]
fn i4_a_lost_token_that_completes_later_is_caught() {
    for left in ["lease_lost", "released", "snoozed", "scheduled"] {
        let text = format!("1 claimed a {T1}\n900000 {left} a {T1}\n900001 completed a {T1}");
        assert_eq!(
            codes(&of_ledger(&ledger(&[("worker", text)]))),
            ["I4"],
            "{left}"
        );
    }
}

#[test]
fn i5_a_lease_lost_before_its_end_is_caught() {
    let early = format!("1000 claiming\n2000 claimed a {T1}\n200000 lease_lost a {T1}");
    assert_eq!(codes(&of_ledger(&ledger(&[("worker", early)]))), ["I5"]);

    let late = format!("1000 claiming\n2000 claimed a {T1}\n301000 lease_lost a {T1}");
    assert_eq!(of_ledger(&ledger(&[("worker", late)])), []);

    let renewed = format!(
        "1000 claiming\n2000 claimed a {T1}\n250000 renewing\n251000 renewed {T1}\n\
         400000 lease_lost a {T1}"
    );
    assert_eq!(codes(&of_ledger(&ledger(&[("worker", renewed)]))), ["I5"]);

    let released = format!("1 claiming\n2 claimed a {T1}\n3 released a {T1}\n4 lease_lost a {T1}");
    assert_eq!(of_ledger(&ledger(&[("worker", released)])), []);
}

#[test]
fn i8_stats_that_disagree_with_the_listing_are_caught() {
    let end = listing(&[("a", JobState::Succeeded), ("b", JobState::Succeeded)]);
    assert_eq!(
        codes(&at_the_end(&ledger(&[producer()]), &end, &stats(3))),
        ["I8"]
    );
}

#[test]
fn after_a_failover_only_the_whole_token_must_differ_and_replies_below_the_level_promise_nothing() {
    let text = format!("1 enqueuing d\n2 below_level d\n3 claimed a {T1}");
    let again = T1.replace("00000001", "00000009");
    let processes = [
        producer(),
        ("one", text),
        ("two", format!("1 claimed a {again}")),
    ];
    let end = [("a", JobState::Succeeded), ("b", JobState::Dead)];
    assert_eq!(after_failovers(&ledger(&processes), &listing(&end)), []);

    let twice = [
        processes[0].clone(),
        processes[1].clone(),
        ("two", format!("1 claimed a {T1}")),
    ];
    assert_eq!(
        codes(&after_failovers(&ledger(&twice), &listing(&end))),
        ["I2"]
    );
    assert_eq!(
        codes(&after_failovers(&ledger(&processes), &listing(&end[..1]))),
        ["I1"]
    );
}

#[test]
fn few_jobs_of_a_run_may_be_dead() {
    let listing = |dead: usize| -> Vec<ListedJob> {
        let job = |n: usize| {
            let state = if n < dead {
                JobState::Dead
            } else {
                JobState::Succeeded
            };
            (JobId::new(format!("j{n}")).unwrap(), state)
        };
        (0..1_000).map(job).collect()
    };
    assert_eq!(few_dead(&listing(15)), []);
    let found = few_dead(&listing(16));
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].invariant, "I9");
}
