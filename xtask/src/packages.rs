//! Installs programs that the tests and benchmarks need, with the package manager of the system.

use std::process::Command;

use crate::install;

/// A command line.
type Line = Vec<&'static str>;

/// A program to install, and the packages that contain it.
#[derive(Debug)]
pub struct Package {
    /// The name shown to people.
    pub title: &'static str,
    /// The packages of apt-get.
    pub apt: &'static [&'static str],
    /// The packages of brew.
    pub brew: &'static [&'static str],
}

/// Installs a package. The error says why it could not.
pub fn install(package: &Package) -> Result<(), String> {
    for line in plan(&System::detect(), package)? {
        println!("installing: {}", line.join(" "));
        install::run(Command::new(line[0]).args(&line[1..]))?;
    }
    Ok(())
}

/// The package managers of this system.
struct System {
    has_apt: bool,
    has_brew: bool,
    has_sudo: bool,
    is_root: bool,
}

impl System {
    fn detect() -> Self {
        let run = |program: &str, argument: &str| {
            let output = Command::new(program).arg(argument).output();
            output.ok().map(|output| output.stdout)
        };
        Self {
            has_apt: run("apt-get", "--version").is_some(),
            has_brew: run("brew", "--version").is_some(),
            has_sudo: run("sudo", "--version").is_some(),
            is_root: run("id", "-u").is_some_and(|user| user.trim_ascii() == b"0"),
        }
    }
}

/// Returns the commands that install a package on this system.
fn plan(system: &System, package: &Package) -> Result<Vec<Line>, String> {
    // Run level 1 starts no services: tests start their own servers.
    const ENVIRONMENT: [&str; 3] = ["env", "DEBIAN_FRONTEND=noninteractive", "RUNLEVEL=1"];
    if system.has_apt && (system.is_root || system.has_sudo) {
        let sudo: &[&str] = if system.is_root { &[] } else { &["sudo"] };
        let apt = |words: &[&'static str]| [sudo, &ENVIRONMENT, &["apt-get"], words].concat();
        return Ok(vec![
            apt(&["update"]),
            apt(&[&["install", "-y"], package.apt].concat()),
        ]);
    }
    if system.has_brew {
        return Ok(vec![[&["brew", "install"], package.brew].concat()]);
    }
    let why = if system.has_apt {
        "installing it with apt-get needs root or sudo"
    } else {
        "neither apt-get nor brew is available to install it"
    };
    Err(format!("{} is not installed, and {why}", package.title))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_program_is_installed_where_the_system_can() {
        let package = Package {
            title: "Redis server",
            apt: &["redis-server"],
            brew: &["redis"],
        };
        let nothing = || System {
            has_apt: false,
            has_brew: false,
            has_sudo: false,
            is_root: false,
        };
        let shown = |system: &System| {
            let lines = plan(system, &package)?;
            let last = lines.last().map(|line| line.join(" "));
            last.ok_or_else(|| "an empty plan".to_owned())
        };
        let debian = System {
            has_apt: true,
            is_root: true,
            ..nothing()
        };
        let quiet = "env DEBIAN_FRONTEND=noninteractive RUNLEVEL=1 apt-get install -y redis-server";
        assert_eq!(shown(&debian).as_deref(), Ok(quiet));
        let user = System {
            has_sudo: true,
            is_root: false,
            ..debian
        };
        assert_eq!(shown(&user), Ok(format!("sudo {quiet}")));
        let brew = System {
            has_brew: true,
            ..nothing()
        };
        assert_eq!(shown(&brew).as_deref(), Ok("brew install redis"));
        let refused = shown(&nothing());
        assert!(
            refused.is_err_and(|why| why.contains("Redis server is not installed, and neither"))
        );
    }
}
