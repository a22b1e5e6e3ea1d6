//! Exit codes are those of the contract.

use super::sandbox::Sandbox;

#[test]
fn a_reading_command_never_creates_a_store() {
    let sandbox = Sandbox::new();
    for line in [
        "claim q",
        "accept q 1 --token 1-00000001",
        "renew q 1 --token 1-00000001",
        "progress q 1 --token 1-00000001 0.5",
        "complete q 1 --token 1-00000001",
        "fail q 1 --token 1-00000001 --error x",
        "release q 1 --token 1-00000001",
        "snooze q 1 --token 1-00000001 --for 1s",
        "job get q 1",
        "job list q",
        "job cancel q 1",
        "job retry q 1",
        "job delete q 1",
        "job promote q 1",
        "job wait q 1",
        "queue list",
        "queue stats q",
        "queue resume q",
        "queue purge q",
        "queue set q",
        "workers",
        "workers fail w",
        "maintain",
        "audit",
        "clean",
    ] {
        let ran = sandbox.run(&format!("{line} --json")).exits(69);
        assert_eq!(ran.error()["code"], "store_unreachable", "{line}");
        assert!(ran.stdout.is_empty(), "{line}");
        assert!(!sandbox.has_store(), "{line}");
    }
    sandbox.run("doctor").exits(69);
    assert!(!sandbox.has_store());
}

#[test]
fn a_writing_command_creates_the_store() {
    for line in ["enqueue q x", "queue pause q", "queue set q requeue=back"] {
        let sandbox = Sandbox::new();
        sandbox.run(line).ok();
        assert!(sandbox.has_store(), "{line}");
    }
}

#[test]
fn a_memory_store_is_rejected() {
    let sandbox = Sandbox::new();
    for line in ["enqueue q x", "claim q", "queue list", "doctor"] {
        let ran = sandbox
            .run(&format!("{line} --store memory: --json"))
            .exits(2);
        assert_eq!(ran.error()["code"], "usage", "{line}");
    }
}

#[test]
fn a_file_that_is_not_a_store_is_bad_configuration() {
    let sandbox = Sandbox::new();
    std::fs::write(
        sandbox.path("windlass.db"),
        "this is a letter to my aunt, not a store\n",
    )
    .unwrap();

    let ran = sandbox.run("queue list --json").exits(78);

    assert_eq!(ran.error()["code"], "store_foreign");
}

#[test]
fn an_error_says_what_to_do_next() {
    let sandbox = Sandbox::new();
    let ran = sandbox.run("queue list").exits(69);

    assert!(ran.stderr.starts_with("error: "), "{}", ran.stderr);
    assert!(ran.stderr.contains("\n  help: "), "{}", ran.stderr);
    assert!(!ran.stderr.contains('\x1b'), "{}", ran.stderr);
}

#[test]
fn a_misspelt_command_gets_a_suggestion() {
    let sandbox = Sandbox::new();
    let ran = sandbox.run("enqeue q x --json").exits(2);

    assert_eq!(ran.error()["code"], "usage");
    assert!(ran.stderr.contains("enqueue"), "{}", ran.stderr);
}

#[test]
fn help_and_version_succeed() {
    let sandbox = Sandbox::new();
    for line in [
        "--help",
        "enqueue --help",
        "--version",
        "version",
        "completions bash",
    ] {
        assert!(!sandbox.run(line).ok().stdout.is_empty(), "{line}");
    }
}

#[test]
fn a_result_that_cannot_be_written_is_a_failure() {
    let full = std::fs::OpenOptions::new()
        .write(true)
        .open("/dev/full")
        .unwrap();
    let sandbox = Sandbox::new();

    let output = sandbox.command(&["version"]).stdout(full).output().unwrap();

    assert_eq!(output.status.code(), Some(1));
    assert!(!output.stderr.is_empty());
}
