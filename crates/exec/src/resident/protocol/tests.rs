//! Which lines are messages, and what they mean.

use super::*;

fn ended(line: &str) -> Outcome {
    match Message::read(line.as_bytes()) {
        Some(Message::Outcome { attempt, outcome }) => {
            assert_eq!(attempt.id, "1", "{line}");
            outcome
        }
        other => panic!("{line}: {other:?}"),
    }
}

#[test]
fn a_result_is_text_json_or_bytes() {
    let done = |text: &'static str| Outcome::Done(Some(Bytes::from(text)));
    assert_eq!(ended(r#"{"type":"done","id":"1"}"#), Outcome::done());
    assert_eq!(
        ended(r#"{"type":"done","id":"1","result":null}"#),
        Outcome::done()
    );
    assert_eq!(
        ended(r#"{"type":"done","id":"1","result":"a\nb"}"#),
        done("a\nb")
    );
    assert_eq!(
        ended(r#"{"type":"done","id":"1","result":{"n": 1.50}}"#),
        done(r#"{"n": 1.50}"#)
    );
    assert_eq!(
        ended(r#"{"type":"done","id":"1","result_base64":"//4="}"#),
        Outcome::Done(Some(Bytes::from_static(b"\xff\xfe")))
    );
}

#[test]
fn a_failure_has_an_error_and_a_retry_time() {
    let failed = |error: &str, retry| Outcome::Failed {
        error: error.to_owned(),
        retry,
    };
    assert_eq!(
        ended(r#"{"type":"fail","id":"1","error":"no"}"#),
        failed("no", RetryWhen::ByPolicy)
    );
    assert_eq!(
        ended(
            r#"{"type":"fail","id":"1","error":{"kind":"E","message":"m","stack":"s"},"retry":false}"#
        ),
        failed("E: m\ns", RetryWhen::Never)
    );
    assert_eq!(
        ended(r#"{"type":"fail","id":"1","error":{"x":1},"retry":true,"after_ms":5000}"#),
        failed(
            r#"{"x":1}"#,
            RetryWhen::At(Due::After(Duration::from_secs(5)))
        )
    );
    assert_eq!(
        ended(r#"{"type":"snooze","id":"1","after_ms":60000}"#),
        Outcome::snooze(Duration::from_secs(60))
    );
    assert_eq!(
        ended(r#"{"type":"snooze","id":"1","after_ms":60000,"scope":"group"}"#),
        Outcome::snooze_group(Due::After(Duration::from_secs(60)))
    );
}

#[test]
fn an_invalid_reply_fails_the_attempt() {
    for line in [
        r#"{"type":"snooze","id":"1"}"#,
        r#"{"type":"snooze","id":"1","after_ms":1,"scope":"all"}"#,
        r#"{"type":"fail","id":"1","after_ms":"soon"}"#,
        r#"{"type":"done","id":"1","result":1,"result_base64":""}"#,
        r#"{"type":"done","id":"1","result_base64":"?"}"#,
    ] {
        assert!(matches!(ended(line), Outcome::Failed { .. }), "{line}");
    }
}

#[test]
fn other_lines_are_not_messages() {
    for line in [
        &b""[..],
        b"hello",
        b"[]",
        b"[\"done\"]",
        b"{}",
        b"{\"type\":\"dance\"}",
        b"{\"type\":\"done\"}",
        b"{\"type\":\"done\",\"id\":\"1\"",
        b"{\"type\":\"progress\",\"id\":\"1\",\"value\":7}",
        b"{\"type\":\"log\"}",
        b"{\"type\":\"log\",\"msg\":\"\xff\"}",
        b"\0",
    ] {
        assert!(
            Message::read(line).is_none(),
            "{}",
            String::from_utf8_lossy(line)
        );
    }
}

#[test]
fn the_token_has_an_older_name_and_unknown_fields_are_ignored() {
    for name in ["token", "lease"] {
        let line = format!(r#"{{"type":"progress","id":"1","{name}":"t","value":0.5,"new":1}}"#);
        let Some(Message::Progress { attempt, report }) = Message::read(line.as_bytes()) else {
            panic!("{line}");
        };
        assert_eq!(
            (attempt.token.as_deref(), report.progress),
            (Some("t"), 0.5)
        );
    }
}
