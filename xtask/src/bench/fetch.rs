//! Installs a queue at its pins, says which version that is, and how its program is started.

use std::path::Path;
use std::process::Command;

use super::peer::{Engine, Language, Peer};
use crate::install::{self, Installation};
use crate::packages::{self, Package};

/// Where the programs and their pins are.
const SOURCES: &str = "bench/peers";

/// Where everything is installed.
const PLACE: &str = "target/bench-peers";

/// The Rust programs share what they have in common of their dependencies.
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

/// Makes sure of everything that the queue's program needs.
pub(super) fn install(root: &Path, peer: &Peer) -> Result<(), String> {
    if peer.engine == Engine::Beanstalkd && !install::succeeds("beanstalkd", &["-v"]) {
        packages::install(&BEANSTALKD)?;
    }
    let source = source(peer);
    let parcel = |name| Installation {
        root,
        source: &source,
        folder: PLACE,
        name,
    };
    match peer.language {
        Language::Rust if peer.name == "windlass" => {
            println!("windlass: building");
            // Its lock follows the crates of this repository, so it is not held to it.
            parcel(RUST).rust(&["--release"])
        }
        Language::Rust => {
            println!("{}: building", peer.name);
            parcel(RUST).rust(&["--release", "--locked"])
        }
        Language::Node => {
            let parcel = parcel(peer.name);
            parcel.node()?;
            // A module is looked for from where the program is.
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

/// The queue's program, to be given a scenario.
pub(super) fn program(root: &Path, peer: &Peer) -> Command {
    let place = root.join(PLACE);
    let source = root.join(source(peer));
    match peer.language {
        Language::Rust => {
            let name = format!("release/windlass-bench-{}", peer.name);
            Command::new(place.join(RUST).join(name))
        }
        Language::Node => {
            let mut command = Command::new("node");
            command.arg(place.join(peer.name).join("bench.js"));
            command
        }
        Language::Python => {
            let folder = place.join(peer.name);
            let mut command = Command::new(folder.join("bin/python"));
            let contract = root.join(SOURCES).join("contract");
            let path = [contract, source.clone()].map(|folder| folder.display().to_string());
            command
                .arg(source.join("bench.py"))
                // Away from `bench/peers`, whose folders have the names of modules.
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

/// The version that is measured: as it is pinned, or as the system has it.
pub(super) fn version(root: &Path, peer: &Peer) -> Result<String, String> {
    let source = root.join(source(peer));
    let found = match (peer.language, peer.engine) {
        (_, Engine::Beanstalkd) => said("beanstalkd", &["-v"])
            .and_then(|banner| banner.split_whitespace().nth(1).map(str::to_owned)),
        (Language::Ruby, _) => said("ruby", &["-e", "require 'sidekiq'; print Sidekiq::VERSION"]),
        (Language::Rust, _) if peer.name == "windlass" => {
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
    found.ok_or_else(|| format!("no version of {} is to be found", peer.name))
}

fn source(peer: &Peer) -> String {
    format!("{SOURCES}/{}", peer.name)
}

/// The word after this mark.
fn after(text: &str, mark: &str) -> Option<String> {
    let rest = &text[text.find(mark)? + mark.len()..];
    rest.split(['"', '\n']).next().map(str::to_owned)
}

fn said(program: &str, arguments: &[&str]) -> Option<String> {
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
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        for peer in PEERS.iter().filter(|peer| peer.language != Language::Ruby) {
            if peer.engine == Engine::Redis {
                let version = version(&root, peer).expect("pinned");
                assert!(
                    version.starts_with(|first: char| first.is_ascii_digit()),
                    "{version}"
                );
            }
        }
    }
}
