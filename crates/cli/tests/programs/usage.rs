//! Invalid command lines are rejected before anything else happens.

use super::sandbox::Sandbox;

#[test]
fn an_invalid_command_line_is_a_usage_error() {
    let sandbox = Sandbox::new();
    for line in [
        "exec --queue q",
        "exec --queue q --",
        "exec -- true",
        "exec --queue q -- run {unknown}",
        "exec --queue q -- {payload}",
        "exec --queue q -- sh -c echo_{payload}",
        "exec --queue q -- env bash -c echo_{payload}",
        "exec --queue q --shell -- echo_{payload}",
        "exec --queue q --shell -- echo two_words",
        "exec --queue q --on-exit 3=maybe -- true",
        "exec --queue q --on-exit 300=done -- true",
        "exec --queue q --env WINDLASS_STORE -- true",
        "exec --queue q --burst --env WINDLASS_TOKEN -- true",
        "exec --queue q --burst --env WINDLASS_JOB_ID=1 -- true",
        "exec --queue q -j 0 -- true",
        "exec --queue q --burst --timeout 0s -- true",
        "exec --queue q --lease soon -- true",
        "exec --queue q --queue q -- true",
        "exec --queue b@d -- true",
        "exec q",
        "exec q --",
        "exec ./true",
        "up q",
        "up -- true",
        "worker q",
        "worker --queue q --stdio",
        "worker --queue q --stdio -- run {id}",
        "worker --queue q --stdio --procs 0 -- true",
        "worker --queue q --stdio --burst --timeout 0s -- true",
    ] {
        sandbox.run(line).exits(2);
    }
    assert!(!sandbox.has_store());
}

#[test]
fn the_queue_and_the_program_need_no_dashes() {
    let sandbox = Sandbox::new();
    for line in [
        "exec q --burst --json tr a-z A-Z",
        "exec --burst --json q -- tr a-z A-Z",
        "exec --burst --json --queue q tr a-z A-Z",
        "exec q --queue other --burst --json tr a-z A-Z",
        "exec q --burst --json sh -c cat --burst",
    ] {
        sandbox.job("1", "dear ann", "");
        let summary = sandbox.run(line).ok().json();
        assert_eq!(summary["succeeded"], 1, "{line}: {summary}");
        sandbox.run("job delete q 1").ok();
    }
}
