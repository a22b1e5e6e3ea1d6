//! One job per line: invalid lines are reported with their number and skipped.

use super::sandbox::{Sandbox, text};

#[test]
fn every_line_is_a_job_and_every_job_a_line() {
    let sandbox = Sandbox::new();
    let lines = (0..2500)
        .map(|n| format!("{{\"payload\":\"{n}\"}}\n"))
        .collect::<Vec<_>>()
        .concat();

    let replies = sandbox
        .feed("enqueue q --ndjson - --json", lines.as_bytes())
        .ok()
        .json_lines();

    assert_eq!(replies.len(), 2500);
    assert!(
        replies
            .iter()
            .all(|reply| reply["state"] == "ready" && reply["duplicate"] == false)
    );
    assert_eq!(
        sandbox.run("queue stats q --json").ok().json()["ready"],
        2500
    );
    assert_eq!(sandbox.claim("q")["payload"], "0");
}

#[test]
fn invalid_lines_are_reported_with_their_number_and_the_rest_is_enqueued() {
    let sandbox = Sandbox::new();
    let large = "x".repeat(1024 * 1024 + 1);
    let lines = format!(
        "{{\"payload\":\"one\"}}\nnot json\n\n{{\"payload\":\"x\",\"priority\":10}}\n\
         {{\"payload\":\"{large}\"}}\n{{\"paylod\":\"x\"}}\n{{\"payload\":{{\"b\" : 2}}}}"
    );

    let ran = sandbox
        .feed("enqueue q --ndjson - --json", lines.as_bytes())
        .exits(1);

    let errors = ran
        .stderr
        .lines()
        .map(|line| serde_json::from_str(line).unwrap());
    let errors: Vec<serde_json::Value> = errors.collect();
    let numbers: Vec<_> = errors
        .iter()
        .map(|error| error["error"]["line"].as_u64())
        .collect();
    assert_eq!(numbers, [Some(2), Some(4), Some(5), Some(6)]);
    assert!(
        errors
            .iter()
            .all(|error| error["error"]["code"] == "invalid")
    );
    assert_eq!(ran.json_lines().len(), 2);
    assert_eq!(sandbox.claim("q")["payload"], "one");
    let job = sandbox.claim("q");
    assert_eq!(job["payload"], "{\"b\" : 2}");
    assert_eq!(job["headers"]["content-type"], "application/json");
}

#[test]
fn errors_name_the_line_and_a_summary_is_printed() {
    let sandbox = Sandbox::new();
    let ran = sandbox
        .feed(
            "enqueue q --ndjson -",
            b"{\"id\":\"1\"}\nbad\n{\"id\":\"1\"}\n",
        )
        .exits(1);

    assert_eq!(ran.text(), "1\n1\n");
    assert!(ran.stderr.contains("error: line 2: "), "{}", ran.stderr);
    assert!(
        ran.stderr
            .contains("1 accepted, 1 duplicates, 1 invalid lines"),
        "{}",
        ran.stderr
    );
}

#[test]
fn a_file_is_read_like_stdin() {
    let sandbox = Sandbox::new();
    std::fs::write(
        sandbox.path("jobs.ndjson"),
        "{\"id\":\"a\"}\r\n{\"id\":\"b\"}\r\n",
    )
    .unwrap();

    sandbox.run("enqueue q --ndjson jobs.ndjson").ok();

    assert_eq!(sandbox.run("queue stats q --json").ok().json()["ready"], 2);
}

#[test]
fn a_line_with_a_timeout_of_zero_is_skipped() {
    let sandbox = Sandbox::new();
    let lines = b"{\"id\":\"1\",\"timeout\":\"0s\"}\n{\"id\":\"2\",\"timeout\":\"1ms\"}\n";

    let ran = sandbox.feed("enqueue q --ndjson - --json", lines).exits(1);

    assert_eq!(ran.error()["line"], 1);
    assert_eq!(text(&ran.json()["id"]), "2");
}

#[test]
fn blank_input_enqueues_nothing() {
    let sandbox = Sandbox::new();
    assert!(
        sandbox
            .feed("enqueue q --ndjson - --json", b"\n \n")
            .ok()
            .stdout
            .is_empty()
    );
}

#[test]
fn a_line_that_is_too_long_is_skipped() {
    let sandbox = Sandbox::new();
    let mut lines = vec![b'x'; 9 * 1024 * 1024];
    lines.extend(b"\n{\"id\":\"after\"}\n");

    let ran = sandbox.feed("enqueue q --ndjson - --json", &lines).exits(1);

    assert_eq!(ran.error()["line"], 1);
    assert_eq!(text(&ran.json()["id"]), "after");
}

#[test]
fn enqueueing_continues_when_stdout_is_closed() {
    let sandbox = Sandbox::new();
    let lines = (0..5000)
        .map(|n| format!("{{\"payload\":\"{n}\"}}\n"))
        .collect::<Vec<_>>()
        .concat();
    std::fs::write(sandbox.path("jobs.ndjson"), lines).unwrap();

    let mut child = sandbox.start("enqueue q --ndjson jobs.ndjson --json");
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();

    assert!(output.status.success());
    assert!(
        output.stderr.is_empty(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    assert_eq!(
        sandbox.run("queue stats q --json").ok().json()["ready"],
        5000
    );
}

#[test]
fn a_printed_job_can_be_enqueued_again() {
    let sandbox = Sandbox::new();
    let options = "--id 1 --kind letter --priority 2 --delay 1h --unique-key k --unique-for 90s --max-attempts 3 \
        --timeout 1m --expires 2h --header to=Ann";
    sandbox.run(&format!("enqueue old x {options}")).ok();
    let printed = sandbox.run("job get old 1 --json").ok();

    sandbox.feed("enqueue new --ndjson -", &printed.stdout).ok();

    let (mut old, mut new) = (
        printed.json(),
        sandbox.run("job get new 1 --json").ok().json(),
    );
    for job in [&mut old, &mut new] {
        for field in ["queue", "created_at"] {
            job[field].take();
        }
    }
    assert_eq!(new, old);
    sandbox.run("job cancel old 1").ok();
    let ended = sandbox.run("job get old 1 --json").ok().stdout;
    let ran = sandbox
        .feed("enqueue new --ndjson - --json", &ended)
        .exits(1);
    assert_eq!(ran.error()["line"], 1);
}
