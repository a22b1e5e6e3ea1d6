//! Tests of the JSON form of new jobs.

use std::time::Duration;

use windlass_core::Timestamp;
use windlass_core::store::Limits;

use super::*;

fn job(line: &str) -> Result<NewJob> {
    EnqueueRequest::from_json(line)?.into_job()
}

#[test]
fn a_string_payload_is_stored_as_its_bytes() {
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
fn a_time_may_be_text_or_a_number() {
    for at in [r#""1970-01-01T00:01:00.5Z""#, r#""60.5""#, "60.5"] {
        let job = job(&format!("{{\"at\":{at}}}")).unwrap();
        assert_eq!(job.due, Due::At(Timestamp::from_ms(60_500)), "{at}");
    }
}

#[test]
fn an_invalid_number_is_named_with_its_range() {
    for (line, message) in [
        (
            r#"{"payload":"x","priority":-1}"#,
            "invalid priority: -1 is too small; minimum 0",
        ),
        (
            r#"{"priority":300}"#,
            "invalid priority: 300 is too large; maximum 9",
        ),
        (
            "{\"payload\":\"x\",\n \"max_attempts\": -1, \"id\":\"7\"}",
            "invalid field max_attempts: invalid value: integer `-1`, \
             expected a whole number from 0 to 4294967295",
        ),
        (
            r#"{"headers":{"a":"b","c":1},"kind":"k"}"#,
            "invalid field headers: invalid type: integer `1`, expected a string",
        ),
        (
            r#"{"at":true}"#,
            "invalid field at: expected RFC 3339 or unix seconds, as a string or a number",
        ),
    ] {
        assert_eq!(job(line).unwrap_err().to_string(), message);
    }
}

#[test]
fn an_invalid_line_is_rejected_with_help() {
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

/// An exported job with every field.
const EXPORTED: &str = r#"{"id":"7","queue":"q","state":"running","kind":"mail","priority":2,"attempt":3,
    "max_attempts":9,"expiries":1,"progress":0.5,"progress_message":"half","created_at":"2026-01-31T08:05:00.000Z",
    "due_at":"2026-01-31T08:05:00.250Z","expires_at":"2126-01-31T08:05:00.000Z","started_at":null,
    "finished_at":null,"timeout_ms":1500,"unique_key":"k","headers":{"trace":"t"},"payload":"x","result":null,
    "error":"no","reason":null,"worker":"w","cancel_requested":false}"#;

#[test]
fn an_exported_job_is_parsed_as_a_new_one() {
    let job = job(EXPORTED).unwrap();

    assert_eq!((job.id.as_str(), job.is_named), ("7", true));
    assert_eq!((job.payload.as_ref(), job.priority.level()), (&b"x"[..], 2));
    assert_eq!(
        (job.kind.unwrap().as_str(), job.retry.max_attempts),
        ("mail", 9)
    );
    assert_eq!(job.due, Due::At(Timestamp::from_ms(1_769_846_700_250)));
    let expires = Timestamp::from_ms(4_925_520_300_000);
    assert_eq!(job.expires, Some(Due::At(expires)));
    assert_eq!(job.timeout, Some(Duration::from_millis(1500)));
    assert_eq!(job.unique_key.unwrap().as_str(), "k");
    assert_eq!(job.headers.get("trace"), Some("t"));
}

#[test]
fn an_exported_job_that_is_finished_is_not_run_again_by_accident() {
    for state in ["succeeded", "dead", "cancelled"] {
        let line = EXPORTED.replace("running", state);
        let error = job(&line).unwrap_err();
        assert!(error.to_string().contains("is finished"), "{error}");
        assert!(error.help().contains("remove its field state"), "{error:?}");
    }
    let again = EXPORTED.replace(r#""state":"running","#, "");
    assert!(job(&again).is_ok());
}

#[test]
fn an_exported_job_that_waits_for_another_or_was_asked_to_stop_is_not_run_by_accident() {
    for (from, to, field) in [
        ("running", "pending", "field state"),
        (
            r#""cancel_requested":false"#,
            r#""cancel_requested":true"#,
            "field cancel_requested",
        ),
    ] {
        let error = job(&EXPORTED.replace(from, to)).unwrap_err();
        assert!(error.help().contains(field), "{error:?}");
    }
}

#[test]
fn a_field_that_no_exported_job_has_is_still_rejected() {
    for bad in [
        EXPORTED.replace("expiries", "expires_in"),
        EXPORTED.replace("running", "walking"),
        EXPORTED.replace(r#""id":"7","#, ""),
        EXPORTED
            .replace("due_at", "at")
            .replace("expires_at", "due_at"),
        r#"{"id":"7","queue":"q"}"#.to_owned(),
        r#"{"error":"no","stopped":true}"#.to_owned(),
    ] {
        assert!(job(&bad).is_err(), "{bad}");
    }
}

#[test]
fn a_job_that_was_waited_for_is_shown_in_the_state_it_ended_in() {
    let queue = QueueName::new("q").unwrap();
    let enqueued = Enqueued::Accepted {
        id: JobId::new("1").unwrap(),
        state: JobState::Ready,
        level: windlass_core::store::DurabilityLevel::Synced,
    };

    let reply = EnqueueReply::new(&queue, &enqueued).ended(JobState::Dead);

    assert_eq!(
        serde_json::to_string(&reply).unwrap(),
        r#"{"id":"1","queue":"q","state":"dead","duplicate":false,"durability":"synced"}"#
    );
}

#[test]
fn the_options_of_deduplication_survive_their_json() {
    for line in [
        r#"{"id":"1","unique_key":"k","on_duplicate":"postpone","postpone_max":"5m"}"#,
        r#"{"id":"1","unique_key":"k","on_duplicate":"replace","unique_until":"start"}"#,
        r#"{"id":"1","unique_key":"k","on_duplicate":"replace,postpone","unique_for":"1h30m"}"#,
        r#"{"id":"1"}"#,
    ] {
        let first = job(line).unwrap();
        let json = serde_json::to_string(&EnqueueRequest::from(first.clone())).unwrap();
        assert_eq!(job(&json).unwrap(), first, "{json}");
        for field in ["on_duplicate", "postpone_max", "unique_until", "unique_for"] {
            assert_eq!(json.contains(field), line.contains(field), "{json}");
        }
    }
    let job = job(r#"{"unique_key":"k","on_duplicate":"postpone,replace","postpone_max":"5m"}"#);
    let job = job.unwrap();
    assert_eq!(job.on_duplicate, OnDuplicate::ReplaceAndPostpone);
    assert_eq!(job.postpone_max, Some(Duration::from_mins(5)));
}

#[test]
fn invalid_options_of_deduplication_are_rejected_with_help() {
    for (fields, expected) in [
        (
            r#""on_duplicate":"overwrite""#,
            r#"unknown action "overwrite""#,
        ),
        (r#""on_duplicate":"keep,replace""#, "unknown action"),
        (r#""on_duplicate":"replace,replace""#, "unknown action"),
        (r#""on_duplicate":"""#, "unknown action"),
        (r#""on_duplicate":true"#, "on_duplicate"),
        (r#""unique_until":"claim""#, "unique_until"),
        (r#""unique_for":"-1s""#, "unique_for"),
        (r#""unique_for":"36501d""#, "longer than 100 years"),
        (r#""unique_for":"99999999999999999999s""#, "unique_for"),
        (r#""unique_for":"1h","unique_until":"start""#, "contradicts"),
        (r#""postpone_max":"1h""#, "postpones no job"),
        (
            r#""on_duplicate":"replace","postpone_max":"1h""#,
            "postpones no job",
        ),
        (
            r#""on_duplicate":"postpone","postpone_max":"soon""#,
            "postpone_max",
        ),
        (
            r#""on_duplicate":"postpone","postpone_max":"36501d""#,
            "postpone_max",
        ),
        (r#""unique_key":null,"unique_for":"1h""#, "no unique key"),
        (
            r#""unique_key":null,"unique_until":"start""#,
            "no unique key",
        ),
    ] {
        let key = if fields.contains("unique_key") {
            ""
        } else {
            r#""unique_key":"k","#
        };
        let checked =
            job(&format!("{{{key}{fields}}}")).and_then(|job| Limits::default().check_job(&job));
        let error = checked.expect_err(fields);
        assert!(error.to_string().contains(expected), "{fields}: {error}");
        assert!(!error.help().is_empty(), "{fields}");
    }
}

#[test]
fn an_exported_job_holds_its_key_as_before() {
    let key = r#""unique_key":"k""#;
    for (fields, until, time) in [
        ("", UniqueUntil::End, None),
        (r#","unique_until":"start""#, UniqueUntil::Start, None),
        (
            r#","unique_for_ms":1500"#,
            UniqueUntil::End,
            Some(Duration::from_millis(1500)),
        ),
    ] {
        let job = job(&EXPORTED.replace(key, &format!("{key}{fields}"))).unwrap();
        assert_eq!(
            (job.unique_until, job.unique_for),
            (until, time),
            "{fields}"
        );
    }
}

#[test]
fn each_reply_survives_its_json() {
    let (id, state) = (JobId::new("1").unwrap(), JobState::Ready);
    let level = DurabilityLevel::Synced;
    for enqueued in [
        Enqueued::Accepted {
            id: id.clone(),
            state,
            level,
        },
        Enqueued::Duplicate {
            id: id.clone(),
            state,
            level,
        },
        Enqueued::Replaced {
            id: id.clone(),
            state,
            level,
        },
        Enqueued::Postponed { id, state, level },
    ] {
        let reply = EnqueueReply::new(&QueueName::new("q").unwrap(), &enqueued);
        assert_eq!(reply.is_accepted(), enqueued.is_accepted());
        let json = serde_json::to_string(&reply).unwrap();
        let again: EnqueueReply = serde_json::from_str(&json).unwrap();
        assert_eq!(again.into_enqueued().unwrap(), enqueued, "{json}");
    }
}
