//! Installs a queue at its pinned version, reports that version, and builds the command that runs it.

use std::path::Path;
use std::process::Command;

use xtask::install::{self, Installation};
use xtask::packages::{self, Package};

use super::peer::{Engine, Language, Peer};

/// The programs and their pinned versions.
const SOURCES: &str = "crates/bench/peers";

const INSTALL_FOLDER: &str = "target/bench-peers";

/// One target folder for all Rust programs, so that they share dependencies.
const RUST: &str = "rust";

const BEANSTALKD: Package = Package {
    title: "beanstalkd",
    apt: &["beanstalkd"],
    brew: &["beanstalkd"],
};

const SIDEKIQ: Package = Package {
    title: "Ruby with Sidekiq",
    apt: &["ruby", "ruby-sidekiq"],
    brew: &["ruby"],
};

/// Installs everything that the queue's program needs.
pub(super) fn install(root: &Path, peer: &Peer) -> Result<(), String> {
    if peer.engine == Engine::Beanstalkd && !install::succeeds("beanstalkd", &["-v"]) {
        packages::install(&BEANSTALKD)?;
    }
    let source = source(peer);
    let parcel = |name| Installation {
        root,
        source: &source,
        folder: INSTALL_FOLDER,
        name,
    };
    match peer.language {
        Language::Rust if peer.name == "windlass" => {
            println!("windlass: building");
            // Not `--locked`: its lock file follows the crates of this repository.
            parcel(RUST).rust(&["--release"])
        }
        Language::Rust => {
            println!("{}: building", peer.name);
            parcel(RUST).rust(&["--release", "--locked"])
        }
        Language::Node => {
            let parcel = parcel(peer.name);
            parcel.node()?;
            // Node resolves modules from the folder of the program.
            for path in [
                format!("{source}/bench.js"),
                format!("{SOURCES}/contract/contract.js"),
            ] {
                let name = path.rsplit('/').next().unwrap_or_default();
                let text = install::read(&root.join(&path))?;
                install::write(&parcel.path().join(name), &text)?;
            }
            Ok(())
        }
        Language::Python => parcel(peer.name).python(),
        Language::Ruby => {
            if !install::succeeds("ruby", &["-e", "require 'sidekiq'"]) {
                packages::install(&SIDEKIQ)?;
            }
            Ok(())
        }
    }
}

/// The command of the queue's program; the caller adds a scenario.
pub(super) fn program(root: &Path, peer: &Peer) -> Command {
    let installed = root.join(INSTALL_FOLDER);
    let source = root.join(source(peer));
    match peer.language {
        Language::Rust => {
            let name = format!("release/windlass-bench-{}", peer.name);
            Command::new(installed.join(RUST).join(name))
        }
        Language::Node => {
            let mut command = Command::new("node");
            command.arg(installed.join(peer.name).join("bench.js"));
            command
        }
        Language::Python => {
            let folder = installed.join(peer.name);
            let mut command = Command::new(folder.join("bin/python"));
            let contract = root.join(SOURCES).join("contract");
            let path = [contract, source.clone()].map(|folder| folder.display().to_string());
            command
                .arg(source.join("bench.py"))
                // Not in the folder of the peers, whose folders have the names of modules.
                .current_dir(folder)
                .env("PYTHONPATH", path.join(":"))
                .env("PYTHONDONTWRITEBYTECODE", "1");
            command
        }
        Language::Ruby => {
            let mut command = Command::new("ruby");
            command.arg(source.join("bench.rb"));
            command
        }
    }
}

/// The version that is measured: the pinned one, or the one installed on the system.
pub(super) fn version(root: &Path, peer: &Peer) -> Result<String, String> {
    let source = root.join(source(peer));
    let found = match (peer.language, peer.engine) {
        (_, Engine::Beanstalkd) => stdout_of("beanstalkd", &["-v"])
            .and_then(|banner| banner.split_whitespace().nth(1).map(str::to_owned)),
        (Language::Ruby, _) => {
            stdout_of("ruby", &["-e", "require 'sidekiq'; print Sidekiq::VERSION"])
        }
        _ if peer.name.starts_with("windlass") => {
            Some(env!("CARGO_PKG_VERSION").to_owned())
        }
        (Language::Rust, _) => {
            let pins = install::read(&source.join("Cargo.toml"))?;
            after(&pins, &format!("{} = \"=", peer.name))
        }
        (Language::Node, _) => {
            let pins = install::read(&source.join("package.json"))?;
            after(&pins, &format!("\"{}\": \"", peer.name))
        }
        (Language::Python, _) => {
            let pins = install::read(&source.join("requirements.txt"))?;
            after(&pins, &format!("\n{}==", peer.name))
        }
    };
    found.ok_or_else(|| format!("cannot find the version of {}", peer.name))
}

fn source(peer: &Peer) -> String {
    format!("{SOURCES}/{}", peer.name)
}

/// The text after this mark, up to a quote or the end of the line.
fn after(text: &str, mark: &str) -> Option<String> {
    let rest = &text[text.find(mark)? + mark.len()..];
    rest.split(['"', '\n']).next().map(str::to_owned)
}

fn stdout_of(program: &str, arguments: &[&str]) -> Option<String> {
    let output = Command::new(program).args(arguments).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    Some(text.trim().to_owned()).filter(|text| !text.is_empty())
}

#[cfg(test)]
mod tests {
    use super::super::peer::PEERS;
    use super::*;

    #[test]
    fn every_queue_from_a_registry_is_pinned_to_one_version() {
        let root = xtask::root();
        for peer in PEERS.iter().filter(|peer| peer.language != Language::Ruby) {
            if peer.engine == Engine::Redis {
                let version = version(&root, peer).expect("a pinned version");
                assert!(
                    version.starts_with(|first: char| first.is_ascii_digit()),
                    "{version}"
                );
            }
        }
    }
}
