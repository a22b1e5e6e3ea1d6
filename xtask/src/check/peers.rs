//! The step `peers`: the real clients of the older systems, which the tests of interop talk to.
//!
//! They come from their registries at pinned versions into `target/peers`, and are installed again
//! only when the pins change. A test that needs one is never passed over.

use std::fs;
use std::io;
use std::path::Path;
use std::process::{Command, Stdio};

use super::packages::{self, Wanted};
use crate::cargo::cargo;

/// What to do when the step failed.
pub(super) const NEXT: &str = "install python3 with its venv module, and Node with npm \
                               (`apt-get install python3 python3-venv nodejs npm`, `brew install \
                               python node`); see that their registries can be reached; then \
                               `cargo xtask peers`";

/// The programs of the tests, with the pins of what they use.
const SOURCES: &str = "crates/interop/peers";

/// Where the clients are installed; the tests look there.
const PLACE: &str = "target/peers";

const PYTHON: Wanted = Wanted {
    what: "Python with its venv module",
    apt: &["python3", "python3-venv"],
    brew: &["python"],
};

const NODE: Wanted = Wanted {
    what: "Node with npm",
    apt: &["nodejs", "npm"],
    brew: &["node"],
};

/// Makes sure of all clients; says which could not be installed and why.
pub(super) fn ensure(root: &Path) -> Result<(), String> {
    python(root)?;
    node(root)?;
    rust(root)
}

fn python(root: &Path) -> Result<(), String> {
    let pins = read(&root.join(SOURCES).join("python/requirements.txt"))?;
    unless_installed(root, "python", &pins, |folder| {
        // Debian has a python3 whose venv cannot bring pip.
        const PROBE: [&str; 2] = ["-c", "import venv, ensurepip"];
        if !succeeds("python3", &PROBE) || !succeeds("python3", &["-m", "ensurepip", "--version"]) {
            packages::install(&PYTHON)?;
        }
        let list = root.join(SOURCES).join("python/requirements.txt");
        run(Command::new("python3").args(["-m", "venv"]).arg(folder))?;
        run(Command::new(folder.join("bin/python"))
            .args(["-m", "pip", "install", "--quiet", "--requirement"])
            .arg(list))
    })
}

fn node(root: &Path) -> Result<(), String> {
    let source = root.join(SOURCES).join("node");
    let pins = read(&source.join("package-lock.json"))?;
    unless_installed(root, "node", &pins, |folder| {
        if !succeeds("node", &["--version"]) || !succeeds("npm", &["--version"]) {
            packages::install(&NODE)?;
        }
        for name in ["package.json", "package-lock.json"] {
            write(&folder.join(name), &read(&source.join(name))?)?;
        }
        // No package runs a program of its own here.
        run(Command::new("npm").current_dir(folder).args([
            "ci",
            "--ignore-scripts",
            "--no-audit",
            "--no-fund",
        ]))
    })
}

/// Cargo knows itself what is up to date.
fn rust(root: &Path) -> Result<(), String> {
    let manifest = format!("{SOURCES}/rust/Cargo.toml");
    let target = format!("{PLACE}/rust");
    let words = [
        "build",
        "--quiet",
        "--locked",
        "--manifest-path",
        &manifest,
        "--target-dir",
        &target,
    ];
    run(&mut cargo(root, &words))
}

/// Installs into a folder of its own, unless these very pins were installed there before.
fn unless_installed(
    root: &Path,
    name: &str,
    pins: &str,
    install: impl FnOnce(&Path) -> Result<(), String>,
) -> Result<(), String> {
    const STAMP: &str = "windlass-pins";
    let folder = root.join(PLACE).join(name);
    let stamp = folder.join(STAMP);
    if fs::read_to_string(&stamp).is_ok_and(|installed| installed == pins) {
        println!("{name}: installed");
        return Ok(());
    }
    println!("{name}: installing into {PLACE}/{name}");
    match fs::remove_dir_all(&folder) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            return Err(format!("{} cannot be removed: {error}", folder.display()));
        }
        _ => {}
    }
    fs::create_dir_all(&folder)
        .map_err(|error| format!("{} cannot be made: {error}", folder.display()))?;
    install(&folder)?;
    // Last of all, so that half an installation is none.
    write(&stamp, pins)
}

fn read(path: &Path) -> Result<String, String> {
    fs::read_to_string(path).map_err(|error| format!("{} cannot be read: {error}", path.display()))
}

fn write(path: &Path, text: &str) -> Result<(), String> {
    fs::write(path, text).map_err(|error| format!("{} cannot be written: {error}", path.display()))
}

fn succeeds(program: &str, arguments: &[&str]) -> bool {
    let status = Command::new(program)
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    status.is_ok_and(|status| status.success())
}

fn run(command: &mut Command) -> Result<(), String> {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    let words: Vec<_> = words.map(|word| word.to_string_lossy()).collect();
    let shown = words.join(" ");
    match command.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("`{shown}` ended with {status}")),
        Err(error) => Err(format!("`{shown}` could not start: {error}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_installed_is_left_alone_until_its_pins_change() {
        let folder = std::env::temp_dir().join(format!("windlass-peers-{}", std::process::id()));
        let count = std::cell::Cell::new(0);
        let ensure = |pins: &str, is_good: bool| {
            unless_installed(&folder, "python", pins, |_| {
                count.set(count.get() + 1);
                is_good.then_some(()).ok_or_else(|| "no".to_owned())
            })
        };
        assert_eq!(ensure("a==1", true), Ok(()));
        assert_eq!(ensure("a==1", true), Ok(()));
        assert_eq!(count.get(), 1);
        assert!(ensure("a==2", false).is_err(), "half an installation");
        assert_eq!(ensure("a==2", true), Ok(()));
        assert_eq!(count.get(), 3);
        fs::remove_dir_all(&folder).expect("it was made here");
    }
}
