//! `windlass processor`: simulated workers, some of which die, around the real program.

use std::collections::BTreeSet;

use rustix::process::Signal;

use super::pipes::PipeSession;
use super::sandbox::Sandbox;
use super::simulated_workers::{AssignmentResult, Behavior, SimulatedWorkers};
use super::test_store::TestStore;

const JOBS: usize = 40;

const BEHAVIORS: [Behavior; 4] = [
    Behavior::DiesAfterAccepting,
    Behavior::DiesBeforeAccepting,
    Behavior::Lives,
    Behavior::Lives,
];

/// Checks that every job finished once, and that every assignment has a result.
fn check(sandbox: &Sandbox, assignments: &[(String, String, AssignmentResult)]) {
    let finished: Vec<_> = assignments
        .iter()
        .filter(|(_, _, result)| *result == AssignmentResult::Finished)
        .map(|(_, job, _)| job)
        .collect();
    let jobs: BTreeSet<_> = finished.iter().collect();
    assert_eq!(
        (finished.len(), jobs.len()),
        (JOBS, JOBS),
        "{assignments:?}"
    );
    let pending: Vec<_> = assignments
        .iter()
        .filter(|(_, _, result)| *result == AssignmentResult::Pending)
        .collect();
    assert_eq!(pending, Vec::<&_>::new());
    let stats = sandbox.run("queue stats q --json").ok().json();
    for (name, count) in [
        ("ready", 0),
        ("running", 0),
        ("dead", 0),
        ("succeeded", JOBS),
    ] {
        assert_eq!(stats[name], count, "{name} in {stats}");
    }
    assert_eq!(stats["total"]["enqueued"], JOBS);
}

fn all_jobs_finish(sandbox: &Sandbox) {
    let mut workers = SimulatedWorkers::start(sandbox, &BEHAVIORS);
    workers.add_jobs(JOBS);
    workers.work_until(JOBS);
    let assignments = workers.end();
    check(sandbox, &assignments);
    // Each got a job and died; one that had just reported idle may be offered another.
    for dead in ["worker-0", "worker-1"] {
        let of = assignments.iter().filter(|(who, _, _)| who == dead);
        let results: Vec<_> = of.map(|(_, _, result)| *result).collect();
        assert!(
            results.contains(&AssignmentResult::Died),
            "{dead}: {assignments:?}"
        );
        assert!(
            !results.contains(&AssignmentResult::Finished),
            "{dead}: {assignments:?}"
        );
    }
}

#[test]
fn all_jobs_finish_though_two_of_four_workers_die_in_a_file() {
    all_jobs_finish(&Sandbox::new());
}

#[test]
fn all_jobs_finish_though_two_of_four_workers_die_on_redis() {
    all_jobs_finish(&Sandbox::on(TestStore::redis()));
}

#[test]
fn a_processor_that_is_killed_loses_nothing() {
    let sandbox = Sandbox::new();
    let mut workers = SimulatedWorkers::start(&sandbox, &BEHAVIORS);
    workers.add_jobs(JOBS);
    for finished in [5, 15, 25] {
        workers.work_until(finished);
        workers.kill_and_restart();
    }
    workers.work_until(JOBS);
    check(&sandbox, &workers.end());
}

#[test]
fn two_processors_share_a_store() {
    let sandbox = Sandbox::new();
    // Long ticks: only messages trigger a dispatch.
    let mut first = PipeSession::start(&sandbox, "processor --service-uuid p1 --tick 1h");
    let mut second = PipeSession::start(&sandbox, "processor --service-uuid p2 --tick 1h");
    let idle = r#"{"topic":"workers/w1/worker_idle","payload":{"queue_name":"q"}}"#;
    assert_eq!(first.request(idle)["payload"]["ok"], true);

    let added = second.request(r#"{"topic":"add_job","payload":{"uuid":"j","queue_name":"q"}}"#);
    let assignment = second.read_reply();
    let accept = r#"{"topic":"workers/w1/job_accepted","payload":{"uuid":"j","queue_name":"q"}}"#;
    let accepted = first.request(accept);

    assert_eq!(added["payload"]["ok"], true);
    assert_eq!(
        assignment["topic"],
        "default/job_queue/workers/w1/job_assignment"
    );
    assert_eq!(accepted["payload"]["state"], "accepted", "{accepted}");
    for session in [first, second] {
        assert_eq!(session.close().0.code(), Some(0));
    }
}

#[test]
fn names_come_from_the_environment_and_logs_are_json() {
    let sandbox = Sandbox::new();
    let input = b"{\"topic\":\"in/job_queue/dance\"}\n";
    let mut command = sandbox.command(&["processor"]);
    command
        .env("NAMESPACE_LISTENER", "in")
        .env("NAMESPACE_PUBLISHER", "out")
        .env("SERVICE_NAME", "queue")
        .env("SERVICE_UUID", "me")
        .env("SERVICE_HOST", "box")
        .stdin(std::process::Stdio::piped());
    let mut child = command.spawn().unwrap();
    std::io::Write::write_all(&mut child.stdin.take().unwrap(), input).unwrap();
    let ran = super::sandbox::Ran::from(child.wait_with_output().unwrap()).ok();

    let reply = ran.json();
    let names = ["topic", "service_name", "service_uuid", "service_host"].map(|name| &reply[name]);
    assert_eq!(names, ["out/job_queue/error_reply", "queue", "me", "box"]);
    let logs: Vec<serde_json::Value> = ran
        .stderr
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(logs.len(), 3, "{logs:?}");
    for log in logs {
        for field in ["log_level", "created_at", "log_message"] {
            assert!(log[field].is_string(), "{log}");
        }
    }
}

#[test]
fn a_signal_to_stop_ends_it_cleanly() {
    let sandbox = Sandbox::new();
    let mut session = PipeSession::start(&sandbox, "processor");
    assert_eq!(
        session.request(r#"{"topic":"tick"}"#)["payload"]["ok"],
        true
    );
    session.signal(Signal::TERM);
    let input = session.take_input();
    let (status, _) = session.close();
    drop(input);
    assert_eq!(status.code(), Some(0));
    let workers = sandbox.run("workers --json").ok().json();
    assert_eq!(workers, serde_json::json!([]));
}

fn a_list_of_all_jobs_is_ordered_by_uuid(sandbox: &Sandbox) {
    for (id, options) in [
        ("d", ""),
        ("b", "--delay 1h"),
        ("c", "--priority 9"),
        ("a", "--priority 7"),
    ] {
        sandbox
            .run(&format!("enqueue q x --id {id} {options}"))
            .ok();
    }
    let list = br#"{"topic":"list_queue_jobs","payload":{"queue_name":"q"}}"#;

    let reply = sandbox.feed("processor", list).ok().json();

    let jobs = reply["payload"]["jobs"].as_array().unwrap();
    let ids: Vec<_> = jobs
        .iter()
        .map(|job| job["uuid"].as_str().unwrap())
        .collect();
    assert_eq!(ids, ["a", "b", "c", "d"]);
}

#[test]
fn a_list_of_all_jobs_is_ordered_by_uuid_in_a_file() {
    a_list_of_all_jobs_is_ordered_by_uuid(&Sandbox::new());
}

#[test]
fn a_list_of_all_jobs_is_ordered_by_uuid_on_redis() {
    a_list_of_all_jobs_is_ordered_by_uuid(&Sandbox::on(TestStore::redis()));
}
