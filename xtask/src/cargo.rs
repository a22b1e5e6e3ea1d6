//! Runs the cargo that started xtask, so that all commands use one toolchain.

use std::ffi::OsString;
use std::path::Path;
use std::process::{Command, Stdio};

/// Returns a cargo command in the root of the repository. Its output goes to the terminal.
pub fn cargo(root: &Path, arguments: &[&str]) -> Command {
    let program = std::env::var_os("CARGO").unwrap_or_else(|| OsString::from("cargo"));
    let mut command = Command::new(program);
    command.current_dir(root).args(arguments);
    command
}

/// Returns whether `cargo NAME` is installed.
pub fn has(root: &Path, name: &str) -> bool {
    cargo(root, &[name, "--version"])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}
