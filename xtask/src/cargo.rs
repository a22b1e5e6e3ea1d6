//! Runs cargo: the one that started us, so that everything happens under one toolchain.

use std::ffi::OsString;
use std::path::Path;
use std::process::{Command, Stdio};

/// A cargo command in the root of the repository; it talks to the terminal itself.
pub(crate) fn cargo(root: &Path, arguments: &[&str]) -> Command {
    let program = std::env::var_os("CARGO").unwrap_or_else(|| OsString::from("cargo"));
    let mut command = Command::new(program);
    command.current_dir(root).args(arguments);
    command
}

/// Whether `cargo NAME` exists here.
pub(crate) fn has(root: &Path, name: &str) -> bool {
    cargo(root, &[name, "--version"])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}
