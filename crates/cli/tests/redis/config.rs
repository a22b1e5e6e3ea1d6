//! Sources of a Redis store URL.

use windlass_testkit::redis::Server;

use super::sandbox::{Ran, Sandbox, text};
use super::test_store::TestStore;

#[test]
fn flag_environment_and_file_can_all_set_the_server() {
    let sandbox = Sandbox::new();
    let url = sandbox.store.url().to_owned();
    sandbox.run("enqueue q by-environment").ok();
    std::fs::write(
        sandbox.path("windlass.toml"),
        format!("store = \"{url}\"\n"),
    )
    .unwrap();
    let mut by_file = sandbox.command(&["enqueue", "q", "by-file"]);
    by_file.env_remove("WINDLASS_STORE");
    Ran::from(by_file.output().unwrap()).ok();
    let mut by_flag = sandbox.command(&["enqueue", "q", "by-flag", "--store", &url]);
    by_flag.env("WINDLASS_STORE", "sqlite:elsewhere.db");
    Ran::from(by_flag.output().unwrap()).ok();

    for payload in ["by-environment", "by-file", "by-flag"] {
        assert_eq!(sandbox.claim("q")["payload"], payload);
    }
    assert!(!sandbox.path("elsewhere.db").exists());
}

#[test]
fn a_wrong_redis_url_outside_the_flag_is_bad_configuration() {
    let sandbox = Sandbox::new();
    let mut command = sandbox.command(&["queue", "list", "--json"]);
    command.env("WINDLASS_STORE", "redis://:hunter2@host/0?durability=big");

    let ran = Ran::from(command.output().unwrap()).exits(78);

    let error = ran.error();
    assert_eq!(error["code"], "bad_config");
    let help = text(&error["help"]);
    assert!(help.contains("replicated:N"), "{help}");
    assert!(!ran.stderr.contains("hunter2"), "{}", ran.stderr);
}

#[test]
fn two_prefixes_are_two_stores() {
    let sandbox = Sandbox::on(TestStore::single(Server::start()));
    let other = format!("--store {}?prefix=other", sandbox.store.url());

    sandbox.run("enqueue q here --id 1").ok();
    sandbox.run(&format!("enqueue q there --id 1 {other}")).ok();

    assert_eq!(sandbox.claim("q")["payload"], "here");
    let there = sandbox.run(&format!("claim q --json {other}")).ok().json();
    assert_eq!(there[0]["payload"], "there");
    assert!(
        sandbox
            .store
            .keys()
            .iter()
            .all(|key| key.starts_with("windlass:{") || key.starts_with("other:{"))
    );
}
