//! Brings what other people wrote from its registry into a folder under `target`, at pinned versions,
//! and again only when the pins change.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::cargo::cargo;
use crate::packages::{self, Wanted};

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

/// One thing to install: its pins are in `source`, it goes into `place/name`; both from the root.
pub(crate) struct Parcel<'a> {
    pub(crate) root: &'a Path,
    pub(crate) source: &'a str,
    pub(crate) place: &'a str,
    pub(crate) name: &'a str,
}

impl Parcel<'_> {
    /// Where it is installed.
    pub(crate) fn folder(&self) -> PathBuf {
        self.root.join(self.place).join(self.name)
    }

    /// A virtual environment with what `requirements.txt` lists.
    pub(crate) fn python(&self) -> Result<(), String> {
        let list = self.root.join(self.source).join("requirements.txt");
        self.unless_installed(&read(&list)?, |folder| {
            // Debian has a python3 whose venv cannot bring pip.
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

    /// The modules that `package-lock.json` lists.
    pub(crate) fn node(&self) -> Result<(), String> {
        let source = self.root.join(self.source);
        let pins = read(&source.join("package-lock.json"))?;
        self.unless_installed(&pins, |folder| {
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

    /// Builds the crate there, with more words for cargo. Cargo knows itself what is up to date.
    pub(crate) fn rust(&self, more: &[&str]) -> Result<(), String> {
        let manifest = format!("{}/Cargo.toml", self.source);
        let target = format!("{}/{}", self.place, self.name);
        let mut words = vec!["build", "--quiet", "--manifest-path", &manifest];
        words.extend(["--target-dir", &target]);
        words.extend(more);
        run(&mut cargo(self.root, &words))
    }

    /// Installs into its folder, unless these very pins were installed there before.
    fn unless_installed(
        &self,
        pins: &str,
        install: impl FnOnce(&Path) -> Result<(), String>,
    ) -> Result<(), String> {
        const STAMP: &str = "windlass-pins";
        let (name, folder) = (self.name, self.folder());
        let stamp = folder.join(STAMP);
        if fs::read_to_string(&stamp).is_ok_and(|installed| installed == pins) {
            println!("{name}: installed");
            return Ok(());
        }
        println!("{name}: installing into {}/{name}", self.place);
        match fs::remove_dir_all(&folder) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(format!("{} cannot be removed: {error}", folder.display()));
            }
            _ => {}
        }
        make_folder(&folder)?;
        install(&folder)?;
        // Last of all, so that half an installation is none.
        write(&stamp, pins)
    }
}

/// The text of a file; says which one could not be read.
pub(crate) fn read(path: &Path) -> Result<String, String> {
    fs::read_to_string(path).map_err(|error| format!("{} cannot be read: {error}", path.display()))
}

/// Makes a folder and those above it; says which one could not be made.
pub(crate) fn make_folder(folder: &Path) -> Result<(), String> {
    fs::create_dir_all(folder)
        .map_err(|error| format!("{} cannot be made: {error}", folder.display()))
}

/// Writes a file; says which one could not be written.
pub(crate) fn write(path: &Path, text: &str) -> Result<(), String> {
    fs::write(path, text).map_err(|error| format!("{} cannot be written: {error}", path.display()))
}

/// Whether a program is there and ends well.
pub(crate) fn succeeds(program: &str, arguments: &[&str]) -> bool {
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
        let root = std::env::temp_dir().join(format!("windlass-peers-{}", std::process::id()));
        let parcel = Parcel {
            root: &root,
            source: "pins",
            place: "target/peers",
            name: "python",
        };
        let count = std::cell::Cell::new(0);
        let ensure = |pins: &str, is_good: bool| {
            parcel.unless_installed(pins, |_| {
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
        fs::remove_dir_all(&root).expect("it was made here");
    }
}
