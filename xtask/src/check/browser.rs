//! The step `browser`: the tests of the dashboard in a real Chromium, driven by Node.
//!
//! Chromium comes from the package manager, the modules from npm, at pinned versions, into
//! `target/browser`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use xtask::cargo::cargo;
use xtask::install::{self, Installation};
use xtask::packages::{self, Package};

/// What to do if the step fails.
pub(super) const NEXT: &str = "the failing test is named above; run its file alone with `cargo xtask browser FILE`, such \
                               as `cargo xtask browser live.test.js`";

/// What the step needs.
pub(super) const NEEDS: &str = "Chromium could not be installed, or Node is older than 20, for the reason above, so the \
                                dashboard is not tested in a browser; install both (`apt-get install chromium nodejs \
                                npm`) or set the path: `WINDLASS_CHROMIUM=/path/to/chromium cargo xtask browser`";

/// The variable that selects the browser, here and in the tests.
const PROGRAM: &str = "WINDLASS_CHROMIUM";

/// Where Debian's package has the browser.
const DEFAULT_PROGRAM: &str = "/usr/bin/chromium";

const CHROMIUM: Package = Package {
    title: "Chromium",
    apt: &["chromium"],
    brew: &["--cask", "chromium"],
};

/// The oldest Node that the modules run on.
const NODE_MIN: u32 = 20;

/// The folder of the tests.
const TESTS: &str = "crates/server/tests/browser";

/// Files run at the same time: a test mostly waits for its browser and its server.
const FILES_AT_ONCE: &str = "--test-concurrency=2";

/// Ensures that a browser and Node are installed. The error says why not.
pub(super) fn prepare() -> Result<(), String> {
    let configured = std::env::var(PROGRAM).ok();
    let program = configured.as_deref().unwrap_or(DEFAULT_PROGRAM);
    if configured.is_none() && !Path::new(program).is_file() {
        packages::install(&CHROMIUM)?;
    }
    if !Path::new(program).is_file() {
        return Err(format!(
            "`{program}` does not exist; set {PROGRAM} to the path of Chromium"
        ));
    }
    if !install::succeeds("node", &["--version"]) {
        packages::install(&install::NODE)?;
    }
    check_node(&version_of_node()?)
}

fn version_of_node() -> Result<String, String> {
    let output = Command::new("node").arg("--version").output();
    let output = output.map_err(|error| format!("could not start `node --version`: {error}"))?;
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

/// Rejects a Node that is too old, by a version such as `v20.1.0`.
fn check_node(version: &str) -> Result<(), String> {
    let mut numbers = version.trim_start_matches('v').split('.');
    let major = numbers.next().and_then(|number| number.parse::<u32>().ok());
    match major {
        Some(major) if major >= NODE_MIN => Ok(()),
        _ => Err(format!(
            "the tests of the dashboard need Node {NODE_MIN} or later, found {version:?}"
        )),
    }
}

/// Runs the tests, or only some of their files, on a debug build of the binary.
pub(super) fn run(root: &Path, files: &[String]) -> Result<(), String> {
    let modules = Installation {
        root,
        source: TESTS,
        folder: "target",
        name: "browser",
    };
    modules.node()?;
    install::run(&mut cargo(root, &["build", "--package", "windlass-cli"]))?;
    let target = std::env::var_os("CARGO_TARGET_DIR");
    let target = target.map_or_else(|| root.join("target"), PathBuf::from);
    let files = if files.is_empty() {
        all_files(root)?
    } else {
        files.to_vec()
    };
    install::run(
        Command::new("node")
            .current_dir(root.join(TESTS))
            .env("WINDLASS_BIN", root.join(target).join("debug/windlass"))
            .args(["--test", FILES_AT_ONCE, "--test-reporter=spec"])
            .args(files),
    )
}

/// The names of all files with tests.
fn all_files(root: &Path) -> Result<Vec<String>, String> {
    let folder = root.join(TESTS);
    let entries = fs::read_dir(&folder);
    let entries =
        entries.map_err(|error| format!("could not read {}: {error}", folder.display()))?;
    let names = entries.flatten().map(|entry| entry.file_name());
    let names = names.filter_map(|name| name.into_string().ok());
    let mut names: Vec<_> = names.filter(|name| name.ends_with(".test.js")).collect();
    names.sort();
    Ok(names)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_that_is_too_old_is_rejected() {
        assert!(check_node("v20.20.2").is_ok());
        assert!(check_node("v22.1.0").is_ok());
        let rejected = check_node("v18.19.0");
        assert!(rejected.is_err_and(|why| why.contains("v18.19.0")));
        assert!(check_node("").is_err());
    }

    #[test]
    fn every_file_with_tests_is_found() {
        let files = all_files(&xtask::root()).unwrap();
        assert!(files.len() >= 9, "{files:?}");
        assert!(files.contains(&"buttons.test.js".to_owned()));
    }
}
