//! Every code of the table, and errors without a code.

use super::*;
use windlass_core::ErrorKind::{
    Internal, Invalid, OutcomeUnknown, StoreBusy, StoreDamaged, StoreFull, StoreNewer, StoreOlder,
    StoreReadOnly, StoreUnreachable, StoreUnsupported,
};

use Recovery::{BackOff, Fatal, Rediscover, Retry};

const SERVER: &str = "h:1";

/// Real error replies, the recovery, and the kind of error the caller gets.
const REPLIES: [(&str, &str, Recovery, ErrorKind); 35] = [
    ("MOVED", "3999 127.0.0.1:6381", Rediscover, StoreUnreachable),
    ("ASK", "3999 127.0.0.1:6381", Rediscover, StoreUnreachable),
    (
        "TRYAGAIN",
        "Multiple keys request during rehashing of slot",
        Retry,
        StoreBusy,
    ),
    (
        "CLUSTERDOWN",
        "Hash slot not served",
        Rediscover,
        StoreUnreachable,
    ),
    (
        "CROSSSLOT",
        "Keys in request don't hash to the same slot",
        Fatal,
        Internal,
    ),
    (
        "READONLY",
        "You can't write against a read only replica.",
        Rediscover,
        StoreUnreachable,
    ),
    (
        "MASTERDOWN",
        "Link with MASTER is down",
        Rediscover,
        StoreUnreachable,
    ),
    (
        "UNBLOCKED",
        "force unblock from blocking operation",
        Rediscover,
        StoreUnreachable,
    ),
    (
        "LOADING",
        "Redis is loading the dataset in memory",
        BackOff,
        StoreBusy,
    ),
    (
        "BUSY",
        "Redis is busy running a script.",
        BackOff,
        StoreBusy,
    ),
    (
        "UNKILLABLE",
        "Sorry the script already executed write commands",
        BackOff,
        StoreBusy,
    ),
    (
        "NOREPLICAS",
        "Not enough good replicas to write.",
        BackOff,
        StoreBusy,
    ),
    (
        "MISCONF",
        "Errors writing to the AOF file: No space left",
        BackOff,
        StoreBusy,
    ),
    (
        "NOSCRIPT",
        "No matching script. Please use EVAL.",
        Retry,
        StoreBusy,
    ),
    (
        "OOM",
        "command not allowed when used memory > 'maxmemory'.",
        Fatal,
        StoreFull,
    ),
    (
        "NOAUTH",
        "Authentication required.",
        Fatal,
        StoreUnreachable,
    ),
    (
        "WRONGPASS",
        "invalid username-password pair",
        Fatal,
        StoreUnreachable,
    ),
    (
        "DENIED",
        "Redis is running in protected mode",
        Fatal,
        StoreUnreachable,
    ),
    (
        "NOPERM",
        "this user has no permissions to run the 'evalsha' command",
        Fatal,
        StoreReadOnly,
    ),
    (
        "NOPROTO",
        "unsupported protocol version",
        Fatal,
        StoreUnsupported,
    ),
    (
        "WRONGTYPE",
        "Operation against a key holding the wrong kind",
        Fatal,
        StoreDamaged,
    ),
    ("DAMAGED", "stats", Fatal, StoreDamaged),
    ("NEWER", "schema 2", Fatal, StoreNewer),
    ("OLDER", "schema 1", Fatal, StoreOlder),
    ("EXECABORT", "Transaction discarded", Fatal, Internal),
    ("ERR", "max number of clients reached", BackOff, StoreBusy),
    ("ERR", "DB index is out of range", Fatal, Invalid),
    (
        "ERR",
        "SELECT is not allowed in cluster mode",
        Fatal,
        Invalid,
    ),
    (
        "ERR",
        "This instance has cluster support disabled",
        Fatal,
        StoreUnsupported,
    ),
    (
        "ERR",
        "unknown command 'WAITAOF', with args",
        Fatal,
        StoreUnsupported,
    ),
    (
        "ERR",
        "unknown subcommand 'SHARDS'. Try CLUSTER HELP.",
        Fatal,
        StoreUnsupported,
    ),
    (
        "ERR",
        "Unknown Redis command called from script script: 7ae0, on @user_script:1.",
        Fatal,
        StoreUnsupported,
    ),
    (
        "ERR",
        "user_script:1: attempt to index a nil value",
        Fatal,
        Internal,
    ),
    (
        "ERR",
        "Error compiling script (new function)",
        Fatal,
        Internal,
    ),
    ("FANCY", "something new", Fatal, Internal),
];

fn call_error(code: &str, detail: &str) -> CallError {
    CallError::from_code(&SERVER, code, detail)
}

