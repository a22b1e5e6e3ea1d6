//! Unusable servers: exit code, message and help.

use windlass_testkit::redis::{Server, ServerOptions};

use super::sandbox::{Sandbox, text};
use super::test_store::{Servers, TestStore};
use super::top::OnTerminal;

/// Asserts that reading and enqueueing both fail with this exit code and error code, and that the
/// message contains these words.
fn assert_refused(sandbox: &Sandbox, exit: i32, code: &str, words: &[&str]) {
    for line in ["queue list", "enqueue q x"] {
        let ran = sandbox.run(line).exits(exit);
        assert!(ran.stdout.is_empty(), "{line}: {}", ran.text());
        assert!(ran.stderr.starts_with("error: "), "{}", ran.stderr);
        assert!(ran.stderr.contains("\n  help: "), "{}", ran.stderr);
        for word in words {
            assert!(ran.stderr.contains(word), "{word:?} in {}", ran.stderr);
        }
        let ran = sandbox.run(&format!("{line} --json")).exits(exit);
        assert_eq!(ran.error()["code"], code, "{line}");
    }
    let doctor = sandbox.run("doctor --json").exits(exit).json();
    assert_eq!(doctor["healthy"], false, "{doctor}");
    assert_eq!(doctor["checks"][0]["status"], "fail", "{doctor}");
    assert!(doctor["checks"][0]["fix"].is_string(), "{doctor}");
}

#[test]
fn a_stopped_server_is_unreachable() {
    for server in [Server::start(), ServerOptions::new().tcp().start()] {
        server.kill();
        let sandbox = Sandbox::on(TestStore::single(server));
        assert_refused(
            &sandbox,
            69,
            "store_unreachable",
            &["cannot connect to Redis", "start the server"],
        );
    }
}

#[test]
fn a_server_that_does_not_reply_is_unreachable_after_the_timeout() {
    let server = Server::start();
    server.stop();
    let sandbox = Sandbox::on(TestStore::single(server));
    let store = format!("{}?timeout=500ms", sandbox.store.url());

    let ran = sandbox.run(&format!("queue list --json --store {store}"));

    assert_eq!(ran.exits(69).error()["code"], "store_unreachable");
}

#[test]
fn top_shows_that_a_server_is_away_until_it_is_back() {
    let sandbox = Sandbox::new();
    let Servers::Single(server) = &sandbox.store.servers else {
        panic!("a single server is the default");
    };
    sandbox.run("enqueue mail x").ok();
    let mut top = OnTerminal::start(&sandbox);
    top.wait_for("ready 1 scheduled 0");

    server.kill();
    // Only cells that change are printed; these do, whatever was shown before.
    top.wait_for("connect to Redis");
    server.restart();
    sandbox.run("enqueue other y").ok();
    top.wait_for("other 1 0 0 0");
    top.press("q");

    let printed = top.end();
    assert!(printed.contains("exit=0"), "{printed}");
}

#[test]
fn an_empty_server_is_an_empty_store() {
    let sandbox = Sandbox::new();
    for line in ["claim q", "queue list", "workers"] {
        let ran = sandbox.run(&format!("{line} --json")).ok();
        assert_eq!(ran.text(), "[]\n", "{line}");
    }
    sandbox.run("maintain").ok();
    sandbox.run("job get q 1").exits(3);
    sandbox.run("queue stats q").exits(3);
}

#[test]
fn a_newer_store_is_bad_configuration() {
    let sandbox = Sandbox::new();
    sandbox.run("enqueue q x").ok();
    let server = sandbox.store.server();
    server.command(&["SET", "windlass:{*}:schema", "99"]).ok();

    assert_refused(
        &sandbox,
        78,
        "store_newer",
        &["has schema 99", "use the newer Windlass"],
    );
}

