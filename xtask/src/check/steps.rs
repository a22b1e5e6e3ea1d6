//! The steps of a check, in order, and what to do if one fails.

use std::path::Path;

use xtask::cargo::{cargo, has};
use xtask::redis;

use super::{Extent, browser, peers};
use crate::{matrix, tidy};

/// Crates whose tests are fast: no child processes, no crashes, no file system.
const FAST: [&str; 4] = [
    "windlass-core",
    "windlass-store-memory",
    "windlass-api",
    "xtask",
];

/// Only the library of this one: its other tests start servers.
const FAST_LIBRARY: &str = "windlass-testkit";

const NO_DENY: &str = "cargo-deny is not installed, so licences and advisories are not checked; \
                       install it with `cargo install --locked cargo-deny`";

const NO_ROOT: &str = "tests named needs_root give files to another user, which only root may do; \
                       run them with `sudo -E cargo test -p windlass-store-sqlite needs_root`";

const NO_PROMETHEUS: &str = "Prometheus could not be installed, for the reason above, so alerts, dashboard and the text \
                             of /metrics are not checked by it";

const NAMED: &str = "the failing test is named above; run it alone by its name";

/// One step of a check.
#[derive(Clone)]
pub(super) struct Step {
    pub(super) name: &'static str,
    /// What to do if it fails.
    pub(super) next: &'static str,
    /// Why it is skipped on this machine.
    pub(super) not_run: Option<&'static str>,
    work: Work,
}

#[derive(Clone)]
enum Work {
    /// The style rules of this program.
    Tidy,
    /// A Redis server for the tests, installed if missing.
    Redis,
    /// The clients of the older systems, installed from their registries.
    Peers,
    /// The tests of the dashboard in a browser.
    Browser,
    /// Some tests on newer servers.
    Matrix,
    /// Cargo commands in order, without `cargo` itself.
    Cargo(Vec<String>),
}

impl Step {
    fn new(name: &'static str, work: Work, next: &'static str) -> Self {
        Self {
            name,
            next,
            not_run: None,
            work,
        }
    }

    fn unless(mut self, is_skipped: bool, why: &'static str) -> Self {
        self.not_run = is_skipped.then_some(why);
        self
    }

    /// The command line to show.
    pub(super) fn shown(&self) -> String {
        match &self.work {
            Work::Tidy => "cargo xtask tidy".to_owned(),
            Work::Redis => "redis-server --version".to_owned(),
            Work::Peers => "cargo xtask peers".to_owned(),
            Work::Browser => "cargo xtask browser".to_owned(),
            Work::Matrix => "some tests of `cargo xtask matrix`".to_owned(),
            Work::Cargo(commands) => format!("cargo {}", commands.join(" && cargo ")),
        }
    }

    /// Runs the step. The error names the command that failed.
    pub(super) fn run(&self, root: &Path) -> Result<(), String> {
        match &self.work {
            Work::Tidy if tidy::is_clean(root) => Ok(()),
            Work::Tidy => Err("`cargo xtask tidy` found violations".to_owned()),
            Work::Redis => redis::ensure(),
            Work::Peers => peers::ensure(root),
            Work::Browser => browser::run(root, &[]),
            Work::Matrix => matrix::smoke(root),
            Work::Cargo(commands) => commands.iter().try_for_each(|line| run_one(root, line)),
        }
    }
}

fn run_one(root: &Path, line: &str) -> Result<(), String> {
    let arguments: Vec<&str> = line.split(' ').collect();
    let mut command = cargo(root, &arguments);
    if arguments.first() == Some(&"doc") {
        command.env("RUSTDOCFLAGS", "-D warnings");
    }
    match command.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("`cargo {line}` failed with {status}")),
        Err(error) => Err(format!("could not start `cargo {line}`: {error}")),
    }
}

/// The steps to run on this machine.
pub(super) fn of(root: &Path, extent: Extent) -> Vec<Step> {
    let has_nextest = has(root, "nextest");
    if !has_nextest {
        println!("cargo-nextest is not installed: running the tests with `cargo test`");
        println!("install it with `cargo install --locked cargo-nextest`");
    }
    match extent {
        Extent::Quick => quick(has_nextest),
        Extent::Full => full(
            has_nextest,
            rustix::process::geteuid().is_root(),
            has(root, "deny"),
            &browser::prepare(),
            &matrix::prepare(root),
        ),
    }
}

fn quick(has_nextest: bool) -> Vec<Step> {
    let mut steps = style();
    // The fast one first.
    steps.swap(1, 2);
    steps.push(fast_tests(has_nextest));
    steps
}

fn full(
    has_nextest: bool,
    is_root: bool,
    has_deny: bool,
    chromium: &Result<(), String>,
    servers: &Result<(), String>,
) -> Vec<Step> {
    let mut steps = style();
    steps.extend([
        Step::new("redis", Work::Redis, redis::NEXT),
        Step::new("peers", Work::Peers, peers::NEXT),
        tests(has_nextest),
        root_tests(is_root),
        dashboard(chromium),
        newer_servers(servers),
        prometheus(servers),
        cargo_step(
            "docs",
            &["doc --workspace --no-deps"],
            "fix what rustdoc reports above",
        ),
        deny(has_deny),
    ]);
    steps
}