#[test]
fn every_code_has_a_recovery_and_a_kind() {
    for (code, detail, recovery, kind) in REPLIES {
        let call_error = call_error(code, detail);
        assert_eq!(call_error.recovery, recovery, "{code} {detail}");
        assert_eq!(call_error.is_no_script, code == "NOSCRIPT");
        let error = call_error.into_error();
        assert_eq!(error.kind(), kind, "{code} {detail}");
        assert!(error.to_string().contains(SERVER), "{error}");
        assert!(error.to_string().contains(code), "{error}");
        assert!(!error.help().is_empty());
    }
}

#[test]
fn every_row_of_the_table_matches_a_real_reply() {
    for row in table::TABLE {
        let is_matched = REPLIES
            .iter()
            .map(|(code, detail, ..)| (*code, *detail))
            .chain([("ERR", "syntax error")])
            .any(|(code, detail)| std::ptr::eq(table::find(code, detail), row));
        assert!(is_matched, "{}", row.message);
    }
}

#[test]
fn what_the_link_retries_is_transient_and_what_is_fatal_is_returned_at_once() {
    for (code, detail, ..) in REPLIES {
        let call_error = call_error(code, detail);
        if call_error.recovery != Fatal {
            assert!(call_error.into_error().is_transient(), "{code}");
        }
    }
}

#[test]
fn a_redirect_names_its_target() {
    for (code, detail, host, port) in [
        ("MOVED", "3999 127.0.0.1:6381", "127.0.0.1", 6381),
        ("ASK", "3999 node-1.example:6381", "node-1.example", 6381),
        ("MOVED", "3999 :6381", "", 6381),
        ("MOVED", "3999 ?:6381", "", 6381),
        ("MOVED", "3999 ::1:6381", "::1", 6381),
    ] {
        let redirect = call_error(code, detail).redirect.expect(detail);
        assert_eq!(redirect.is_ask, code == "ASK");
        assert_eq!(
            (redirect.slot, redirect.host.as_str(), redirect.port),
            (3999, host, port)
        );
    }
    for detail in ["", "x", "3999", "3999 h", "3999 h:port", "70000 h:1"] {
        assert_eq!(call_error("MOVED", detail).redirect, None, "{detail}");
    }
}

#[test]
fn nothing_sent_is_unreachable_and_no_reply_is_unknown() {
    for kind in [
        io::ErrorKind::ConnectionRefused,
        io::ErrorKind::NotFound,
        io::ErrorKind::ConnectionReset,
        io::ErrorKind::BrokenPipe,
        io::ErrorKind::TimedOut,
        io::ErrorKind::UnexpectedEof,
        io::ErrorKind::Other,
    ] {
        let error = RedisError::from(io::Error::from(kind));
        let before = CallError::from_client(&SERVER, &error, SendState::NotSent);
        assert_eq!(before.recovery, BackOff, "{kind}");
        let is_refused = matches!(
            kind,
            io::ErrorKind::ConnectionRefused | io::ErrorKind::NotFound
        );
        assert_eq!(before.is_refused, is_refused, "{kind}");
        assert_eq!(before.into_error().kind(), StoreUnreachable);
        let after = CallError::from_client(&SERVER, &error, SendState::Sent);
        assert_eq!(after.recovery, Recovery::Unknown, "{kind}");
        assert_eq!(after.into_error().kind(), OutcomeUnknown);
    }
}

#[test]
fn what_retrying_does_not_fix_is_returned_at_once() {
    for kind in [io::ErrorKind::InvalidData, io::ErrorKind::PermissionDenied] {
        let error = RedisError::from(io::Error::from(kind));
        let call_error = CallError::from_client(&SERVER, &error, SendState::NotSent);
        assert_eq!(call_error.recovery, Fatal);
        assert_eq!(call_error.into_error().kind(), StoreUnreachable);
    }
    for (kind, expected) in [
        (redis::ErrorKind::RESP3NotSupported, StoreUnsupported),
        (redis::ErrorKind::AuthenticationFailed, StoreUnreachable),
        (redis::ErrorKind::InvalidClientConfig, Invalid),
    ] {
        let call_error =
            CallError::from_client(&SERVER, &RedisError::from((kind, "")), SendState::NotSent);
        assert_eq!(call_error.recovery, Fatal);
        assert_eq!(call_error.into_error().kind(), expected);
    }
}

#[test]
fn after_an_unknown_attempt_no_error_claims_that_nothing_was_done() {
    for (code, detail, _, kind) in REPLIES {
        let error = call_error(code, detail).into_error_after_unknown();
        let expected = if matches!(kind, StoreBusy | StoreUnreachable | StoreFull) {
            OutcomeUnknown
        } else {
            kind
        };
        assert_eq!(error.kind(), expected, "{code}");
    }
}

#[test]
fn a_login_is_not_repeated() {
    let error = call_error("WRONGPASS", "hunter2").into_error();
    assert!(!format!("{error} {error:?}").contains("hunter2"));
}
