//! Where settings come from, and what happens when they make no sense.

use super::sandbox::{Ran, Sandbox, text};

fn show(sandbox: &Sandbox, environment: Option<&str>, more: &[&str]) -> Ran {
    let mut words = vec!["config", "show", "--json"];
    words.extend(more);
    let mut command = sandbox.command(&words);
    if let Some(store) = environment {
        command.env("WINDLASS_STORE", store);
    }
    Ran::from(command.output().unwrap())
}

#[test]
fn config_show_says_where_each_value_comes_from() {
    let sandbox = Sandbox::new();
    let shown = |environment, more: &[&str]| {
        let reply = show(&sandbox, environment, more).ok().json();
        (
            text(&reply["store"]["value"]).to_owned(),
            text(&reply["store"]["source"]).to_owned(),
        )
    };
    let pair = |value: &str, source: &str| (value.to_owned(), source.to_owned());

    assert_eq!(shown(None, &[]), pair("sqlite:windlass.db", "default"));
    assert_eq!(shown(Some(""), &[]), pair("sqlite:windlass.db", "default"));
    std::fs::write(
        sandbox.path("windlass.toml"),
        "store = \"sqlite:file.db\"\n",
    )
    .unwrap();
    assert_eq!(shown(None, &[]), pair("sqlite:file.db", "file"));
    assert_eq!(
        shown(Some("sqlite:env.db"), &[]),
        pair("sqlite:env.db", "environment")
    );
    let flag = ["--store", "sqlite:flag.db"];
    assert_eq!(
        shown(Some("sqlite:env.db"), &flag),
        pair("sqlite:flag.db", "flag")
    );
}

#[test]
fn config_show_hides_secrets() {
    let sandbox = Sandbox::new();
    let ran = show(&sandbox, Some("redis://joe:hunter2@host:6379/0"), &[]).ok();

    assert!(!ran.text().contains("hunter2"), "{}", ran.text());
}

#[test]
fn an_unknown_key_in_the_file_is_bad_configuration() {
    let sandbox = Sandbox::new();
    for file in [
        "stor = \"sqlite:x\"",
        "store = 5",
        "store =",
        "[store]",
        "store = \"jobs.db\"",
    ] {
        std::fs::write(sandbox.path("windlass.toml"), file).unwrap();
        for line in ["config show --json", "enqueue q x --json"] {
            let ran = sandbox.run(line).exits(78);
            assert_eq!(ran.error()["code"], "bad_config", "{file}");
        }
        assert!(!sandbox.has_store(), "{file}");
    }
}

#[test]
fn a_bad_url_in_the_environment_is_bad_configuration() {
    let sandbox = Sandbox::new();
    let ran = show(&sandbox, Some("postgres://joe:hunter2@host/db"), &[]).exits(78);

    assert_eq!(ran.error()["code"], "bad_config");
    assert!(!ran.stderr.contains("hunter2"), "{}", ran.stderr);
}

#[test]
fn the_file_moves_every_command() {
    let sandbox = Sandbox::new();
    std::fs::write(
        sandbox.path("windlass.toml"),
        "store = \"sqlite:other.db\"\n",
    )
    .unwrap();

    sandbox.run("enqueue q x").ok();

    assert!(sandbox.path("other.db").exists() && !sandbox.has_store());
    sandbox.claim("q");
}
