//! Who is believed to be alive, and what becomes of tasks, case by case.

use std::time::Duration;

use super::*;

/// On the machine `here` the processes 1 to 9 run.
fn judge<'a>(survey: &'a Survey, options: &'a CleanOptions) -> Judge<'a> {
    Judge {
        queue: "q",
        survey,
        options,
        hosts: vec!["here".to_owned()],
        is_running: |pid| (1..10).contains(&pid),
    }
}

fn survey() -> Survey {
    let listed = ["here_1", "here_10", "far_1", "ours_1", "late_1"];
    let beats = [("ours_1", 101_000.0), ("late_1", 99_000.0), ("told_1", 0.0)];
    Survey {
        now: 100.0,
        listed: listed.map(str::to_owned).into(),
        beats: beats.map(|(name, until)| (name.to_owned(), until)).into(),
        held: Vec::new(),
    }
}

fn held(listener: &str, status: &str) -> Held {
    Held {
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

fn verdict(held: &Held) -> Verdict {
    judge(&survey(), &CleanOptions::default()).of(held)
}

#[test]
fn ours_live_by_their_beat_and_originals_by_their_process() {
    let (survey, options) = (survey(), CleanOptions::default());
    for (listener, life) in [
        ("ours_1", Life::Alive),
        ("late_1", Life::Lost),
        ("told_1", Life::Lost),
        ("here_1", Life::Alive),
        ("here_10", Life::Lost),
        ("here_11", Life::Removed),
        ("far_1", Life::Unknown),
        ("far_2", Life::Removed),
    ] {
        assert_eq!(judge(&survey, &options).life(listener), life, "{listener}");
    }
}

#[test]
fn a_reserved_task_is_lost_with_its_listener() {
    assert_eq!(verdict(&held("here_10", "reserved")), Verdict::Lost);
    assert_eq!(verdict(&held("here_10", "pending")), Verdict::Lost);
    assert_eq!(verdict(&held("here_1", "reserved")), Verdict::Leave);
    assert_eq!(verdict(&held("far_1", "reserved")), Verdict::Leave);
    assert_eq!(verdict(&held("here_11", "reserved")), Verdict::Doubtful);
}

#[test]
fn a_started_task_of_an_original_is_lost_with_its_own_process() {
    let started = |listener, pid| Held {
        pid: Some(pid),
        ..held(listener, "started")
    };
    assert_eq!(verdict(&started("here_10", 5)), Verdict::Leave);
    assert_eq!(verdict(&started("here_1", 11)), Verdict::Lost);
    assert_eq!(verdict(&started("far_1", 11)), Verdict::Leave);
    assert_eq!(verdict(&started("ours_1", 11)), Verdict::Leave);
    assert_eq!(verdict(&started("late_1", 5)), Verdict::Lost);
}

#[test]
fn a_task_that_an_original_claimed_is_its_own_as_long_as_it_lives() {
    let claimed = |by: &str| Held {
        reclaimed: by.to_owned(),
        ..held("here_11", "reserved")
    };
    assert_eq!(verdict(&claimed("here_2")), Verdict::Leave);
    assert_eq!(verdict(&claimed("here_12")), Verdict::Doubtful);
}

#[test]
fn another_machine_is_lost_when_somebody_says_so_or_after_a_silence() {
    let survey = survey();
    let told = CleanOptions {
        lost: vec!["far_1".to_owned()],
        ..CleanOptions::default()
    };
    assert_eq!(
        judge(&survey, &told).of(&held("far_1", "started")),
        Verdict::Lost
    );
    for (silence, verdict) in [(5, Verdict::Lost), (20, Verdict::Leave)] {
        let silent = CleanOptions {
            silence: Some(Duration::from_secs(silence)),
            ..CleanOptions::default()
        };
        for status in ["started", "reserved"] {
            assert_eq!(judge(&survey, &silent).of(&held("far_1", status)), verdict);
        }
    }
}

#[test]
fn where_numbers_of_processes_mean_nothing_none_is_asked_for() {
    let options = CleanOptions {
        ignores_pids: true,
        ..CleanOptions::default()
    };
    assert_eq!(judge(&survey(), &options).life("here_10"), Life::Unknown);
}

#[test]
fn a_list_that_also_means_another_queue_is_left_alone() {
    let other = Held {
        queue: "q_here".to_owned(),
        ..held("here_10", "reserved")
    };
    assert_eq!(verdict(&other), Verdict::Leave);
}
