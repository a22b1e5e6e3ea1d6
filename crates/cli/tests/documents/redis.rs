//! docs/redis.md and docs/redis-layout.md: their commands, and how to remove a store.
//! `tests/redis/access.rs` tests the ACL rule.

use windlass_testkit::redis::{Server, ServerOptions};

use crate::page::texts;
use crate::sandbox::Sandbox;
use crate::shell::Shell;

const PAGE: &str = include_str!("../../../../docs/redis.md");
const LAYOUT: &str = include_str!("../../../../docs/redis-layout.md");

/// A shell whose `redis-cli` talks to this server.
fn shell_on(server: &Server) -> Shell {
    let mut shell = Shell::new(Sandbox::new());
    let client = shell.run("command -v redis-cli || command -v valkey-cli");
    let client = format!("{} -p {}", client.trim(), server.port());
    shell.substitute("redis-cli", &client);
    shell
}

#[test]
fn the_commands_of_the_pages_on_redis_succeed() {
    let server = ServerOptions::new().tcp().start();
    let mut shell = shell_on(&server);
    shell.substitute("redis://127.0.0.1:6379/0", &server.url());
    let commands = [PAGE, LAYOUT].map(|page| texts(page, "sh").concat());

    for line in commands.concat().lines() {
        let output = shell.command(line).output().unwrap();
        let printed = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success(), "{line}: {printed}");
    }
}

#[test]
fn the_line_that_removes_a_store_removes_all_of_it_and_nothing_else() {
    let server = ServerOptions::new().tcp().start();
    let mut shell = shell_on(&server);
    let start = PAGE.find("redis-cli --scan").unwrap();
    let line = PAGE[start..].split('`').next().unwrap();
    shell.substitute("PREFIX", "windlass");
    let enqueue = format!("windlass enqueue mail hello --store {}", server.url());
    assert!(shell.command(&enqueue).status().unwrap().success());
    server.command(&["SET", "somebody:else", "1"]).ok();

    let ended = shell.command(line).status().unwrap();

    assert!(ended.success(), "this test needs redis-cli: {line}");
    let left = server.command(&["KEYS", "*"]);
    let left: Vec<String> = left.array().iter().map(|key| key.text()).collect();
    assert_eq!(left, ["somebody:else"]);
}
