//! Invalid runs fail with help.

use super::command;

#[test]
fn a_private_server_that_is_not_installed_is_an_error_that_says_how_to_get_it() {
    let mut command = command("--private");
    command.env("WINDLASS_REDIS_SERVER", "/no-such-server");

    let output = command.output().unwrap();

    let error = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{error}");
    assert!(error.contains("no-such-server"), "{error}");
    assert!(error.contains("set WINDLASS_REDIS_SERVER="), "{error}");
}

#[test]
fn conflicting_flags_are_rejected() {
    for (line, code) in [
        ("--aof always", 2),
        ("--private --store sqlite:x.db", 2),
        ("--private --aof off,always", 1),
    ] {
        let output = command(line).output().unwrap();
        assert_eq!(output.status.code(), Some(code), "{line}");
        assert!(output.stderr.starts_with(b"error: "), "{line}");
    }
}
