//! What a line of NDJSON means.

use std::time::Duration;

use windlass_core::Timestamp;

use super::*;

fn job(line: &str) -> Result<NewJob> {
    EnqueueRequest::from_json(line)?.into_job()
}

#[test]
fn a_string_payload_stands_for_its_bytes() {
    for (line, bytes) in [
        (r#"{"payload":"plain"}"#, "plain"),
        (r#"{"payload":"a\"b\n\u00e5"}"#, "a\"b\nå"),
        (r#"{"payload":""}"#, ""),
        (r"{}", ""),
    ] {
        let job = job(line).unwrap();
        assert_eq!(job.payload, bytes, "{line}");
        assert!(job.headers.is_empty(), "{line}");
    }
}

#[test]
fn any_other_json_keeps_its_exact_text() {
    for text in [
        "{ \"a\" : 1.50 }",
        "[1,  2]",
        "12345678901234567890123",
        "null",
        "true",
        "1e3",
    ] {
        let job = job(&format!("{{\"payload\":{text}}}")).unwrap();
        assert_eq!(job.payload, text.as_bytes(), "{text}");
        assert_eq!(
            job.headers.get("content-type"),
            Some("application/json"),
            "{text}"
        );
    }
}

#[test]
fn the_callers_content_type_wins() {
    let line = r#"{"payload":{"a":1},"headers":{"Content-Type":"application/ld+json"}}"#;

    assert_eq!(
        job(line).unwrap().headers.get("content-type"),
        Some("application/ld+json")
    );
}

#[test]
fn base64_carries_any_bytes() {
    assert_eq!(
        job(r#"{"payload_base64":"//4A"}"#).unwrap().payload,
        &b"\xff\xfe\0"[..]
    );
}

#[test]
fn every_field_reaches_the_job() {
    let line = r#"{"payload":"x","id":"7","kind":"mail","priority":2,"delay":"5m","unique_key":"k",
        "max_attempts":3,"timeout":"10s","expires":"1h","headers":{"trace":"t"}}"#;

    let job = job(line).unwrap();

    assert_eq!((job.id.as_str(), job.is_named), ("7", true));
    assert_eq!(job.kind.unwrap().as_str(), "mail");
    assert_eq!(job.priority.level(), 2);
    assert_eq!(job.due, Due::After(Duration::from_mins(5)));
    assert_eq!(job.unique_key.unwrap().as_str(), "k");
    assert_eq!(job.retry.max_attempts, 3);
    assert_eq!(job.timeout, Some(Duration::from_secs(10)));
    assert_eq!(job.expires, Some(Due::After(Duration::from_hours(1))));
    assert_eq!(job.headers.get("trace"), Some("t"));
}

#[test]
fn a_moment_may_be_text_or_a_number() {
    for at in [r#""1970-01-01T00:01:00.5Z""#, r#""60.5""#, "60.5"] {
        let job = job(&format!("{{\"at\":{at}}}")).unwrap();
        assert_eq!(job.due, Due::At(Timestamp::from_ms(60_500)), "{at}");
    }
}

#[test]
fn a_wrong_line_is_refused_with_help() {
    for bad in [
        "",
        "hello",
        "[]",
        "{\"payload\":\"x\"",
        r#"{"payload":"x"} {"#,
        r#"{"paylod":"x"}"#,
        r#"{"payload":"x","payload":"y"}"#,
        r#"{"payload":"x","payload_base64":"eA=="}"#,
        r#"{"payload_base64":"x"}"#,
        r#"{"payload":"\ud800"}"#,
        r#"{"priority":10}"#,
        r#"{"priority":-1}"#,
        r#"{"priority":"2"}"#,
        r#"{"delay":"5"}"#,
        r#"{"delay":"-5s"}"#,
        r#"{"delay":"5s","at":60}"#,
        r#"{"at":-5}"#,
        r#"{"id":""}"#,
        r#"{"id":"a\nb"}"#,
        r#"{"headers":{"a b":"c"}}"#,
    ] {
        assert!(!job(bad).unwrap_err().help().is_empty(), "{bad}");
    }
}

#[test]
fn a_job_that_was_waited_for_is_shown_in_the_state_it_ended_in() {
    let queue = QueueName::new("q").unwrap();
    let enqueued = Enqueued::Accepted {
        id: JobId::new("1").unwrap(),
        state: JobState::Ready,
        level: Level::Synced,
    };

    let reply = EnqueueReply::new(&queue, &enqueued).ended(JobState::Dead);

    assert_eq!(
        serde_json::to_string(&reply).unwrap(),
        r#"{"id":"1","queue":"q","state":"dead","duplicate":false,"durability":"synced"}"#
    );
}
