//! The JSON fields of every command.

use super::sandbox::{Sandbox, has_fields, text};

#[test]
fn enqueue_returns_id_queue_state_and_duplicate() {
    let sandbox = Sandbox::new();
    let reply = sandbox.run("enqueue q x --json").ok().json();
    has_fields(&reply, "id queue state duplicate");
    assert_eq!(
        (text(&reply["state"]), &reply["duplicate"]),
        ("ready", &false.into())
    );
    assert_eq!(text(&reply["id"]).len(), 26);

    let reply = sandbox.run("enqueue q x --delay 1h --json").ok().json();
    assert_eq!(reply["state"], "scheduled");
}

#[test]
fn claim_returns_a_list_of_jobs() {
    let sandbox = Sandbox::new();
    sandbox.run("enqueue q x").ok();

    let job = sandbox.claim("q");

    has_fields(&job, "id token attempt payload priority lease_until");
    assert_eq!((&job["attempt"], &job["priority"]), (&1.into(), &5.into()));
}

#[test]
fn a_job_has_every_field_even_if_it_is_null() {
    let sandbox = Sandbox::new();
    let fields = "id queue state kind priority attempt progress created_at due_at started_at \
                  finished_at result error worker";
    sandbox
        .run("enqueue q x --id 1 --kind mail --delay 1h")
        .ok();

    let job = sandbox.run("job get q 1 --json").ok().json();
    has_fields(&job, fields);
    assert_eq!(
        (text(&job["kind"]), &job["started_at"]),
        ("mail", &serde_json::Value::Null)
    );
    let created = text(&job["created_at"]);
    assert!(created.len() == 24 && created.ends_with('Z'), "{created}");

    let jobs = sandbox.run("job list q --json").ok().json();
    has_fields(&jobs[0], fields);
    assert!(jobs[0].get("payload").is_none());
}

#[test]
fn times_are_accepted_as_rfc_3339_and_as_unix_seconds() {
    let sandbox = Sandbox::new();
    for (id, at) in [("1", "2100-01-31T08:05:00.25Z"), ("2", "4105065900.25")] {
        sandbox
            .run(&format!("enqueue q x --id {id} --at {at}"))
            .ok();

        let job = sandbox.run(&format!("job get q {id} --json")).ok().json();

        assert_eq!(job["due_at"], "2100-01-31T08:05:00.250Z", "{at}");
    }
}

#[test]
fn stats_count_what_is_stored_and_what_ever_was() {
    let sandbox = Sandbox::new();
    sandbox.run("enqueue a x --priority 3").ok();
    sandbox.run("enqueue b x --delay 1h").ok();

    let stats = sandbox.run("queue stats a --json").ok().json();
    has_fields(
        &stats,
        "queue ready scheduled running succeeded dead cancelled oldest_ms paused ready_by_priority \
         total",
    );
    has_fields(&stats["total"], "enqueued succeeded dead cancelled rescued");
    assert_eq!(stats["ready_by_priority"].as_array().unwrap().len(), 10);
    assert_eq!(
        (&stats["ready_by_priority"][3], &stats["paused"]),
        (&1.into(), &false.into())
    );

    let list = sandbox.run("queue list --json").ok().json();
    let names: Vec<_> = list
        .as_array()
        .unwrap()
        .iter()
        .map(|queue| text(&queue["queue"]))
        .collect();
    assert_eq!(names, ["a", "b"]);
}

#[test]
fn settings_are_shown_and_changed() {
    let sandbox = Sandbox::new();
    let set = sandbox
        .run("queue set q requeue=back dead_age=all --json")
        .ok()
        .json();
    assert_eq!(
        (text(&set["queue"]), text(&set["settings"]["requeue"])),
        ("q", "back")
    );

    let shown = sandbox.run("queue set q --json").ok().json();

    assert_eq!(shown, set);
    assert_eq!(shown["settings"]["dead_age"], "all");
}

#[test]
fn pause_and_resume_report_the_new_state() {
    let sandbox = Sandbox::new();
    assert_eq!(
        sandbox.run("queue pause q --json").ok().json()["paused"],
        true
    );
    assert_eq!(
        sandbox.run("queue stats q --json").ok().json()["paused"],
        true
    );
    assert_eq!(
        sandbox.run("queue resume q --json").ok().json()["paused"],
        false
    );
}

#[test]
fn no_workers_are_an_empty_list() {
    let sandbox = Sandbox::new();
    sandbox.run("enqueue q x").ok();
    assert_eq!(sandbox.run("workers --json").ok().text(), "[]\n");
}

#[test]
fn the_version_is_one_document() {
    let version = Sandbox::new().run("version --json").ok().json();
    assert_eq!(version["version"], env!("CARGO_PKG_VERSION"));
}

#[test]
fn results_and_notes_never_mix() {
    let sandbox = Sandbox::new();
    sandbox.run("enqueue q x --id 1").ok();

    let ran = sandbox.run("enqueue q x --id 1").ok();
    assert_eq!(ran.text(), "1\n");
    assert!(ran.stderr.contains("duplicate"), "{}", ran.stderr);

    let ran = sandbox.run("enqueue q x --id 1 --json").ok();
    assert!(ran.stderr.is_empty(), "{}", ran.stderr);
}
