//! Large and binary jobs in a resident worker, and lines that are too long.

use super::sandbox::{Sandbox, text};

#[test]
fn a_payload_of_a_mebibyte_goes_there_and_back() {
    let sandbox = Sandbox::new();
    let payload = "x".repeat(1024 * 1024);
    sandbox.feed("enqueue q - --id 1", payload.as_bytes()).ok();
    // Only shell built-ins: the payload is too long for the arguments of another program.
    let script = r#". ./lib.sh
        read -r hello; IFS= read -r line
        token=${line#*'"token":"'}; token=${token%%'"'*}
        payload=${line#*'"payload":"'}; payload=${payload%%'"'*}
        done_with 1 "$token" "$payload"; next_job"#;

    sandbox.worker("", script).ok();

    assert!(text(&sandbox.shown("1")["result"]) == payload);
}

#[test]
fn bytes_that_are_not_text_go_there_and_back() {
    let sandbox = Sandbox::new();
    sandbox.feed("enqueue q - --id 1", b"\xff\0\xfe").ok();
    let script = r#". ./lib.sh
        next_job; bytes=$(field payload_base64)
        printf '{"type":"done","id":"%s","token":"%s","result_base64":"%s"}\n' "$id" "$token" "$bytes"
        next_job"#;

    sandbox.worker("", script).ok();

    let job = sandbox.shown("1");
    assert_eq!(
        (&job["result_base64"], &job["payload_base64"]),
        (&"/wD+".into(), &"/wD+".into())
    );
}

#[test]
fn a_line_that_is_too_long_breaks_the_protocol() {
    let sandbox = Sandbox::new();
    sandbox.job("1", "x", "--max-attempts 1");
    let script = ". ./lib.sh; next_job; yes | tr -d '\\n' | head -c 20000000; next_job";

    sandbox.worker("", script).ok();

    let job = sandbox.shown("1");
    assert!(
        text(&job["error"]).contains("a line of more than 8388608 bytes"),
        "{job}"
    );
}

#[test]
fn a_process_that_does_not_read_is_detected() {
    let sandbox = Sandbox::new();
    sandbox.large_job("1", "--max-attempts 1");

    sandbox
        .worker("--write-timeout 300ms", "exec sleep 1000")
        .ok();

    let job = sandbox.shown("1");
    assert!(
        text(&job["error"]).contains("did not read its stdin"),
        "{job}"
    );
}
