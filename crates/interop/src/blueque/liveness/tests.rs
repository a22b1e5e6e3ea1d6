//! Which listeners count as alive, and which tasks are lost.

use std::time::Duration;

use super::*;

/// Processes 1 to 9 run on the machine `here`.
fn check<'a>(snapshot: &'a ListenerSnapshot, options: &'a CleanOptions) -> LivenessCheck<'a> {
    LivenessCheck {
        queue: "q",
        snapshot,
        options,
        hosts: vec!["here".to_owned()],
        is_running: |pid| (1..10).contains(&pid),
    }
}

fn snapshot() -> ListenerSnapshot {
    let registered = ["here_1", "here_10", "far_1", "ours_1", "late_1"];
    let alive_until = [
        ("ours_1", 101_000.0),
        ("late_1", 99_000.0),
        ("declared_1", 0.0),
    ];
    ListenerSnapshot {
        now: 100.0,
        registered: registered.map(str::to_owned).into(),
        alive_until: alive_until
            .map(|(name, until)| (name.to_owned(), until))
            .into(),
        held: Vec::new(),
    }
}

fn held(listener: &str, status: &str) -> HeldTask {
    HeldTask {
        listener: listener.to_owned(),
        id: "1".to_owned(),
        entry: String::new(),
        status: status.to_owned(),
        queue: "q".to_owned(),
        updated: "90.5".to_owned(),
        pid: None,
        reclaimed: String::new(),
    }
}

fn decision(task: &HeldTask) -> Decision {
    check(&snapshot(), &CleanOptions::default()).decide(task)
}

#[test]
fn windlass_listeners_live_by_heartbeat_and_originals_by_pid() {
    let (snapshot, options) = (snapshot(), CleanOptions::default());
    for (listener, liveness) in [
        ("ours_1", Liveness::Alive),
        ("late_1", Liveness::Lost),
        ("declared_1", Liveness::Lost),
        ("here_1", Liveness::Alive),
        ("here_10", Liveness::Lost),
        ("here_11", Liveness::Removed),
        ("far_1", Liveness::Unknown),
        ("far_2", Liveness::Removed),
    ] {
        assert_eq!(
            check(&snapshot, &options).liveness(listener),
            liveness,
            "{listener}"
        );
    }
}

#[test]
fn a_reserved_task_is_lost_with_its_listener() {
    assert_eq!(decision(&held("here_10", "reserved")), Decision::Lost);
    assert_eq!(decision(&held("here_10", "pending")), Decision::Lost);
    assert_eq!(decision(&held("here_1", "reserved")), Decision::Leave);
    assert_eq!(decision(&held("far_1", "reserved")), Decision::Leave);
    assert_eq!(decision(&held("here_11", "reserved")), Decision::Recheck);
}

#[test]
fn a_started_task_of_an_original_is_lost_with_its_own_process() {
    let started = |listener, pid| HeldTask {
        pid: Some(pid),
        ..held(listener, "started")
    };
    assert_eq!(decision(&started("here_10", 5)), Decision::Leave);
    assert_eq!(decision(&started("here_1", 11)), Decision::Lost);
    assert_eq!(decision(&started("far_1", 11)), Decision::Leave);
    assert_eq!(decision(&started("ours_1", 11)), Decision::Leave);
    assert_eq!(decision(&started("late_1", 5)), Decision::Lost);
}

#[test]
fn a_task_that_an_original_claimed_is_left_to_it_while_it_lives() {
    let claimed = |by: &str| HeldTask {
        reclaimed: by.to_owned(),
        ..held("here_11", "reserved")
    };
    assert_eq!(decision(&claimed("here_2")), Decision::Leave);
    assert_eq!(decision(&claimed("here_12")), Decision::Recheck);
}

#[test]
fn a_listener_on_another_machine_is_lost_if_declared_or_inactive() {
    let snapshot = snapshot();
    let declared = CleanOptions {
        lost: vec!["far_1".to_owned()],
        ..CleanOptions::default()
    };
    assert_eq!(
        check(&snapshot, &declared).decide(&held("far_1", "started")),
        Decision::Lost
    );
    for (silence, decision) in [(5, Decision::Lost), (20, Decision::Leave)] {
        let silent = CleanOptions {
            silence: Some(Duration::from_secs(silence)),
            ..CleanOptions::default()
        };
        for status in ["started", "reserved"] {
            assert_eq!(
                check(&snapshot, &silent).decide(&held("far_1", status)),
                decision
            );
        }
    }
}

#[test]
fn pids_are_not_checked_if_they_are_ignored() {
    let options = CleanOptions {
        ignores_pids: true,
        ..CleanOptions::default()
    };
    assert_eq!(
        check(&snapshot(), &options).liveness("here_10"),
        Liveness::Unknown
    );
}

#[test]
fn a_list_that_belongs_to_another_queue_is_left_alone() {
    let other = HeldTask {
        queue: "q_here".to_owned(),
        ..held("here_10", "reserved")
    };
    assert_eq!(decision(&other), Decision::Leave);
}
