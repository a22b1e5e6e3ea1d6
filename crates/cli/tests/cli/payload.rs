//! Payloads and results are preserved byte for byte, up to the size limit.

use std::io::Write;

use super::sandbox::{Ran, Sandbox, text};

const MIB: usize = 1024 * 1024;

#[test]
fn a_payload_of_exactly_1_mib_is_accepted_and_one_byte_more_is_not() {
    let sandbox = Sandbox::new();
    let mut payload = vec![b'x'; MIB];
    sandbox.feed("enqueue q -", &payload).ok();

    payload.push(b'x');
    let ran = sandbox.feed("enqueue q - --json", &payload).exits(2);

    assert_eq!(ran.error()["code"], "invalid");
    assert_eq!(text(&sandbox.claim("q")["payload"]).len(), MIB);
    assert_eq!(
        sandbox.run("queue stats q --json").ok().json()["total"]["enqueued"],
        1
    );
}

#[test]
fn a_result_over_1_mib_is_rejected_and_the_lease_stays_valid() {
    let sandbox = Sandbox::new();
    sandbox.run("enqueue q x --id 1").ok();
    let token = text(&sandbox.claim("q")["token"]).to_owned();
    let line = format!("complete q 1 --token {token} --result -");

    sandbox.feed(&line, &vec![b'x'; MIB + 1]).exits(2);
    sandbox.feed(&line, &vec![b'x'; MIB]).ok();

    let job = sandbox.run("job get q 1 --json").ok().json();
    assert_eq!(text(&job["result"]).len(), MIB);
}

#[test]
fn utf8_comes_back_as_a_string_whatever_is_in_it() {
    let sandbox = Sandbox::new();
    for payload in [
        "",
        "-",
        "--json",
        "a\nb\0c",
        "{\"a\": 1.50 }",
        "räksmörgås 🦐",
        "\u{feff}x",
    ] {
        sandbox.feed("enqueue q -", payload.as_bytes()).ok();

        let job = sandbox.claim("q");

        assert_eq!(job["payload"], payload);
        assert!(job.get("payload_base64").is_none());
    }
}

#[test]
fn any_other_bytes_come_back_as_base64() {
    let sandbox = Sandbox::new();
    sandbox.feed("enqueue q - --id 1", b"\xff\xfe\x00\x80").ok();

    let job = sandbox.claim("q");
    assert_eq!(job["payload_base64"], "//4AgA==");
    assert!(job.get("payload").is_none());

    let line = format!("complete q 1 --token {} --result -", text(&job["token"]));
    sandbox.feed(&line, b"\x00\xff").ok();
    let job = sandbox.run("job get q 1 --json").ok().json();
    assert_eq!(job["result_base64"], "AP8=");
    assert!(job["result"].is_null());
}

#[test]
fn bytes_make_the_round_trip_through_ndjson() {
    let sandbox = Sandbox::new();
    sandbox
        .feed(
            "enqueue q --ndjson -",
            b"{\"payload_base64\":\"//4AgA==\"}\n",
        )
        .ok();

    assert_eq!(sandbox.claim("q")["payload_base64"], "//4AgA==");
}

#[test]
fn an_argument_is_used_as_the_payload_unchanged() {
    let sandbox = Sandbox::new();
    for payload in ["hello world", " spaces ", "{\"a\":1}"] {
        sandbox.run_words(&["enqueue", "q", payload]).ok();
        assert_eq!(sandbox.claim("q")["payload"], payload);
    }
    sandbox.run_words(&["enqueue", "q", "--", "--json"]).ok();
    assert_eq!(sandbox.claim("q")["payload"], "--json");
}

#[test]
fn a_payload_cannot_control_the_terminal() {
    let sandbox = Sandbox::new();
    sandbox.feed("enqueue q - --id 1", b"\x1b[2J\x07").ok();

    for line in ["job get q 1", "job list q", "claim q"] {
        let ran = sandbox.run(line).ok();
        assert!(!ran.text().contains(['\x1b', '\x07']), "{line}");
    }
}

/// Runs a command line with bytes that are on stdin before it starts.
fn run_with(sandbox: &Sandbox, words: &[&str], input: &[u8]) -> Ran {
    let (reader, mut writer) = std::io::pipe().unwrap();
    writer.write_all(input).unwrap();
    drop(writer);
    Ran::from(sandbox.command(words).stdin(reader).output().unwrap())
}

#[test]
fn unread_bytes_on_stdin_are_never_dropped_silently() {
    let sandbox = Sandbox::new();

    let ran = run_with(&sandbox, &["enqueue", "q", "--json"], b"hello").exits(2);

    let error = ran.error();
    assert_eq!(error["code"], "usage");
    assert!(text(&error["help"]).contains("use - as PAYLOAD"), "{error}");
    assert!(!sandbox.has_store());
    for (words, input, payload) in [
        (&["enqueue", "q", "-"][..], &b"hello"[..], "hello"),
        (&["enqueue", "q", ""], b"hello", ""),
        (&["enqueue", "q"], b"", ""),
    ] {
        let ran = run_with(&sandbox, words, input).ok();
        assert_eq!(ran.stderr, "", "{words:?}");
        assert_eq!(sandbox.claim("q")["payload"], payload, "{words:?}");
    }
}

#[test]
fn an_idle_pipe_does_not_block_a_job_with_an_empty_payload() {
    let sandbox = Sandbox::new();
    let (reader, writer) = std::io::pipe().unwrap();

    let mut command = sandbox.command(&["enqueue", "q"]);
    let ran = Ran::from(command.stdin(reader).output().unwrap()).ok();

    assert!(
        ran.stderr.contains("the payload is empty"),
        "{}",
        ran.stderr
    );
    assert_eq!(sandbox.claim("q")["payload"], "");
    drop(writer);
}
