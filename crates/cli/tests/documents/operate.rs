//! docs/operate.md: backup and restore of both stores, and the whole configuration file.

use std::os::unix::fs::PermissionsExt;

use rustix::process::Signal;
use serde_json::Value;
use windlass_testkit::redis::{Server, ServerOptions};

use crate::page::texts;
use crate::sandbox::Sandbox;
use crate::shell::{Running, Shell};

const PAGE: &str = include_str!("../../../../docs/operate.md");

/// The shell blocks: doctor, migrate; backup and restore of SQLite; backup and restore of Redis.
fn blocks() -> [String; 6] {
    texts(PAGE, "sh").try_into().unwrap()
}

#[track_caller]
fn run(shell: &Shell, block: &str) -> String {
    let output = shell.command(&format!("set -e\n{block}")).output().unwrap();
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{block}: {printed}");
    printed
}

#[test]
fn the_page_backs_up_a_sqlite_store_in_use_and_restores_it() {
    let shell = Shell::new(Sandbox::new());
    let [doctor, migrate, backup, restore, ..] = blocks();
    shell.sandbox.run("enqueue mail hello --id kept").ok();
    let worker = "exec windlass exec --queue other -- true";
    let worker = Running::start(shell.command(worker));
    run(&shell, &doctor);
    run(&shell, &migrate);

    let printed = run(&shell, &backup);

    assert!(printed.contains("pages: no corrupt pages"), "{printed}");
    assert!(worker.end(Signal::TERM).success());
    shell.sandbox.run("job cancel mail kept").ok();
    shell.sandbox.run("enqueue mail hello --id later").ok();
    run(&shell, &restore);
    let job = shell.sandbox.run("job get mail kept --json").ok().json();
    assert_eq!(job["state"], "ready", "{job}");
    shell.sandbox.run("job get mail later").exits(3);
}

/// A shell whose `redis-cli` and `windlass` use this server.
fn shell_on(server: &Server) -> Shell {
    let mut shell = Shell::new(Sandbox::new());
    let client = shell.run("command -v redis-cli || command -v valkey-cli");
    shell.substitute(
        "redis-cli",
        &format!("{} -p {}", client.trim(), server.port()),
    );
    shell.substitute("windlass ", &format!("windlass --store {} ", server.url()));
    shell
}

#[test]
fn the_page_backs_up_a_redis_store_and_restores_it() {
    let [.., backup, restore] = blocks();
    let (old, new) = (
        ServerOptions::new().tcp().start(),
        ServerOptions::new().tcp().start(),
    );
    let (old_shell, new_shell) = (shell_on(&old), shell_on(&new));
    run(&old_shell, "windlass enqueue mail hello --id kept");

    run(&old_shell, &backup);
    new.kill();
    let copy = new.folder().join("dump.rdb");
    std::fs::copy(old_shell.sandbox.path("backup.rdb"), copy).unwrap();
    new.restart();
    run(&new_shell, &restore);

    let job = run(&new_shell, "windlass job get mail kept");
    assert!(job.contains("ready"), "{job}");
    assert!(new.folder().join("appendonlydir").exists());
}

#[test]
fn the_file_on_the_page_has_every_setting_and_is_accepted() {
    let sandbox = Sandbox::new();
    let [file] = <[String; 1]>::try_from(texts(PAGE, "toml")).unwrap();
    let path = sandbox.path("windlass.toml");
    std::fs::write(&path, &file).unwrap();
    std::fs::set_permissions(&path, PermissionsExt::from_mode(0o600)).unwrap();

    let shown = sandbox.run("config show --json").ok().json();

    let Value::Object(settings) = shown else {
        panic!("{shown}");
    };
    assert!(!settings.is_empty());
    for (name, setting) in settings {
        assert_eq!(
            setting["source"], "file",
            "{name} is not in the file of the page"
        );
    }
}
