//! `windlass-bench run` with the real program: small runs with plausible results. No speed is asserted.

#![expect(clippy::unwrap_used, reason = "a failed unwrap fails the test")]

mod contract;
mod refusals;
mod scenarios;

use std::process::{Command, Output, Stdio};

use serde_json::Value;

fn command(line: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_windlass-bench"));
    command
        .arg("run")
        .args(line.split_whitespace())
        .stdin(Stdio::null());
    command
}

/// Runs a command line that succeeds. Returns the JSON lines it printed.
fn run(line: &str) -> Vec<Value> {
    let Output {
        status,
        stdout,
        stderr,
    } = command(line).output().unwrap();
    let (stdout, stderr) = (
        String::from_utf8(stdout).unwrap(),
        String::from_utf8(stderr).unwrap(),
    );
    assert!(status.success(), "{line}: {stdout} {stderr}");
    let lines = stdout.lines().map(serde_json::from_str);
    lines.collect::<Result<_, _>>().unwrap()
}

/// Asserts that a JSON object has these fields.
#[track_caller]
fn has_fields(value: &Value, fields: &str) {
    for field in fields.split_whitespace() {
        assert!(value.get(field).is_some(), "{field} is missing in {value}");
    }
}
