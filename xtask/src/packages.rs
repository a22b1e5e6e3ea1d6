//! Installs programs that the tests and the bench need, where the package manager of the system can.

use std::process::{Command, Stdio};

/// A command that installs something.
type Line = Vec<&'static str>;

/// A program that may be missing, and the packages that bring it.
pub(crate) struct Wanted {
    /// How people call it.
    pub(crate) what: &'static str,
    pub(crate) apt: &'static [&'static str],
    pub(crate) brew: &'static [&'static str],
}

/// Installs what is wanted; says why that is not possible.
pub(crate) fn install(wanted: &Wanted) -> Result<(), String> {
    for line in plan(&System::look(), wanted)? {
        println!("installing: {}", line.join(" "));
        run(&line)?;
    }
    Ok(())
}

/// What this system can install with.
struct System {
    has_apt: bool,
    has_brew: bool,
    has_sudo: bool,
    is_root: bool,
}

impl System {
    fn look() -> Self {
        let says = |program: &str, argument: &str| {
            let output = Command::new(program).arg(argument).output();
            output.ok().map(|output| output.stdout)
        };
        Self {
            has_apt: says("apt-get", "--version").is_some(),
            has_brew: says("brew", "--version").is_some(),
            has_sudo: says("sudo", "--version").is_some(),
            is_root: says("id", "-u").is_some_and(|user| user.trim_ascii() == b"0"),
        }
    }
}

/// How to install it here.
fn plan(system: &System, wanted: &Wanted) -> Result<Vec<Line>, String> {
    // In run level 1 no service is started: tests start their own servers.
    const QUIETLY: [&str; 3] = ["env", "DEBIAN_FRONTEND=noninteractive", "RUNLEVEL=1"];
    if system.has_apt && (system.is_root || system.has_sudo) {
        let sudo: &[&str] = if system.is_root { &[] } else { &["sudo"] };
        let apt = |words: &[&'static str]| [sudo, &QUIETLY, &["apt-get"], words].concat();
        return Ok(vec![
            apt(&["update"]),
            apt(&[&["install", "-y"], wanted.apt].concat()),
        ]);
    }
    if system.has_brew {
        return Ok(vec![[&["brew", "install"], wanted.brew].concat()]);
    }
    let why = if system.has_apt {
        "apt-get needs root or sudo to install it"
    } else {
        "there is neither apt-get nor brew to install it"
    };
    Err(format!("there is no {}, and {why}", wanted.what))
}

fn run(line: &Line) -> Result<(), String> {
    let shown = line.join(" ");
    let status = Command::new(line[0])
        .args(&line[1..])
        .stdin(Stdio::inherit())
        .status();
    match status {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("`{shown}` ended with {status}")),
        Err(error) => Err(format!("`{shown}` could not start: {error}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_is_installed_where_the_system_can() {
        let wanted = Wanted {
            what: "Redis server",
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
            let lines = plan(system, &wanted)?;
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
        assert!(refused.is_err_and(|why| why.contains("no Redis server, and there is neither")));
    }
}
