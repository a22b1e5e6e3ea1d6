//! Authentication and ACLs, and that no secret is ever printed.

use std::collections::BTreeSet;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use windlass_testkit::redis::{Server, ServerOptions};

use super::sandbox::{Ran, Sandbox, text};
use super::test_store::{Servers, TestStore};

const SECRET: &str = "hunter2";

/// The operator documentation, whose ACL rule is tested verbatim.
const PAGE: &str = include_str!("../../../../docs/redis.md");

fn on(sandbox: &Sandbox, line: &str, login: &str) -> Ran {
    let port = sandbox.store.server().port();
    let ran = sandbox.run(&format!("{line} --store redis://{login}127.0.0.1:{port}/0"));
    let printed = format!("{}{}", ran.text(), ran.stderr);
    assert!(!printed.contains(SECRET), "{line}: {printed}");
    ran
}

fn with_password() -> Sandbox {
    let server = ServerOptions::new()
        .tcp()
        .line(format!("requirepass {SECRET}"))
        .start();
    Sandbox::on(TestStore::single(server))
}

#[test]
fn the_password_is_required() {
    let sandbox = with_password();

    on(&sandbox, "enqueue q x", ":hunter2@").ok();
    on(&sandbox, "doctor", ":hunter2@").ok();
    on(&sandbox, "config show", ":hunter2@").ok();
    for (login, expected) in [
        ("", "requires a password"),
        (":wrong-hunter2@", "rejected the user or password"),
        ("joe:hunter2@", "rejected the user or password"),
    ] {
        for line in ["enqueue q x --json", "queue list --json"] {
            let ran = on(&sandbox, line, login).exits(69);
            let error = ran.error();
            assert_eq!(error["code"], "store_unreachable", "{login}");
            assert!(text(&error["message"]).contains(expected), "{error}");
        }
        on(&sandbox, "doctor", login).exits(69);
    }
}

#[test]
fn the_demo_uses_its_password_and_never_prints_it() {
    let sandbox = with_password();

    on(&sandbox, "demo --jobs 50 --workers 2", ":hunter2@").ok();
}

fn add_user(server: &Server, rule: &str) {
    let words: Vec<&str> = rule.split_whitespace().collect();
    server.command(&words).ok();
}

/// Pastes lines into `redis-cli`. Each must reply OK.
fn paste(server: &Server, lines: &str) {
    let client = "exec $(command -v redis-cli || command -v valkey-cli) -p $0";
    let mut client = Command::new("sh")
        .args(["-c", client, &server.port().to_string()])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = client.stdin.take().unwrap();
    stdin.write_all(lines.as_bytes()).unwrap();
    drop(stdin);
    let replies = String::from_utf8(client.wait_with_output().unwrap().stdout).unwrap();
    assert_eq!(replies, "OK\n".repeat(lines.lines().count()));
}

#[test]
fn a_user_without_permission_gets_an_error() {
    let sandbox = Sandbox::on(TestStore::single(ServerOptions::new().tcp().start()));
    let server = sandbox.store.server();
    sandbox.run("enqueue q x").ok();
    add_user(
        server,
        "ACL SETUSER joe on >hunter2 ~* &* +@all -evalsha -eval",
    );

    let ran = on(&sandbox, "enqueue q x --json", "joe:hunter2@").exits(5);

    let error = ran.error();
    assert_eq!(error["code"], "store_read_only");
    assert!(text(&error["help"]).contains("ACL"), "{error}");
}

/// Returns the documented lines: the block that starts with ACL SETUSER.
fn documented_lines() -> String {
    let start = PAGE
        .find("ACL SETUSER windlass")
        .expect("the page has a block");
    let lines = PAGE[start..].split("```").next().unwrap();
    lines.replace("SECRET", SECRET)
}

/// Commands that the store sends outside of scripts. The last one checks a key's type in them.
const OUTSIDE_SCRIPTS: &str = "asking blpop cluster|slots config|get eval evalsha get hgetall info \
    ping sadd select set sismember srem sscan ssubscribe time wait strlen";

/// Collects the commands that the scripts in a folder call.
fn called_in(folder: &Path, commands: &mut BTreeSet<String>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            called_in(&path, commands);
        } else if path.extension().is_some_and(|ending| ending == "lua") {
            let text = std::fs::read_to_string(&path).unwrap();
            for call in text.split("redis.call(").skip(1) {
                let what = call.split([',', ')']).next().unwrap();
                let names = what.split('\'').skip(1).step_by(2);
                let is_command = |name: &&str| name.chars().all(|c| c.is_ascii_uppercase());
                commands.extend(names.filter(is_command).map(str::to_lowercase));
            }
        }
    }
}

