//! Installs third-party packages from their registries into a folder under `target`, at pinned
//! versions. Reinstalls only when the pins change.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::cargo::cargo;
use crate::packages::{self, Package};

const PYTHON: Package = Package {
    title: "Python with its venv module",
    apt: &["python3", "python3-venv"],
    brew: &["python"],
};

/// Node with npm.
pub const NODE: Package = Package {
    title: "Node with npm",
    apt: &["nodejs", "npm"],
    brew: &["node"],
};

/// One installation: the pins are in `source`, the files go into `folder/name`. Both paths start at the root.
#[derive(Debug)]
pub struct Installation<'a> {
    /// The root of the repository.
    pub root: &'a Path,
    /// The folder of the pins.
    pub source: &'a str,
    /// The folder of all installations of one purpose.
    pub folder: &'a str,
    /// The name of this one.
    pub name: &'a str,
}

impl Installation<'_> {
    /// Returns the path it is installed to.
    pub fn path(&self) -> PathBuf {
        self.root.join(self.folder).join(self.name)
    }

    /// Creates a Python virtual environment from `requirements.txt`.
    pub fn python(&self) -> Result<(), String> {
        let list = self.root.join(self.source).join("requirements.txt");
        self.unless_installed(&read(&list)?, |folder| {
            // Debian's python3 may have a venv module without pip.
            const PROBE: [&str; 2] = ["-c", "import venv, ensurepip"];
            if !succeeds("python3", &PROBE)
                || !succeeds("python3", &["-m", "ensurepip", "--version"])
            {
                packages::install(&PYTHON)?;
            }
            run(Command::new("python3").args(["-m", "venv"]).arg(folder))?;
            run(Command::new(folder.join("bin/python"))
                .args(["-m", "pip", "install", "--quiet", "--requirement"])
                .arg(&list))
        })
    }

    /// Installs the Node modules of `package-lock.json`.
    pub fn node(&self) -> Result<(), String> {
        let source = self.root.join(self.source);
        let pins = read(&source.join("package-lock.json"))?;
        self.unless_installed(&pins, |folder| {
            if !succeeds("node", &["--version"]) || !succeeds("npm", &["--version"]) {
                packages::install(&NODE)?;
            }
            for name in ["package.json", "package-lock.json"] {
                write(&folder.join(name), &read(&source.join(name))?)?;
            }
            // Install scripts of packages do not run.
            run(Command::new("npm").current_dir(folder).args([
                "ci",
                "--ignore-scripts",
                "--no-audit",
                "--no-fund",
            ]))
        })
    }

    /// Runs `install.sh` in the folder; it contains the pins.
    pub fn shell(&self) -> Result<(), String> {
        let script = self.root.join(self.source).join("install.sh");
        self.unless_installed(&read(&script)?, |folder| {
            run(Command::new("sh").arg(&script).current_dir(folder))
        })
    }

    /// Builds a crate, with `extra` arguments for cargo. Cargo itself skips what is up to date.
    pub fn rust(&self, extra: &[&str]) -> Result<(), String> {
        let manifest = format!("{}/Cargo.toml", self.source);
        let target = format!("{}/{}", self.folder, self.name);
        let mut arguments = vec!["build", "--quiet", "--manifest-path", &manifest];
        arguments.extend(["--target-dir", &target]);
        arguments.extend(extra);
        run(&mut cargo(self.root, &arguments))
    }

    /// Runs `install`, unless these exact pins are already installed.
    fn unless_installed(
        &self,
        pins: &str,
        install: impl FnOnce(&Path) -> Result<(), String>,
    ) -> Result<(), String> {
        const STAMP: &str = "windlass-pins";
        let (name, folder) = (self.name, self.path());
        let stamp = folder.join(STAMP);
        if fs::read_to_string(&stamp).is_ok_and(|installed| installed == pins) {
            println!("{name}: up to date");
            return Ok(());
        }
        println!("{name}: installing into {}/{name}", self.folder);
        match fs::remove_dir_all(&folder) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(format!("could not remove {}: {error}", folder.display()));
            }
            _ => {}
        }
        create_folder(&folder)?;
        install(&folder)?;
        // Written last, so that a partial installation is repeated.
        write(&stamp, pins)
    }
}

/// Reads a file. The error names it.
pub fn read(path: &Path) -> Result<String, String> {
    fs::read_to_string(path).map_err(|error| format!("could not read {}: {error}", path.display()))
}

/// Creates a folder and its parents. The error names it.
pub fn create_folder(folder: &Path) -> Result<(), String> {
    fs::create_dir_all(folder)
        .map_err(|error| format!("could not create {}: {error}", folder.display()))
}

/// Writes a file. The error names it.
pub fn write(path: &Path, text: &str) -> Result<(), String> {
    fs::write(path, text).map_err(|error| format!("could not write {}: {error}", path.display()))
}

/// Returns whether a program exists and exits with 0.
pub fn succeeds(program: &str, arguments: &[&str]) -> bool {
    let status = Command::new(program)
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    status.is_ok_and(|status| status.success())
}

/// Runs a command. The error names it.
pub fn run(command: &mut Command) -> Result<(), String> {
    let line = std::iter::once(command.get_program()).chain(command.get_args());
    let line: Vec<_> = line.map(|part| part.to_string_lossy()).collect();
    let shown = line.join(" ");
    match command.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("`{shown}` failed with {status}")),
        Err(error) => Err(format!("could not start `{shown}`: {error}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_installation_is_kept_until_its_pins_change() {
        let root = std::env::temp_dir().join(format!("windlass-peers-{}", std::process::id()));
        let installation = Installation {
            root: &root,
            source: "pins",
            folder: "target/peers",
            name: "python",
        };
        let count = std::cell::Cell::new(0);
        let ensure = |pins: &str, is_good: bool| {
            installation.unless_installed(pins, |_| {
                count.set(count.get() + 1);
                is_good.then_some(()).ok_or_else(|| "no".to_owned())
            })
        };
        assert_eq!(ensure("a==1", true), Ok(()));
        assert_eq!(ensure("a==1", true), Ok(()));
        assert_eq!(count.get(), 1);
        assert!(ensure("a==2", false).is_err(), "a partial installation");
        assert_eq!(ensure("a==2", true), Ok(()));
        assert_eq!(count.get(), 3);
        fs::remove_dir_all(&root).expect("the test created it");
    }
}
