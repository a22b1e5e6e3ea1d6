//! The step `clients`: the suites of the Python and TypeScript clients, which run the cases of
//! `clients/protocol` on a real server.
//!
//! Their tools come from the registries of Python and npm, at pinned versions, into `target/clients` and
//! `clients/typescript/node_modules`.

use std::path::Path;
use std::process::Command;

use xtask::install::{self, Installation};

use super::debug_binary;

/// What to do if the step fails.
pub(super) const NEXT: &str = "the failing test is named above; run one suite alone with `cargo xtask clients python` or \
                               `cargo xtask clients typescript`";

/// The suites that the step runs.
const SUITES: [(&str, Suite); 2] = [("python", python), ("typescript", typescript)];

/// Runs the tests of one client with the binary.
type Suite = fn(&Path, &Path) -> Result<(), String>;

/// Runs all suites, or one.
pub(super) fn run(root: &Path, only: Option<&str>) -> Result<(), String> {
    if let Some(name) = only.filter(|name| SUITES.iter().all(|(suite, _)| suite != name)) {
        return Err(format!(
            "there is no client {name:?}; there are python and typescript"
        ));
    }
    let binary = debug_binary(root)?;
    for (_, suite) in SUITES
        .iter()
        .filter(|(name, _)| only.is_none_or(|only| only == *name))
    {
        suite(root, &binary)?;
    }
    Ok(())
}

fn python(root: &Path, binary: &Path) -> Result<(), String> {
    let tools = Installation {
        root,
        source: "clients/python",
        folder: "target/clients",
        name: "python",
    };
    tools.python()?;
    let python = tools.path().join("bin/python");
    let source = root.join(tools.source);
    install::run(
        Command::new(&python)
            .current_dir(&source)
            .args(["-m", "pip", "install", "--quiet", "--no-deps"])
            .args(["--no-build-isolation", "--editable", "."]),
    )?;
    install::run(
        Command::new(&python)
            .current_dir(&source)
            .env("WINDLASS_BIN", binary)
            .args(["-m", "pytest", "--quiet"]),
    )
}

fn typescript(root: &Path, binary: &Path) -> Result<(), String> {
    install::ensure_node()?;
    let npm = |arguments: &[&str]| {
        let mut command = Command::new("npm");
        let command = command.current_dir(root.join("clients/typescript"));
        install::run(command.env("WINDLASS_BIN", binary).args(arguments))
    };
    // Install scripts of packages do not run.
    npm(&["ci", "--ignore-scripts", "--no-audit", "--no-fund"])?;
    npm(&["test"])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_client_is_rejected_with_the_names_of_those_there_are() {
        let rejected = run(&xtask::root(), Some("cobol"));
        assert!(rejected.is_err_and(|why| why.contains("cobol") && why.contains("python")));
    }
}
