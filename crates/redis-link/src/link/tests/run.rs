//! Calls while the server loses scripts, stops, hangs and restarts.

use std::sync::atomic::{AtomicBool, Ordering};

use tokio::time::Instant;
use windlass_core::ErrorKind;
use windlass_testkit::redis::{Fsync, ServerOptions};

use super::fake_server::{Action, FakeServer};
use super::*;

#[tokio::test]
async fn a_script_runs_and_replies() {
    let server = ServerOptions::new().tcp().start();
    let link = linked(&server, "").await;
    let call = call(count(), &["a"], &[]);
    assert_eq!(number(&link.run(&call).await.expect("runs")), 1);
    assert_eq!(number(&link.run_idempotent(&call).await.expect("runs")), 2);
    let mut get = redis::cmd("GET");
    get.arg("a");
    let value = link.ask(b"a", &get).await.expect("replies");
    assert_eq!(value, Value::BulkString(b"2".to_vec()));
}

#[tokio::test]
async fn bytes_are_passed_through_unchanged() {
    let server = Server::start();
    let link = linked(&server, "").await;
    let echo = script("return {ARGV[1], KEYS[1], false, 7}");
    let bytes = Bytes::from_static(b"\0\r\n\xff$3\r\n{}");
    let reply = link
        .run(&Call {
            script: echo,
            keys: vec![Bytes::from_static(b"k")],
            args: vec![bytes.clone()],
        })
        .await
        .expect("runs");
    assert_eq!(
        reply,
        Value::Array(vec![
            Value::BulkString(bytes.to_vec()),
            Value::BulkString(b"k".to_vec()),
            Value::Nil,
            Value::Int(7)
        ])
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn constant_script_flushes_are_not_noticed() {
    let server = Arc::new(Server::start());
    let link = linked(&server, "").await;
    let is_over = Arc::new(AtomicBool::new(false));
    let callers: Vec<_> = (0..8)
        .map(|n| {
            let (link, is_over) = (link.clone(), Arc::clone(&is_over));
            tokio::spawn(async move {
                let (key, mut turn) = (format!("key{n}"), 0);
                while !is_over.load(Ordering::Relaxed) {
                    turn += 1;
                    let call = call(count(), &[&key], &[]);
                    assert_eq!(number(&link.run(&call).await.expect("runs")), turn);
                }
                turn
            })
        })
        .collect();
    with(&server, |server| {
        let mut conn = server.connect().expect("connects");
        for _ in 0..2000 {
            conn.command(&["SCRIPT", "FLUSH"]).expect("flushes");
        }
    })
    .await;
    is_over.store(true, Ordering::Relaxed);
    for caller in callers {
        assert!(caller.await.expect("no panic") > 0);
    }
}

#[tokio::test]
async fn an_error_of_a_script_has_the_right_kind() {
    let server = Server::start();
    let link = linked(&server, "").await;
    server.command(&["SET", "text", "x"]);
    for (source, kind) in [
        (
            "return redis.error_reply('NEWER schema 2')",
            ErrorKind::StoreNewer,
        ),
        (
            "return redis.error_reply('DAMAGED stats')",
            ErrorKind::StoreDamaged,
        ),
        (
            "return redis.call('LPUSH', 'text', 'y')",
            ErrorKind::StoreDamaged,
        ),
        ("return nothing.at.all", ErrorKind::Internal),
        ("this is not Lua", ErrorKind::Internal),
        // Only a server with renamed commands lacks one that a script calls.
        ("return redis.call('NOSUCH')", ErrorKind::StoreUnsupported),
    ] {
        let error = link
            .run_idempotent(&call(script(source), &["text"], &[]))
            .await
            .expect_err(source);
        assert_eq!(error.kind(), kind, "{source}: {error}");
    }
}

#[tokio::test]
async fn a_full_server_is_reported_at_once() {
    let server = ServerOptions::new().max_memory(1).start();
    let link = linked(&server, &format!("?{LONG_TIMEOUT}")).await;
    let write = script("#!lua\nreturn redis.call('SET', KEYS[1], 'x')");
    let started = Instant::now();
    let error = link
        .run_idempotent(&call(write, &["a"], &[]))
        .await
        .expect_err("no room");
    assert_eq!(error.kind(), ErrorKind::StoreFull);
    assert!(started.elapsed() < IMMEDIATELY);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_restarts_quickly_is_not_noticed() {
    let server = Arc::new(ServerOptions::new().append_only(Fsync::Always).start());
    let link = linked(&server, "?timeout=20s").await;
    let call = call(count(), &["a"], &[]);
    link.run(&call).await.expect("runs");
    for _ in 0..3 {
        let before = number(&link.run_idempotent(&call).await.expect("runs"));
        with(&server, Server::kill).await;
        let restart = with(&server, Server::restart);
        let (reply, ()) = tokio::join!(link.run_idempotent(&call), restart);
        assert_eq!(
            number(&reply.expect("runs once the server is back")),
            before + 1
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_stays_down_is_reported_within_the_deadline() {
    let server = Arc::new(Server::start());
    let link = with_short_timeout(&format!("{}?timeout=1s", server.url())).await;
    with(&server, Server::kill).await;
    let call = call(count(), &["a"], &[]);
    // The first call may still be sent on the dead connection, which makes its outcome unknown.
    link.run(&call).await.expect_err("the server is down");
    for _ in 0..2 {
        let started = Instant::now();
        let calls: Vec<_> = (0..50)
            .map(|_| {
                let (link, call) = (link.clone(), call.clone());
                tokio::spawn(async move { link.run_idempotent(&call).await })
            })
            .collect();
        for call in calls {
            let error = call
                .await
                .expect("no panic")
                .expect_err("the server is down");
            assert_eq!(error.kind(), ErrorKind::StoreUnreachable, "{error}");
        }
        // One after the other they would take 50 seconds.
        assert!(started.elapsed() < Duration::from_secs(20));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn silence_is_an_unknown_outcome() {
    let server = Arc::new(Server::start());
    let call = call(count(), &["a"], &[]);
    // Enough for the calls at the end.
    let one = linked(&server, "?timeout=6s").await;
    let other = linked(&server, "?timeout=6s").await;
    with(&server, Server::stop).await;
    let started = Instant::now();
    let replies = tokio::join!(one.run(&call), other.run_idempotent(&call));
    for reply in [replies.0, replies.1] {
        let error = reply.expect_err("no reply");
        assert_eq!(error.kind(), ErrorKind::OutcomeUnknown, "{error}");
    }
    assert!(started.elapsed() < IMMEDIATELY);
    with(&server, Server::resume).await;
    one.run_idempotent(&call).await.expect("runs again");
    other.run_idempotent(&call).await.expect("runs again");
}

#[tokio::test(flavor = "multi_thread")]
async fn constantly_cut_connections_lose_and_duplicate_nothing() {
    let server = Arc::new(Server::start());
    let link = linked(&server, "?timeout=30s").await;
    // Idempotent.
    let once = script(
        "if redis.call('HSETNX', KEYS[1], ARGV[1], '1') == 1 then redis.call('INCR', KEYS[2]) end
         return ARGV[1]",
    );
    let is_over = Arc::new(AtomicBool::new(false));
    let callers: Vec<_> = (0..8)
        .map(|caller| {
            let (link, is_over) = (link.clone(), Arc::clone(&is_over));
            tokio::spawn(async move {
                let mut turn = 0;
                while !is_over.load(Ordering::Relaxed) {
                    turn += 1;
                    let id = format!("{caller}-{turn}");
                    let call = call(once, &["{q}:ids", "{q}:count"], &[&id]);
                    let reply = link.run_idempotent(&call).await.expect("no error");
                    assert_eq!(reply, Value::BulkString(id.into_bytes()));
                }
                turn
            })
        })
        .collect();
    with(&server, |server| {
        let mut conn = server.connect().expect("connects");
        let mut cuts = 0;
        while cuts < 50 {
            let kill = ["CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"];
            cuts += conn.command(&kill).expect("kills").integer();
            // Some calls between two cuts.
            for _ in 0..50 {
                conn.command(&["PING"]).expect("replies");
            }
        }
    })
    .await;
    is_over.store(true, Ordering::Relaxed);
    let mut turns = 0;
    for caller in callers {
        turns += caller.await.expect("no panic");
    }
    let count = with(&server, |server| {
        server.command(&["INCRBY", "{q}:count", "0"]).integer()
    })
    .await;
    assert_eq!(count, turns);
}

#[tokio::test]
async fn a_call_that_is_cut_off_is_resent_if_that_is_safe() {
    let cut_once = || FakeServer::start(vec![Action::Close, Action::Reply(":7\r\n")]);
    let call = call(count(), &["a"], &[]);
    let fake = cut_once();
    let link = open(&fake.url()).await.expect("opens");
    let error = link.run(&call).await.expect_err("no reply");
    assert_eq!(error.kind(), ErrorKind::OutcomeUnknown, "{error}");
    assert_eq!(number(&link.run(&call).await.expect("runs")), 7);
    let fake = cut_once();
    let link = open(&fake.url()).await.expect("opens");
    assert_eq!(number(&link.run_idempotent(&call).await.expect("runs")), 7);
}

#[tokio::test]
async fn after_a_cut_no_error_claims_that_nothing_was_done() {
    for refusal in [
        "-OOM command not allowed\r\n",
        "-LOADING Redis is loading\r\n",
        "-READONLY You can't write\r\n",
    ] {
        let fake = FakeServer::start(vec![Action::Close, Action::Always(refusal)]);
        let link = with_short_timeout(&format!("{}?timeout=300ms", fake.url())).await;
        let error = link
            .run_idempotent(&call(count(), &["a"], &[]))
            .await
            .expect_err("refused");
        assert_eq!(error.kind(), ErrorKind::OutcomeUnknown, "{refusal}{error}");
    }
}

#[tokio::test]
async fn temporary_errors_are_retried() {
    for error in [
        "-LOADING Redis is loading the dataset in memory\r\n",
        "-BUSY Redis is busy running a script.\r\n",
        "-MASTERDOWN Link with MASTER is down\r\n",
        "-MISCONF Errors writing to the AOF file\r\n",
        "-NOREPLICAS Not enough good replicas to write.\r\n",
        "-READONLY You can't write against a read only replica.\r\n",
        "-CLUSTERDOWN The cluster is down\r\n",
        "-TRYAGAIN Multiple keys request during rehashing of slot\r\n",
        "-ERR max number of clients reached\r\n",
        "-NOSCRIPT No matching script.\r\n",
    ] {
        let fake = FakeServer::start(vec![
            Action::Reply(error),
            Action::Reply(error),
            Action::Reply(error),
            Action::Reply(":7\r\n"),
        ]);
        let link = open(&format!("{}?{LONG_TIMEOUT}", fake.url()))
            .await
            .expect("opens");
        let reply = link.run(&call(count(), &["a"], &[])).await;
        assert_eq!(number(&reply.expect(error)), 7);
    }
}

#[tokio::test]
async fn permanent_errors_are_returned_at_once() {
    for (reply, kind) in [
        ("-OOM x\r\n", ErrorKind::StoreFull),
        ("-NOPERM x\r\n", ErrorKind::StoreReadOnly),
        ("-NOAUTH x\r\n", ErrorKind::StoreUnreachable),
        ("-CROSSSLOT x\r\n", ErrorKind::Internal),
        ("-SOMETHING new\r\n", ErrorKind::Internal),
    ] {
        let (error, time) = refusal(reply, LONG_TIMEOUT).await;
        assert_eq!(error.kind(), kind, "{reply}{error}");
        assert!(time < IMMEDIATELY, "{reply}{time:?}");
    }
}

#[tokio::test]
async fn temporary_errors_that_persist_are_returned_at_the_deadline() {
    let waiting = [
        ("-LOADING x\r\n", ErrorKind::StoreBusy),
        ("-MISCONF x\r\n", ErrorKind::StoreBusy),
        ("-READONLY x\r\n", ErrorKind::StoreUnreachable),
        ("-NOSCRIPT x\r\n", ErrorKind::StoreBusy),
    ]
    .map(|(reply, kind)| {
        let error = tokio::spawn(refusal(reply, "timeout=5s"));
        (reply, kind, error)
    });
    for (reply, kind, error) in waiting {
        let (error, time) = error.await.expect("no panic");
        assert_eq!(error.kind(), kind, "{reply}{error}");
        // The last attempt is skipped if it would most likely get no reply.
        assert!(time > Duration::from_secs(4), "{reply}{time:?}");
    }
}

/// Returns the error of a call to a server that always sends the same reply, and how long it took.
/// On a busy machine the last attempt may get no reply in time: then the call is repeated.
async fn refusal(reply: &'static str, options: &str) -> (windlass_core::Error, Duration) {
    let fake = FakeServer::start(vec![Action::Always(reply)]);
    let link = open(&format!("{}?{options}", fake.url())).await;
    let link = link.expect("opens");
    loop {
        let started = Instant::now();
        let reply = link.run_idempotent(&call(count(), &["a"], &[])).await;
        let error = reply.expect_err("refused");
        if !error.is_unknown() {
            return (error, started.elapsed());
        }
    }
}

#[tokio::test]
async fn the_scripts_of_a_batch_are_sent_without_waiting_for_each_other() {
    // The reply to the first comes after the last was received.
    let silent = Action::Reply("");
    let fake = FakeServer::start(vec![silent, silent, Action::Reply("*0\r\n*0\r\n*0\r\n")]);
    let link = open(&format!("{}?{LONG_TIMEOUT}", fake.url())).await;
    let link = link.expect("opens");
    let calls = vec![call(count(), &["a"], &[]); 3];

    let (replies, level) = link.run_durable(&calls).await;

    assert_eq!(level.expect("runs"), DurabilityLevel::Memory);
    assert_eq!(replies, vec![Value::Array(Vec::new()); 3]);
}

#[tokio::test]
async fn a_batch_of_which_a_part_was_refused_does_not_claim_that_nothing_was_done() {
    for (replies, timeout, kind) in [
        (["-OOM x\r\n"; 2], LONG_TIMEOUT, ErrorKind::StoreFull),
        // It is repeated until the deadline.
        (
            ["-OOM x\r\n", "*0\r\n"],
            "timeout=1s",
            ErrorKind::OutcomeUnknown,
        ),
    ] {
        let actions = replies.map(Action::Reply).into_iter().cycle().take(200);
        let fake = FakeServer::start(actions.collect());
        let link = with_short_timeout(&format!("{}?{timeout}", fake.url())).await;
        let calls = vec![call(count(), &["a"], &[]); 2];

        let (_, level) = link.run_durable(&calls).await;

        assert_eq!(level.expect_err("refused").kind(), kind, "{replies:?}");
    }
}