#[test]
fn an_older_store_is_bad_configuration_until_it_is_migrated() {
    let sandbox = Sandbox::new();
    sandbox.run("enqueue q x").ok();
    let server = sandbox.store.server();
    server.command(&["SET", "windlass:{*}:schema", "1"]).ok();
    // Stats of schema 1, without jobs.
    let mut stats = [0.0_f64; 47];
    (stats[0], stats[45]) = (1.0, 1.0);
    let stats: Vec<u8> = stats
        .iter()
        .flat_map(|number| number.to_le_bytes())
        .collect();
    let key = "windlass:{old}:state";
    server
        .command(&[&b"HSET"[..], key.as_bytes(), b"figures", &stats])
        .ok();
    server.command(&["SADD", "windlass:{*}:queues", "old"]).ok();

    assert_refused(
        &sandbox,
        78,
        "store_older",
        &["has schema 1", "windlass store migrate"],
    );

    let migrated = sandbox.run("store migrate").ok();
    assert_eq!(migrated.stdout, b"old: converted 0 jobs\n");
    sandbox.run("claim q --json").ok();
    let again = sandbox.run("store migrate").ok();
    assert_eq!(again.stdout, b"nothing to migrate\n");
}

#[test]
fn a_key_of_another_program_is_bad_configuration() {
    let sandbox = Sandbox::new();
    let server = sandbox.store.server();
    server
        .command(&["SET", "windlass:{*}:schema", "dear aunt"])
        .ok();

    assert_refused(
        &sandbox,
        78,
        "store_foreign",
        &["a separate prefix: ?prefix="],
    );
}

#[test]
fn a_server_that_evicts_keys_is_bad_configuration() {
    let server = ServerOptions::new()
        .line("maxmemory-policy allkeys-lru")
        .start();
    let sandbox = Sandbox::on(TestStore::single(server));

    assert_refused(
        &sandbox,
        78,
        "store_unsupported",
        &["allkeys-lru", "set maxmemory-policy noeviction"],
    );
    assert!(!sandbox.has_store());
}

#[test]
fn a_replica_is_not_allowed_to_be_written() {
    let primary = ServerOptions::new().tcp().start();
    let replica = ServerOptions::new()
        .line(format!("replicaof 127.0.0.1 {}", primary.port()))
        .start();
    let sandbox = Sandbox::on(TestStore::single(replica));

    assert_refused(&sandbox, 5, "store_read_only", &["is a replica", "primary"]);
}

#[test]
fn a_full_server_refuses_jobs_loses_none_and_lets_workers_go_on() {
    let server = ServerOptions::new().max_memory(8 * 1024 * 1024).start();
    let sandbox = Sandbox::on(TestStore::single(server));
    let payload = vec![b'x'; 300_000];
    let accepted = (0..100)
        .take_while(|_| sandbox.feed("enqueue q - --json", &payload).code == Some(0))
        .count();
    assert!((3..100).contains(&accepted), "{accepted}");

    let ran = sandbox.feed("enqueue q - --json", &payload).exits(75);
    assert_eq!(ran.error()["code"], "store_full");
    let help = ran.error()["help"].clone();
    assert!(text(&help).contains("maxmemory"), "{help}");
    let stats = sandbox.run("queue stats q --json").ok().json();
    assert_eq!(stats["ready"], accepted);

    for _ in 0..accepted {
        let job = sandbox.claim("q");
        let (id, token) = (text(&job["id"]), text(&job["token"]));
        sandbox
            .run(&format!("complete q {id} --token {token}"))
            .ok();
    }
    sandbox.feed("enqueue q -", &payload).ok();
    let total = sandbox.run("queue stats q --json").ok().json()["total"].clone();
    assert_eq!(total["succeeded"], accepted);
}

#[test]
fn an_invalid_url_is_a_usage_error_and_its_password_is_never_printed() {
    let sandbox = Sandbox::new();
    for url in [
        "redis://",
        "redis://joe:hunter2@host:port/0",
        "redis://joe:hunter2@host/zero",
        "redis://joe:hunter2@a,b/0",
        "redis://host/0?passwort=hunter2",
        "redis://joe:hunter2@host?prefix=a*b",
        "redis-sentinel://:hunter2@host",
        "rediss://:hunter2@host?ca=/not/here",
    ] {
        let ran = sandbox.run_words(&["queue", "list", "--json", "--store", url]);
        let ran = ran.exits(2);
        assert_eq!(ran.error()["code"], "invalid", "{url}");
        assert!(!ran.stderr.contains("hunter2"), "{}", ran.stderr);
    }
}
