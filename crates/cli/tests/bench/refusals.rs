//! Invalid benchmark runs fail with help.

use super::sandbox::{Ran, Sandbox, text};

#[test]
fn a_private_server_that_is_not_installed_is_an_error_that_says_how_to_get_it() {
    let sandbox = Sandbox::new();
    let mut command = sandbox.command(&["bench", "--private", "--json"]);
    command.env("WINDLASS_REDIS_SERVER", sandbox.path("no-such-server"));

    let ran = Ran::from(command.output().unwrap()).exits(69);

    let error = ran.error();
    assert_eq!(error["code"], "store_unreachable");
    assert!(
        text(&error["message"]).contains("no-such-server"),
        "{error}"
    );
    assert!(
        text(&error["help"]).contains("WINDLASS_REDIS_SERVER"),
        "{error}"
    );
}

#[test]
fn conflicting_flags_are_rejected() {
    let sandbox = Sandbox::new();
    for line in [
        "bench --aof always",
        "bench --private --store sqlite:x.db",
        "bench --private --aof off,always",
        "bench --store memory:",
        "bench --payload 2",
        "bench --batch 0",
        "bench --backlog 0",
        "bench --rounds 0",
        "bench --within 0s",
        "bench nothing",
    ] {
        let ran = sandbox.run(&format!("{line} --json")).exits(2);
        assert!(!text(&ran.error()["message"]).is_empty(), "{line}");
    }
}
