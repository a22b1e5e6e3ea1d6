//! Opts round-trip, and damaged opts are rejected.

use windlass_core::ErrorKind;

use super::*;

fn secs(secs: u64) -> Duration {
    Duration::from_secs(secs)
}

fn at(ms: u64) -> Timestamp {
    Timestamp::from_ms(ms)
}

fn headers(pairs: &[(&str, &str)]) -> Headers {
    let mut headers = Headers::default();
    for (name, value) in pairs {
        headers.set(name, value).unwrap();
    }
    headers
}

/// A job without any default.
fn rich() -> NewJob {
    NewJob::new("payload")
        .id(JobId::new("räksmörgås").unwrap())
        .kind(Kind::new("mail, plain").unwrap())
        .priority(Priority::new(0).unwrap())
        .unique_key(UniqueKey::new("key one").unwrap())
        .retry(
            RetryPolicy::fixed(Duration::from_micros(1500))
                .max_attempts(7)
                .until(Due::At(at(9_000))),
        )
        .timeout(secs(3))
        .at(at(5_000))
        .expires(Due::At(at(8_000)))
        .keep_outcome()
        .headers(headers(&[("trace", "a=b"), ("empty", ""), ("x", "1")]))
}

#[test]
fn a_job_with_defaults_has_an_empty_spec() {
    assert_eq!(spec(&NewJob::new("payload")), "");
    assert_eq!(Opts::read(b"").unwrap(), Opts::default());
}

#[test]
fn a_spec_has_its_lines_in_the_order_of_the_layout() {
    assert_eq!(
        spec(&rich()),
        "n\nd5000\np0\nkmail, plain\nukey one\nr7,2,2,0\nl9000\nt3000\ne8000\nw\n\
         hempty\t\ttrace\ta=b\tx\t1\n"
    );
}

#[test]
fn relative_times_are_left_to_the_stores_clock() {
    let job = NewJob::new("payload")
        .delay(Duration::from_micros(1))
        .retry(RetryPolicy::default().until(Due::Now))
        .expires(Due::After(secs(2)));
    assert_eq!(spec(&job), "d+1\nl+0\ne+2000\n");
    assert_eq!(spec(&NewJob::new("payload").delay(Duration::ZERO)), "d+0\n");
}

#[test]
fn a_spec_with_resolved_times_is_read_back() {
    let job = rich();

    let opts = Opts::read(spec(&job).as_bytes()).unwrap();

    let mut retry = job.retry;
    (retry.delay_first, retry.delay_max) = (Duration::from_millis(2), Duration::from_millis(2));
    let expected = Opts {
        is_named: true,
        due_at: Some(at(5_000)),
        priority: job.priority,
        kind: job.kind,
        unique_key: job.unique_key,
        retry,
        timeout: job.timeout,
        expires_at: Some(at(8_000)),
        keep_outcome: true,
        headers: job.headers,
        ..Opts::default()
    };
    assert_eq!(opts, expected);
}

#[test]
fn what_only_scripts_write_is_read() {
    let opts = Opts::read(b"c12\na3\nx2\ng4\n").unwrap();
    let expected = Opts {
        created_at: Some(at(12)),
        attempt: 3,
        expiries: 2,
        generation: 4,
        ..Opts::default()
    };
    assert_eq!(opts, expected);
}

#[test]
fn damaged_opts_are_rejected() {
    let bad: [&[u8]; 29] = [
        b"n",
        b"nx\n",
        b"wx\n",
        b"n\nn\n",
        b"\n",
        b"P5\n",
        b"z1\n",
        b"c\n",
        b"c-1\n",
        b"d+5\n",
        b"e1.5\n",
        b"lsoon\n",
        b"t\n",
        b"p10\n",
        b"p-1\n",
        b"p300\n",
        b"k\n",
        b"u\n",
        b"ka\tb\n",
        b"r20,1000,3600000\n",
        b"r20,1000,3600000,2\n",
        b"r20,1000,3600000,1,1\n",
        b"r5000000000,1,1,1\n",
        b"a5000000000\n",
        b"x\n",
        b"g\n",
        b"h\n",
        b"hname\n",
        b"\xffn\n",
    ];
    for text in bad {
        let error = Opts::read(text).unwrap_err();
        let shown = String::from_utf8_lossy(text);
        assert_eq!(error.kind(), ErrorKind::StoreDamaged, "{shown:?}");
    }
}

