//! Replacing and postponing jobs, and holding unique keys, from the command line.

use super::sandbox::{Ran, Sandbox, text};

#[test]
fn each_reply_is_said_on_stderr_and_in_json() {
    for is_json in [false, true] {
        let sandbox = Sandbox::new();
        let json = if is_json { "--json" } else { "" };
        let run = |options: &str| {
            let ran = sandbox.run(&format!("enqueue q new --unique-key k {options} {json}"));
            ran.ok()
        };
        run("--id 1 --delay 1m");

        let replaced = run("--on-duplicate replace");
        let postponed = run("--on-duplicate postpone --delay 1h --postpone-max 30m");
        let late = run("--on-duplicate postpone --delay 1h --postpone-max 30m");

        for (ran, word) in [
            (replaced, "replaced"),
            (postponed, "postponed"),
            (late, "duplicate"),
        ] {
            if is_json {
                let reply = ran.json();
                assert_eq!((text(&reply["id"]), &reply[word]), ("1", &true.into()));
            } else {
                assert_eq!(ran.text(), "1\n");
                assert!(ran.stderr.starts_with(word), "{}", ran.stderr);
            }
        }
    }
}

#[test]
fn a_caller_that_replaced_a_job_can_wait_for_it() {
    let sandbox = Sandbox::new();
    sandbox
        .run("enqueue q old --id 1 --unique-key k --delay 1h")
        .ok();
    let waiting =
        sandbox.start("enqueue q new --unique-key k --on-duplicate replace --wait --json");
    // The job is promoted once it has the new content.
    while sandbox.run("job get q 1 --json").ok().json()["payload"] != "new" {}
    sandbox.run("job promote q 1").ok();
    let claimed = sandbox.claim("q");

    let token = text(&claimed["token"]);
    sandbox.run(&format!("complete q 1 --token {token}")).ok();

    let job = Ran::from(waiting.wait_with_output().unwrap()).ok().json();
    assert_eq!((text(&job["id"]), text(&job["state"])), ("1", "succeeded"));
    assert_eq!(
        (&job["duplicate"], &job["replaced"]),
        (&false.into(), &true.into())
    );
}

#[test]
fn a_held_key_is_shown_and_freed() {
    let sandbox = Sandbox::new();
    sandbox
        .run("enqueue q x --id 1 --unique-key k --unique-for 90m")
        .ok();
    let shown = sandbox.run("job get q 1").ok();
    assert!(
        shown.text().contains("unique for  1h30m"),
        "{}",
        shown.text()
    );
    let token = text(&sandbox.claim("q")["token"]).to_owned();
    sandbox.run(&format!("complete q 1 --token {token}")).ok();
    let held = sandbox.run("enqueue q x --unique-key k --json").ok().json();
    assert_eq!((text(&held["id"]), &held["duplicate"]), ("1", &true.into()));

    sandbox.run("job delete q --unique-key k").ok();

    let free = sandbox.run("enqueue q x --unique-key k --json").ok().json();
    assert_eq!(free["duplicate"], false);
    sandbox.run("job delete q --unique-key k").exits(4);
    sandbox.run("job delete q --unique-key other").exits(3);
}

#[test]
fn lines_replace_each_other_and_are_counted() {
    let sandbox = Sandbox::new();
    let lines = r#"{"id":"1","unique_key":"k","payload":"a","delay":"1m"}
        {"unique_key":"k","payload":"b","on_duplicate":"replace"}
        {"unique_key":"k","on_duplicate":"postpone","delay":"2m"}
        {"unique_key":"k","payload":"c"}
        {"unique_key":"k","unique_until":"never"}"#;

    let ran = sandbox
        .feed("enqueue q --ndjson -", lines.as_bytes())
        .exits(1);

    let counts = "1 accepted, 1 duplicates, 1 replaced, 1 postponed, 1 invalid lines";
    assert!(ran.stderr.contains(counts), "{}", ran.stderr);
    assert_eq!(
        sandbox.run("job get q 1 --json").ok().json()["payload"],
        "b"
    );
}
