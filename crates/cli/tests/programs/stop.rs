//! A stopping worker lets jobs finish, and releases those that do not.

use rustix::process::Signal;
use windlass_testkit::redis::until;

use super::running::gone;
use super::sandbox::Sandbox;

#[test]
fn a_running_job_may_finish_within_the_grace() {
    for signal in [Signal::TERM, Signal::INT] {
        let sandbox = Sandbox::new();
        sandbox.gate("gate");
        sandbox.job("1", "x", "");
        let worker = sandbox.start_exec(
            "--json --grace 1m",
            "echo > begun; read -r _ < gate; echo made it",
        );
        sandbox.line_of("begun");
        worker.signal(signal);
        sandbox.job("2", "x", "");
        sandbox.open("gate");

        let summary = worker.ended().ok().json();

        assert_eq!(summary["succeeded"], 1, "{summary}");
        assert_eq!(sandbox.shown("1")["result"], "made it\n");
        assert_eq!(sandbox.shown("2")["state"], "ready");
    }
}

#[test]
fn a_job_that_exceeds_the_grace_is_released_and_no_attempt_is_counted() {
    let sandbox = Sandbox::new();
    sandbox.job("1", "x", "");
    let worker = sandbox.start_exec("--json --grace 500ms", "echo $$ > pid; sleep 1000; true");
    let pid = sandbox.line_of("pid");

    let summary = worker.stopped().ok().json();

    assert_eq!(summary["released"], 1, "{summary}");
    let job = sandbox.shown("1");
    assert_eq!(
        (&job["state"], &job["attempt"]),
        (&"ready".into(), &1.into())
    );
    gone(&pid);
}

#[test]
fn a_program_that_exits_with_0_after_sigterm_has_not_completed_its_job() {
    let sandbox = Sandbox::new();
    sandbox.job("1", "x", "--max-attempts 1 --timeout 8s");

    let script = "trap 'echo half; exit 0' TERM; while :; do sleep 0.05; done";
    let summary = sandbox.exec("", script).ok().json();

    assert_eq!(
        (&summary["succeeded"], &summary["dead"]),
        (&0.into(), &1.into())
    );
}

#[test]
fn a_second_signal_stops_the_worker_immediately() {
    for signal in [Signal::TERM, Signal::INT] {
        let sandbox = Sandbox::new();
        sandbox.job("1", "x", "");
        let mut worker = sandbox.start_exec(
            "--json --grace 1h",
            "trap '' TERM; echo $$ > pid; while :; do sleep 1000; done",
        );
        let pid = sandbox.line_of("pid");

        until("the end of the worker", || {
            if worker.has_ended() {
                return Ok(());
            }
            worker.signal(signal);
            Err("it runs".to_owned())
        });

        assert_eq!(worker.ended().ok().json()["released"], 1);
        assert_eq!(sandbox.shown("1")["state"], "ready");
        gone(&pid);
    }
}

#[test]
fn a_burst_ends_when_the_queue_is_drained() {
    let sandbox = Sandbox::new();
    assert_eq!(sandbox.exec("", "true").ok().json()["succeeded"], 0);
    for id in ["1", "2", "3"] {
        sandbox.job(id, "x", "--delay 200ms");
    }
    assert_eq!(sandbox.exec("-j 2", "true").ok().json()["succeeded"], 3);
}
