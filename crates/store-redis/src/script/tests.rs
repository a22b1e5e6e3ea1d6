//! Every script has a complete header, and its text is pinned.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use super::*;

/// The SHA-1 of every script, for both sources of time, so that a review shows changed scripts.
const PINS: &str = include_str!("../../lua/pins.txt");

fn pins() -> String {
    let mut text = String::new();
    for (clock, name) in [
        (ClockSource::Redis, "redis"),
        (ClockSource::Argument, "argument"),
    ] {
        for script in Scripts::of(clock).all() {
            let _ = writeln!(text, "{} {name} {}", script.sent.sha(), script.name);
        }
    }
    text
}

#[test]
fn every_script_is_the_one_that_was_pinned() {
    let now = pins();
    if std::env::var_os("WINDLASS_PIN").is_some() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/lua/pins.txt");
        std::fs::write(path, &now).expect("the pins can be written");
        return;
    }
    let changed: Vec<_> = now.lines().filter(|line| !PINS.contains(line)).collect();
    assert!(
        now == PINS,
        "scripts changed; if intended, pin them with\n  WINDLASS_PIN=1 cargo test -p \
         windlass-store-redis pinned\n{}",
        changed.join("\n")
    );
}

/// The names after `k_` in a text.
fn keys_in(text: &str) -> BTreeSet<&str> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    text.split(|c: char| !is_part(c))
        .filter_map(|word| word.strip_prefix("k_"))
        .collect()
}

#[test]
fn a_script_names_only_keys_that_it_declares() {
    for script in Scripts::of(ClockSource::Redis).all() {
        let declared: BTreeSet<_> = script.keys.iter().map(|key| key.name()).collect();
        let unknown: Vec<_> = keys_in(script.sent.source())
            .into_iter()
            .filter(|name| !declared.contains(name))
            .collect();
        assert!(unknown.is_empty(), "{}: {unknown:?}", script.name);
    }
}

#[test]
fn a_script_declares_only_keys_that_it_names() {
    for script in Scripts::of(ClockSource::Redis).all() {
        // The audit checks the types of all keys before it accesses any.
        if script.name.starts_with("audit_") {
            continue;
        }
        let body =
            &script.sent.source()[script.sent.source().find("\nend\n").unwrap_or_default()..];
        let positions = positions(&script.keys);
        let is_idle = |name: &String| {
            let expression = positions.get(name).unwrap_or(name);
            !body.contains(expression.as_str())
        };
        let names = script.keys.iter().map(|key| format!("k_{}", key.name()));
        let idle: Vec<_> = names.filter(is_idle).collect();
        assert!(idle.is_empty(), "{} never uses {idle:?}", script.name);
    }
}

#[test]
fn every_script_documents_its_keys_arguments_and_reply() {
    for (name, text) in Scripts::files() {
        for field in ["keys", "args", "reply"] {
            assert!(
                header(text, field).is_some_and(|value| !value.is_empty()),
                "{name} has no {field}"
            );
        }
        // A header may name the folder of its file.
        let verb = name.trim_start_matches("worker_");
        let named = [verb.to_owned(), verb.replacen('_', "/", 1)];
        let has_purpose = |verb: &String| text.starts_with(&format!("-- {verb}: "));
        assert!(named.iter().any(has_purpose), "{name} has no purpose");
    }
}

/// Each key costs the server about as much as a tenth of a command.
#[test]
fn the_fast_scripts_declare_few_keys() {
    let scripts = Scripts::of(ClockSource::Redis);
    let count = |script: &Script| script.keys.iter().map(|key| key.count()).sum::<usize>();

    assert!(count(&scripts.fast_enqueue) <= 6);
    assert!(count(&scripts.fast_complete) <= 22);
    assert!(count(&scripts.fast_group_enqueue) <= 11);
    assert!(count(&scripts.fast_group_complete) <= 29);
}

#[test]
fn no_script_searches_or_waits() {
    for script in Scripts::of(ClockSource::Redis).all() {
        for word in [
            "'KEYS'", "'SCAN'", "'LREM'", "'LPOS'", "'EXPIRE'", "cjson", "cmsgpack",
        ] {
            assert!(
                !script.sent.source().contains(word),
                "{} uses {word}",
                script.name
            );
        }
    }
}
