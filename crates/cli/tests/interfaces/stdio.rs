//! `windlass stdio`: requests and replies on each store, and every way a session ends.

use std::fmt::Write as _;
use std::fs::OpenOptions;

use rustix::process::Signal;

use super::pipes::PipeSession;
use super::sandbox::{Ran, Sandbox, text};
use super::test_store::TestStore;

fn counts(sandbox: &Sandbox) -> (u64, u64) {
    let stats = sandbox.run("queue stats q --json").ok().json();
    let count = |name: &str| stats[name].as_u64().unwrap();
    (count("ready"), count("running"))
}

/// Enqueues hundreds of jobs and claims them in order, without waiting for any reply.
fn jobs_keep_their_order(sandbox: &Sandbox) {
    let mut input = String::from("\u{feff}");
    for job in 0..300 {
        let line = format!(r#"{{"op":"enqueue","ref":{job},"queue":"q","id":"{job}"}}"#);
        writeln!(input, "{line}\r").unwrap();
    }
    for claim in 300..303 {
        let line = format!(r#"{{"op":"claim","ref":{claim},"queue":"q","max":100}}"#);
        writeln!(input, "\n{line}").unwrap();
    }
    input.push_str(r#"{"op":"stats","ref":303,"queue":"q"}"#);

    let replies = sandbox.feed("stdio", input.as_bytes()).ok().json_lines();

    assert_eq!(replies.len(), 304);
    for (at, reply) in replies.iter().enumerate() {
        assert_eq!((&reply["ref"], &reply["ok"]), (&at.into(), &true.into()));
    }
    let claimed = replies[300..303]
        .iter()
        .flat_map(|reply| reply["jobs"].as_array().unwrap());
    let ids: Vec<_> = claimed.map(|job| text(&job["id"]).to_owned()).collect();
    let expected: Vec<_> = (0..300).map(|job| job.to_string()).collect();
    assert_eq!(ids, expected);
    assert_eq!(replies[303]["running"], 300);
}

#[test]
fn jobs_keep_their_order_in_a_file() {
    jobs_keep_their_order(&Sandbox::new());
}

#[test]
fn jobs_keep_their_order_on_redis() {
    jobs_keep_their_order(&Sandbox::on(TestStore::redis()));
}

fn a_job_goes_from_enqueue_to_complete(sandbox: &Sandbox) {
    let mut session = PipeSession::start(sandbox, "stdio");
    session.request(r#"{"op":"enqueue","queue":"q","id":"a","payload":[1]}"#);
    let claimed = session.request(r#"{"op":"claim","queue":"q","wait":"5s"}"#);
    let token = text(&claimed["jobs"][0]["token"]).to_owned();
    let done = session.request(&format!(
        r#"{{"op":"complete","ref":[7],"queue":"q","id":"a","token":"{token}","result":"r"}}"#
    ));
    assert_eq!(
        (&done["ref"][0], &done["outcome"]),
        (&7.into(), &"completed".into())
    );
    let late = session.request(&format!(
        r#"{{"op":"fail","queue":"q","id":"a","token":"{token}"}}"#
    ));
    assert_eq!(
        (&late["error"]["code"], &late["error"]["line"]),
        (&"lease_lost".into(), &4.into())
    );
    let seen = session.request(r#"{"op":"wait","queue":"q","id":"a"}"#);
    assert_eq!(seen["result"], "r");
    let (status, errors) = session.close();
    assert_eq!((status.code(), errors.len()), (Some(0), 0));
}

#[test]
fn a_job_goes_from_enqueue_to_complete_in_a_file() {
    a_job_goes_from_enqueue_to_complete(&Sandbox::new());
}

#[test]
fn a_job_goes_from_enqueue_to_complete_on_redis() {
    a_job_goes_from_enqueue_to_complete(&Sandbox::on(TestStore::redis()));
}

#[test]
fn every_operation_is_known() {
    let sandbox = Sandbox::new();
    let ops = windlass_api::Request::OPS;
    let lines: Vec<_> = ops.iter().map(|op| format!(r#"{{"op":"{op}"}}"#)).collect();

    let replies = sandbox.feed("stdio", lines.join("\n").as_bytes()).ok();

    let replies = replies.json_lines();
    assert_eq!(replies.len(), ops.len());
    for (op, reply) in ops.iter().zip(&replies) {
        let message = reply["error"]["message"].as_str().unwrap_or_default();
        assert!(!message.contains("unknown op"), "{op}: {reply}");
    }
}

#[test]
fn a_signal_to_stop_cuts_waits_short_and_replies_to_them() {
    let sandbox = Sandbox::new();
    for signal in [Signal::TERM, Signal::INT] {
        let mut session = PipeSession::start(&sandbox, "stdio --unordered");
        session.write_line(r#"{"op":"claim","ref":"c","queue":"q","wait":"60s"}"#);
        assert_eq!(session.request(r#"{"op":"queues","ref":"q"}"#)["ref"], "q");
        session.signal(signal);
        let reply = session.read_reply();
        assert_eq!((&reply["ref"], &reply["ok"]), (&"c".into(), &true.into()));
        assert_eq!(session.close().0.code(), Some(0));
    }
}

#[test]
fn a_closed_output_ends_it_cleanly_and_loses_nothing() {
    let sandbox = Sandbox::new();
    for id in ["1", "2", "3"] {
        sandbox.run(&format!("enqueue q x --id {id}")).ok();
    }
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let mut child = sandbox
        .command(&["stdio"])
        .stdin(std::process::Stdio::piped())
        .stdout(writer)
        .spawn()
        .unwrap();
    let claim = b"{\"op\":\"claim\",\"queue\":\"q\",\"max\":2,\"lease\":\"1h\"}\n";
    // The input stays open: the closed output ends it.
    std::io::Write::write_all(child.stdin.as_mut().unwrap(), claim).unwrap();

    let stdin = child.stdin.take();
    let ran = Ran::from(child.wait_with_output().unwrap());
    drop(stdin);

    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert!(
        ran.stderr.contains("it was returned to its queue"),
        "{}",
        ran.stderr
    );
    assert_eq!(counts(&sandbox), (3, 0));
    assert_eq!(text(&sandbox.claim("q")["id"]), "1");
}

#[test]
fn a_claim_that_cannot_be_written_releases_its_jobs() {
    let sandbox = Sandbox::new();
    sandbox.run("enqueue q x --id 1").ok();
    let full = OpenOptions::new().write(true).open("/dev/full").unwrap();
    let mut child = sandbox
        .command(&["stdio", "--json"])
        .stdin(std::process::Stdio::piped())
        .stdout(full)
        .spawn()
        .unwrap();
    let claim = b"{\"op\":\"claim\",\"queue\":\"q\",\"lease\":\"1h\"}\n";
    std::io::Write::write_all(child.stdin.as_mut().unwrap(), claim).unwrap();

    let ran = Ran::from(child.wait_with_output().unwrap());

    assert_eq!(ran.code, Some(1), "{}", ran.stderr);
    assert_eq!(ran.error()["code"], "unwritable");
    assert_eq!(counts(&sandbox), (1, 0));
}

#[test]
fn an_invalid_start_has_its_exit_status() {
    let sandbox = Sandbox::new();
    for (line, code) in [
        ("stdio --line-max 3", 2),
        ("stdio --sorted", 2),
        ("stdio --store redis://127.0.0.1:1/0?timeout=200ms", 69),
        ("processor --tick soon", 2),
        ("processor --lease 0s", 2),
        ("processor --publisher a+b", 2),
        ("processor --store redis://127.0.0.1:1/0?timeout=200ms", 69),
    ] {
        let ran = sandbox.feed(line, b"{\"op\":\"queues\"}\n");
        assert_eq!(ran.code, Some(code), "{line}: {}", ran.stderr);
        assert_eq!(ran.text(), "", "{line}");
    }
}

#[test]
fn a_store_error_is_a_reply() {
    let place = TestStore::redis();
    let url = place.server().url();
    let sandbox = Sandbox::on(place);
    let mut session = PipeSession::start(&sandbox, &format!("stdio --store {url}?timeout=5s"));
    assert_eq!(session.request(r#"{"op":"queues","ref":1}"#)["ok"], true);
    sandbox.store.server().kill();
    let reply = session.request(r#"{"op":"enqueue","ref":2,"queue":"q","id":"a"}"#);
    assert_eq!((&reply["ref"], &reply["ok"]), (&2.into(), &false.into()));
    let code = text(&reply["error"]["code"]);
    assert!(
        ["store_unreachable", "outcome_unknown"].contains(&code),
        "{reply}"
    );
    sandbox.store.server().restart();
    let again = session.request(r#"{"op":"enqueue","ref":3,"queue":"q","id":"a"}"#);
    assert_eq!(again["ok"], true, "{again}");
    assert_eq!(session.close().0.code(), Some(0));
}
