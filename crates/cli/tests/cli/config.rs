//! Sources of settings, and invalid settings.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

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

/// Runs a command line with one environment variable.
fn with(line: &str, variable: &str, value: &OsStr) -> (Sandbox, Ran) {
    let sandbox = Sandbox::new();
    let words: Vec<_> = line.split_whitespace().collect();
    let ran = sandbox.command(&words).env(variable, value).output();
    (sandbox, Ran::from(ran.unwrap()))
}

#[test]
fn a_bad_variable_that_stands_for_a_flag_is_bad_configuration_and_is_named() {
    let not_text = OsStr::from_bytes(b"\xff");
    for (line, variable, value) in [
        ("submit --json", "JOB_COUNT", "abc".as_ref()),
        ("submit --json", "JOB_COUNT", "1000001".as_ref()),
        ("submit --json", "JOB_COUNT", not_text),
        ("submit --json", "TIME_OFFSET_SEC", "abc".as_ref()),
        ("submit --json", "API_ENDPOINT", "ftp://x".as_ref()),
        (
            "submit --json",
            "API_ENDPOINT",
            "http://joe:hunter2@x".as_ref(),
        ),
        (
            "up --json --listen 127.0.0.1:0",
            "WORKER_ROLE",
            "boss".as_ref(),
        ),
        ("processor --json", "NAMESPACE_LISTENER", "a b".as_ref()),
        ("processor --json", "NAMESPACE_PUBLISHER", "#".as_ref()),
        ("processor --json", "SERVICE_UUID", "a\nb".as_ref()),
        ("processor --json", "SERVICE_NAME", not_text),
    ] {
        let (sandbox, ran) = with(line, variable, value);
        let error = ran.exits(78).error();
        assert_eq!(error["code"], "bad_config", "{variable}");
        let message = text(&error["message"]);
        assert!(message.starts_with(variable), "{message}");
        assert!(
            !message.contains("--") && !message.contains("hunter2"),
            "{message}"
        );
        assert!(!sandbox.has_store(), "{variable}");
    }
}

#[test]
fn a_bad_flag_is_bad_usage_whatever_the_variable_says() {
    for (line, variable, value) in [
        ("submit --json --count abc", "JOB_COUNT", "5"),
        (
            "submit --json --url ftp://x",
            "API_ENDPOINT",
            "http://127.0.0.1:1",
        ),
        ("up --json --role boss", "WORKER_ROLE", "leader"),
        ("processor --json --listener #", "NAMESPACE_LISTENER", "in"),
    ] {
        with(line, variable, value.as_ref()).1.exits(2);
    }
}

#[test]
fn a_flag_wins_over_its_variable_and_an_empty_variable_is_ignored() {
    let line = "submit --json --count 2 --within 1h";
    for value in ["abc", "7", ""] {
        let (_sandbox, ran) = with(line, "JOB_COUNT", value.as_ref());
        assert_eq!(ran.ok().json()["submitted"], 2);
    }
    let (_sandbox, ran) = with("submit --json --within 1h", "JOB_COUNT", "".as_ref());
    assert_eq!(ran.ok().json()["submitted"], 50);
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

#[test]
fn a_file_that_others_may_write_is_bad_configuration() {
    use std::os::unix::fs::PermissionsExt;

    let sandbox = Sandbox::new();
    let path = sandbox.path("windlass.toml");
    std::fs::write(&path, "store = \"sqlite:file.db\"\n").unwrap();
    for (mode, is_refused) in [(0o600, false), (0o644, false), (0o664, true), (0o602, true)] {
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();

        // Even if the file is overridden: commands without the flag would use it.
        for more in [&[][..], &["--store", "sqlite:flag.db"]] {
            let ran = show(&sandbox, None, more);

            assert_eq!(
                ran.code == Some(78),
                is_refused,
                "{mode:o} {more:?}: {}",
                ran.stderr
            );
            if is_refused {
                assert!(
                    ran.stderr.contains("chmod go-w windlass.toml"),
                    "{}",
                    ran.stderr
                );
            }
        }
    }
}

#[test]
fn a_password_after_the_wrong_scheme_is_not_shown() {
    let sandbox = Sandbox::new();
    for url in [
        "sqlite:redis://joe:hunter2@host",
        "sqlite://redis://joe:hunter2@host",
        "sqlite:rediss:joe:hunter2@host",
        "memory:redis://joe:hunter2@host",
        "jobs:redis://joe:hunter2@host",
        "joe:hunter2@host",
        "//joe:hunter2@host",
        "redis:joe:hunter2@host",
    ] {
        for command in ["config show", "queue stats q", "doctor", "enqueue q x"] {
            let ran = sandbox.run(&format!("{command} --store {url}"));

            let shown = format!("{}{}", ran.text(), ran.stderr);
            assert!(
                ran.code != Some(0) && !shown.contains("hunter2"),
                "{url}: {shown}"
            );
        }
    }
    let ran = sandbox.run("interop bridge --from redis://joe:hunter2@host --to q");
    assert!(
        ran.code == Some(2) && !ran.stderr.contains("hunter2"),
        "{}",
        ran.stderr
    );
}