#[test]
fn an_error_does_not_contain_header_values() {
    let error = Opts::read(b"hauthorization\tsecret\tdangling\n").unwrap_err();
    assert!(!error.to_string().contains("secret"), "{error}");
}

#[test]
fn the_time_in_a_generated_id_is_read() {
    // The example of the ULID specification.
    let id = JobId::new("01arz3ndektsv4rrffq69g5fav").unwrap();
    assert_eq!(ulid_ms(&id, false), Some(1_469_922_850_259));
    assert_eq!(ulid_ms(&id, true), None);
    let latest = JobId::new("7zzzzzzzzzzzzzzzzzzzzzzzzz").unwrap();
    assert_eq!(ulid_ms(&latest, false), Some((1 << 48) - 1));
}

#[test]
fn an_id_that_was_not_generated_has_no_time() {
    for text in [
        "a",
        "01arz3ndektsv4rrffq69g5fa",
        "01ARZ3NDEKTSV4RRFFQ69G5FAV",
        "81arz3ndektsv4rrffq69g5fav",
        "01ilz3ndektsv4rrffq69g5fav",
        "éééééééééééééééé",
    ] {
        let id = JobId::new(text).unwrap();
        assert_eq!(ulid_ms(&id, false), None, "{text}");
    }
}

#[test]
fn a_generated_id_contains_its_time() {
    let before = ulid_ms(&JobId::generate(), false).expect("it is generated");
    let after = ulid_ms(&JobId::generate(), false).expect("it is generated");
    assert!(before <= after && after < before + 60_000);
}

#[test]
fn opts_win_over_the_id_and_a_job_is_due_when_it_was_enqueued() {
    let id = JobId::new("01arz3ndektsv4rrffq69g5fav").unwrap();
    let plain = Opts::default();
    assert_eq!(created_at(&id, &plain).unwrap(), at(1_469_922_850_259));
    assert_eq!(due_at(&id, &plain).unwrap(), at(1_469_922_850_259));
    let stored = Opts::read(b"c7\nd9\n").unwrap();
    assert_eq!(created_at(&id, &stored).unwrap(), at(7));
    assert_eq!(due_at(&id, &stored).unwrap(), at(9));
    let named = Opts::read(b"n\n").unwrap();
    assert!(created_at(&id, &named).is_err());
}

#[test]
fn a_spec_says_how_long_the_key_is_held_and_what_happens_to_another_job() {
    let keyed = || NewJob::new("payload").unique_key(UniqueKey::new("k").unwrap());
    let started = keyed().unique_until(UniqueUntil::Start);
    assert_eq!(spec(&started), "uk\nb\n");
    let read = |job: &NewJob| Opts::read(spec(job).as_bytes()).unwrap();
    assert_eq!(read(&started).unique_until, UniqueUntil::Start);
    let held = keyed().unique_for(secs(2));
    assert_eq!(spec(&held), "uk\nf2000\n");
    assert_eq!(read(&held).unique_for, Some(secs(2)));
    let both = keyed().on_duplicate(OnDuplicate::ReplaceAndPostpone);
    assert_eq!(spec(&both.postpone_max(secs(3))), "uk\norp\nm3000\n");
    // No other job has a generated id.
    let alone = NewJob::new("payload").on_duplicate(OnDuplicate::Replace);
    assert_eq!(spec(&alone), "");
}