fn style() -> Vec<Step> {
    vec![
        cargo_step(
            "fmt",
            &["fmt --all --check"],
            "run `cargo fmt --all`; if rustfmt is missing, `rustup component add rustfmt`",
        ),
        cargo_step(
            "clippy",
            &["clippy --workspace --all-targets -- -D warnings"],
            "fix what clippy reports above; if clippy is missing, `rustup component add clippy`",
        ),
        Step::new(
            "tidy",
            Work::Tidy,
            "fix the lines listed above, then run `cargo xtask tidy`",
        ),
    ]
}

fn cargo_step(name: &'static str, commands: &[&str], next: &'static str) -> Step {
    let commands = commands.iter().map(|&line| line.to_owned()).collect();
    Step::new(name, Work::Cargo(commands), next)
}

fn tests(has_nextest: bool) -> Step {
    let commands: &[&str] = if has_nextest {
        // nextest does not run doc tests, so cargo does.
        &[
            "nextest run --workspace -E !test(needs_root)",
            "test --workspace --doc",
        ]
    } else {
        &["test --workspace -- --skip needs_root"]
    };
    cargo_step("tests", commands, NAMED)
}

/// The tests that only root can run.
fn root_tests(is_root: bool) -> Step {
    let command = "test --package windlass-store-sqlite --test bad_file needs_root";
    cargo_step("root tests", &[command], NAMED).unless(!is_root, NO_ROOT)
}

/// The tests of the dashboard, if a browser is installed.
fn dashboard(installed: &Result<(), String>) -> Step {
    if let Err(why) = installed {
        println!("{why}");
    }
    Step::new("browser", Work::Browser, browser::NEXT).unless(installed.is_err(), browser::NEEDS)
}

/// Some tests on newer servers, if these are installed.
fn newer_servers(installed: &Result<(), String>) -> Step {
    if let Err(why) = installed {
        println!("{why}");
    }
    Step::new("matrix", Work::Matrix, matrix::NEXT).unless(installed.is_err(), matrix::NEEDS)
}

/// The tests on a real Prometheus, which is installed with the servers.
fn prometheus(installed: &Result<(), String>) -> Step {
    let command = "nextest run --package windlass-cli --test metrics --run-ignored only";
    cargo_step("prometheus", &[command], NAMED).unless(installed.is_err(), NO_PROMETHEUS)
}

fn fast_tests(has_nextest: bool) -> Step {
    // Without `--tests`, `cargo test` would build doc tests too.
    let runner = if has_nextest {
        "nextest run"
    } else {
        "test --tests"
    };
    let crates = format!("{runner} --package {}", FAST.join(" --package "));
    let runner = runner.trim_end_matches(" --tests");
    let library = format!("{runner} --package {FAST_LIBRARY} --lib");
    cargo_step("tests", &[&crates, &library], NAMED)
}

fn deny(is_installed: bool) -> Step {
    let next = "choose another dependency, or allow it in `deny.toml` with a comment that says why";
    cargo_step("deny", &["deny check"], next).unless(!is_installed, NO_DENY)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn doc_tests_run_with_and_without_nextest() {
        assert!(
            tests(true)
                .shown()
                .ends_with("cargo test --workspace --doc")
        );
        assert!(
            tests(false)
                .shown()
                .starts_with("cargo test --workspace -- ")
        );
    }

    #[test]
    fn tests_that_need_root_are_reported_if_they_do_not_run() {
        assert!(
            root_tests(false)
                .not_run
                .is_some_and(|why| why.contains("sudo"))
        );
        assert!(root_tests(true).not_run.is_none());
    }

    #[test]
    fn newer_servers_are_reported_if_they_cannot_be_installed() {
        let step = newer_servers(&Err("no network".to_owned()));
        assert!(step.not_run.is_some_and(|why| why.contains("Valkey")));
        assert!(newer_servers(&Ok(())).not_run.is_none());
        assert!(prometheus(&Err(String::new())).not_run.is_some());
    }

    #[test]
    fn a_missing_browser_is_reported_with_the_way_to_install_it() {
        let step = dashboard(&Err("no network".to_owned()));
        assert!(
            step.not_run
                .is_some_and(|why| why.contains("apt-get install chromium"))
        );
        assert!(dashboard(&Ok(())).not_run.is_none());
    }

    #[test]
    fn a_missing_tool_is_reported_with_the_way_to_install_it() {
        assert!(
            deny(false)
                .not_run
                .is_some_and(|why| why.contains("cargo install"))
        );
        assert!(deny(true).not_run.is_none());
    }

    #[test]
    fn every_step_says_what_to_do_if_it_fails() {
        let steps = [full(true, true, true, &Ok(()), &Ok(())), quick(true)].concat();
        assert!(steps.iter().all(|step| !step.next.is_empty()));
    }
}