#[test]
fn the_documented_permissions_are_exactly_those_in_use() {
    let scripts = Path::new(env!("CARGO_MANIFEST_DIR")).join("../store-redis/lua");
    let mut used: BTreeSet<String> = OUTSIDE_SCRIPTS
        .split_whitespace()
        .map(str::to_owned)
        .collect();
    called_in(&scripts, &mut used);
    let lines = documented_lines();
    let listed = lines
        .split_whitespace()
        .filter_map(|word| word.strip_prefix('+'));

    let listed: BTreeSet<String> = listed.map(str::to_owned).collect();

    let missing: Vec<_> = used.difference(&listed).collect();
    let too_many: Vec<_> = listed.difference(&used).collect();
    assert!(missing.is_empty(), "add to docs/redis.md: {missing:?}");
    assert!(
        too_many.is_empty(),
        "remove from docs/redis.md: {too_many:?}"
    );
}

#[test]
fn the_documented_permissions_are_sufficient_for_sentinels() {
    let sandbox = Sandbox::on(TestStore::sentinels());
    let Servers::Sentinels(group) = &sandbox.store.servers else {
        panic!("sentinels were started");
    };
    let start = PAGE.find("- At sentinels: `").expect("the page has a rule");
    let rule = PAGE[start..].split('`').nth(1).unwrap();
    for sentinel in group.sentinels() {
        add_user(sentinel, &rule.replace("SECRET", SECRET));
        sentinel.command(&["ACL", "SETUSER", "default", "off"]).ok();
    }
    let login = format!("sentinel_user=windlass&sentinel_password={SECRET}");

    let ran = sandbox.run(&format!("enqueue q x --store {}?{login}", group.url()));

    assert!(!ran.stderr.contains(SECRET), "{}", ran.stderr);
    ran.ok();
}

#[test]
fn the_documented_permissions_are_sufficient_for_everything() {
    let sandbox = Sandbox::on(TestStore::single(ServerOptions::new().tcp().start()));
    let server = sandbox.store.server();
    paste(server, &documented_lines());
    let run = |line: &str| on(&sandbox, line, "windlass:hunter2@");
    let claim = || {
        let claimed = run("claim q --json").ok().json();
        let of = |name: &str| text(&claimed[0][name]).to_owned();
        (of("id"), of("token"))
    };

    for id in ["1", "2", "3", "4", "5", "6"] {
        run(&format!("enqueue q x --id {id} --unique-key key-{id}")).ok();
    }
    run("enqueue q x --id 1").ok();
    run("enqueue q x --delay 1h --id later --expires 2h").ok();
    let (id, token) = claim();
    run(&format!("progress q {id} --token {token} 0.5 half")).ok();
    run(&format!("renew q {id} --token {token}")).ok();
    run(&format!("complete q {id} --token {token} --result done")).ok();
    let (id, token) = claim();
    run(&format!(
        "fail q {id} --token {token} --error no --permanent"
    ))
    .ok();
    let (id, token) = claim();
    run(&format!("release q {id} --token {token}")).ok();
    let (id, token) = claim();
    run(&format!("snooze q {id} --token {token} --for 1h")).ok();
    let dispatched = run("claim q --dispatch --json").ok().json();
    let (id, token) = (text(&dispatched[0]["id"]), text(&dispatched[0]["token"]));
    run(&format!("accept q {id} --token {token}")).ok();
    run(&format!("job cancel q {id}")).ok();
    run("claim q --at-most-once").ok();
    run("claim q --lease 1ms").ok();
    run("claim nothing --wait 50ms").ok();
    run("job list q").ok();
    run("job get q 1").ok();
    run("job wait q 1").ok();
    run("job promote q later").ok();
    run("job cancel q --payload x").ok();
    run("job retry q 2").ok();
    run("job cancel q 2").ok();
    run("job delete q 2").ok();
    run("queue pause q").ok();
    run("queue resume q").ok();
    run("queue set q partitions=2 dead_age=1h dedup_for=1ms").ok();
    run("enqueue q x").ok();
    run("queue list").ok();
    run("queue purge q --yes").ok();
    run("queue pause gone").ok();
    run("queue delete gone --yes").ok();
    run("workers").ok();
    run("audit").ok();
    run("doctor").ok();
    run("enqueue work hello --id w").ok();
    let url = format!("redis://windlass:{SECRET}@127.0.0.1:{}/0", server.port());
    let worker = format!("exec --store {url} --queue work --burst -- cat");
    sandbox.run(&worker).ok();
    let job = run("job get work w --json").ok().json();
    assert_eq!(job["result"], "hello", "{job}");
    add_user(server, "ACL SETUSER windlass +scan");
    run("demo --jobs 300 --workers 2").ok();

    let denied = server.command(&["ACL", "LOG"]);
    assert!(denied.array().is_empty(), "{denied:?}");
}
