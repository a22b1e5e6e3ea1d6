//! Calls while the server forgets scripts, goes away, hangs and comes back.

use std::sync::atomic::{AtomicBool, Ordering};

use tokio::time::Instant;
use windlass_core::ErrorKind;
use windlass_testkit::redis::{Fsync, ServerOptions};

use super::fake_server::{Answer, Fake};
use super::*;

#[tokio::test]
async fn a_script_runs_and_answers() {
    let server = ServerOptions::new().tcp().start();
    let link = linked(&server, "").await;
    let call = call(count(), &["a"], &[]);
    assert_eq!(number(&link.run(&call).await.expect("runs")), 1);
    assert_eq!(number(&link.run_repeating(&call).await.expect("runs")), 2);
    let mut get = redis::cmd("GET");
    get.arg("a");
    let value = link.ask(b"a", &get).await.expect("answers");
    assert_eq!(value, Value::BulkString(b"2".to_vec()));
}

#[tokio::test]
async fn bytes_come_through_as_they_are() {
    let server = Server::start();
    let link = linked(&server, "").await;
    let echo = script("echo", "return {ARGV[1], KEYS[1], false, 7}");
    let bytes = Bytes::from_static(b"\0\r\n\xff$3\r\n{}");
    let answer = link
        .run(&Call {
            script: echo,
            keys: vec![Bytes::from_static(b"k")],
            args: vec![bytes.clone()],
        })
        .await
        .expect("runs");
    assert_eq!(
        answer,
        Value::Array(vec![
            Value::BulkString(bytes.to_vec()),
            Value::BulkString(b"k".to_vec()),
            Value::Nil,
            Value::Int(7)
        ])
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn scripts_forgotten_all_the_time_are_not_noticed() {
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
async fn what_a_script_says_is_told_by_its_kind() {
    let server = Server::start();
    let link = linked(&server, "").await;
    server.command(&["SET", "text", "x"]);
    for (source, kind) in [
        (
            "return redis.error_reply('NEWER schema 2')",
            ErrorKind::StoreNewer,
        ),
        (
            "return redis.error_reply('DAMAGED figures')",
            ErrorKind::StoreDamaged,
        ),
        (
            "return redis.call('LPUSH', 'text', 'y')",
            ErrorKind::StoreDamaged,
        ),
        ("return nothing.at.all", ErrorKind::Internal),
        ("this is not Lua", ErrorKind::Internal),
        ("return redis.call('NOSUCH')", ErrorKind::Internal),
    ] {
        let error = link
            .run_repeating(&call(script("bad", source), &["text"], &[]))
            .await
            .expect_err(source);
        assert_eq!(error.kind(), kind, "{source}: {error}");
    }
}

#[tokio::test]
async fn a_full_server_says_so_at_once() {
    let server = ServerOptions::new().max_memory(1).start();
    let link = linked(&server, &format!("?{FOR_EVER}")).await;
    let write = script("write", "#!lua\nreturn redis.call('SET', KEYS[1], 'x')");
    let started = Instant::now();
    let error = link
        .run_repeating(&call(write, &["a"], &[]))
        .await
        .expect_err("no room");
    assert_eq!(error.kind(), ErrorKind::StoreFull);
    assert!(started.elapsed() < AT_ONCE);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_is_away_for_a_moment_is_not_noticed() {
    let server = Arc::new(ServerOptions::new().append_only(Fsync::Always).start());
    let link = linked(&server, "?timeout=20s").await;
    let call = call(count(), &["a"], &[]);
    link.run(&call).await.expect("runs");
    for _ in 0..3 {
        let before = number(&link.run_repeating(&call).await.expect("runs"));
        with(&server, Server::kill).await;
        let restart = with(&server, Server::restart);
        let (answer, ()) = tokio::join!(link.run_repeating(&call), restart);
        assert_eq!(
            number(&answer.expect("runs once the server is back")),
            before + 1
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_stays_away_is_told_within_the_deadline() {
    let server = Arc::new(Server::start());
    let link = hasty(&format!("{}?timeout=1s", server.url())).await;
    with(&server, Server::kill).await;
    let call = call(count(), &["a"], &[]);
    // The first may still be sent on the dead connection, and then it is unknown.
    link.run(&call).await.expect_err("nobody there");
    for _ in 0..2 {
        let started = Instant::now();
        let calls: Vec<_> = (0..50)
            .map(|_| {
                let (link, call) = (link.clone(), call.clone());
                tokio::spawn(async move { link.run_repeating(&call).await })
            })
            .collect();
        for call in calls {
            let error = call.await.expect("no panic").expect_err("nobody there");
            assert_eq!(error.kind(), ErrorKind::StoreUnreachable, "{error}");
        }
        // One after the other they would need 50 seconds.
        assert!(started.elapsed() < Duration::from_secs(20));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn silence_is_an_unknown_outcome() {
    let server = Arc::new(Server::start());
    let call = call(count(), &["a"], &[]);
    // Enough for the calls that have to be answered at the end.
    let one = linked(&server, "?timeout=6s").await;
    let other = linked(&server, "?timeout=6s").await;
    with(&server, Server::stop).await;
    let started = Instant::now();
    let answers = tokio::join!(one.run(&call), other.run_repeating(&call));
    for answer in [answers.0, answers.1] {
        let error = answer.expect_err("no answer");
        assert_eq!(error.kind(), ErrorKind::OutcomeUnknown, "{error}");
    }
    assert!(started.elapsed() < AT_ONCE);
    with(&server, Server::resume).await;
    one.run_repeating(&call).await.expect("runs again");
    other.run_repeating(&call).await.expect("runs again");
}

#[tokio::test(flavor = "multi_thread")]
async fn connections_that_are_cut_all_the_time_lose_and_double_nothing() {
    let server = Arc::new(Server::start());
    let link = linked(&server, "?timeout=30s").await;
    // WorkerCommand the same however often it is repeated.
    let once = script(
        "once",
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
                    let answer = link.run_repeating(&call).await.expect("no error");
                    assert_eq!(answer, Value::BulkString(id.into_bytes()));
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
                conn.command(&["PING"]).expect("answers");
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
async fn a_call_that_is_cut_off_is_repeated_where_that_is_safe() {
    let cut_once = || Fake::start(vec![Answer::Close, Answer::Say(":7\r\n")]);
    let call = call(count(), &["a"], &[]);
    let fake = cut_once();
    let link = open(&fake.url()).await.expect("opens");
    let error = link.run(&call).await.expect_err("no answer");
    assert_eq!(error.kind(), ErrorKind::OutcomeUnknown, "{error}");
    assert_eq!(number(&link.run(&call).await.expect("runs")), 7);
    let fake = cut_once();
    let link = open(&fake.url()).await.expect("opens");
    assert_eq!(number(&link.run_repeating(&call).await.expect("runs")), 7);
}

#[tokio::test]
async fn after_a_cut_nobody_says_that_nothing_was_done() {
    for refusal in [
        "-OOM command not allowed\r\n",
        "-LOADING Redis is loading\r\n",
        "-READONLY You can't write\r\n",
    ] {
        let fake = Fake::start(vec![Answer::Close, Answer::Always(refusal)]);
        let link = hasty(&format!("{}?timeout=300ms", fake.url())).await;
        let error = link
            .run_repeating(&call(count(), &["a"], &[]))
            .await
            .expect_err("refused");
        assert_eq!(error.kind(), ErrorKind::OutcomeUnknown, "{refusal}{error}");
    }
}

#[tokio::test]
async fn what_passes_is_waited_out() {
    for said in [
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
        let fake = Fake::start(vec![
            Answer::Say(said),
            Answer::Say(said),
            Answer::Say(said),
            Answer::Say(":7\r\n"),
        ]);
        let link = open(&format!("{}?{FOR_EVER}", fake.url()))
            .await
            .expect("opens");
        let answer = link.run(&call(count(), &["a"], &[])).await;
        assert_eq!(number(&answer.expect(said)), 7);
    }
}

#[tokio::test]
async fn what_does_not_pass_is_told_at_once() {
    for (said, kind) in [
        ("-OOM x\r\n", ErrorKind::StoreFull),
        ("-NOPERM x\r\n", ErrorKind::StoreReadOnly),
        ("-NOAUTH x\r\n", ErrorKind::StoreUnreachable),
        ("-CROSSSLOT x\r\n", ErrorKind::Internal),
        ("-SOMETHING new\r\n", ErrorKind::Internal),
    ] {
        let (error, time) = refusal(said, FOR_EVER).await;
        assert_eq!(error.kind(), kind, "{said}{error}");
        assert!(time < AT_ONCE, "{said}{time:?}");
    }
}

#[tokio::test]
async fn what_might_pass_and_does_not_is_told_once_the_time_is_over() {
    let waiting = [
        ("-LOADING x\r\n", ErrorKind::StoreBusy),
        ("-MISCONF x\r\n", ErrorKind::StoreBusy),
        ("-READONLY x\r\n", ErrorKind::StoreUnreachable),
        ("-NOSCRIPT x\r\n", ErrorKind::StoreBusy),
    ]
    .map(|(said, kind)| {
        let told = tokio::spawn(refusal(said, "timeout=5s"));
        (said, kind, told)
    });
    for (said, kind, told) in waiting {
        let (error, time) = told.await.expect("no panic");
        assert_eq!(error.kind(), kind, "{said}{error}");
        // The last try is left out where it would most likely get no answer.
        assert!(time > Duration::from_secs(4), "{said}{time:?}");
    }
}

/// What a call is told by a server that always says the same, and how soon. On a busy machine the
/// last try may get no answer in time, and is truly unknown: then it is told again.
async fn refusal(said: &'static str, options: &str) -> (windlass_core::Error, Duration) {
    let fake = Fake::start(vec![Answer::Always(said)]);
    let link = open(&format!("{}?{options}", fake.url())).await;
    let link = link.expect("opens");
    loop {
        let started = Instant::now();
        let answer = link.run_repeating(&call(count(), &["a"], &[])).await;
        let error = answer.expect_err("refused");
        if !error.is_unknown() {
            return (error, started.elapsed());
        }
    }
}
