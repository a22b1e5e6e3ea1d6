//! The step `redis`: tests start Redis servers of their own, so there must be one to start.
//!
//! Where there is none it is installed, if the package manager of the system can; a test that
//! needs it is never passed over.

use std::io::ErrorKind;
use std::process::{Command, Stdio};

/// What to do when the step failed.
pub(super) const NEXT: &str = "install Redis 7.0 or later (`apt-get install redis-server`, \
                               `brew install redis`) or Valkey, or name one: \
                               `WINDLASS_REDIS_SERVER=/path/to/redis-server cargo xtask check`";

/// Names the server to use, in the tests as well.
const PROGRAM: &str = "WINDLASS_REDIS_SERVER";

/// What is looked for, in this order; the tests do the same.
const PROGRAMS: [&str; 2] = ["redis-server", "valkey-server"];

/// The oldest server the store works on: major and minor version.
const OLDEST: (u32, u32) = (7, 0);

/// A command that installs something.
type Line = Vec<&'static str>;

/// Makes sure of a server that is new enough; says why there is none.
pub(super) fn ensure() -> Result<(), String> {
    let named = std::env::var(PROGRAM).ok();
    let programs = named.as_deref().map_or(PROGRAMS.to_vec(), |one| vec![one]);
    if let Some(banner) = find(&programs)? {
        return judge(&banner);
    }
    if let Some(program) = named {
        return Err(format!("`{program}`, named by {PROGRAM}, does not exist"));
    }
    println!("neither `{}` is installed", PROGRAMS.join("` nor `"));
    for line in plan(&System::look())? {
        println!("installing: {}", line.join(" "));
        install(&line)?;
    }
    match find(&programs)? {
        Some(banner) => judge(&banner),
        None => Err("it was installed, but `redis-server` is still not on the PATH".to_owned()),
    }
}

/// What the first of these programs that exists says of its version.
fn find(programs: &[&str]) -> Result<Option<String>, String> {
    for program in programs {
        match Command::new(program).arg("--version").output() {
            Ok(output) => return Ok(Some(String::from_utf8_lossy(&output.stdout).into_owned())),
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => return Err(format!("`{program} --version` could not start: {error}")),
        }
    }
    Ok(None)
}

/// Prints what was found, and refuses what is too old.
fn judge(banner: &str) -> Result<(), String> {
    let banner = banner.trim();
    println!("{banner}");
    let (major, minor) = OLDEST;
    match version(banner) {
        Some(found) if found >= OLDEST => Ok(()),
        Some(_) => Err(format!(
            "the server is older than {major}.{minor}: {banner}"
        )),
        None => Err(format!("no version is to be read in: {banner}")),
    }
}

/// The version in `Redis server v=7.0.15 sha=…`.
fn version(banner: &str) -> Option<(u32, u32)> {
    let mut words = banner.split_whitespace();
    let mut numbers = words.find_map(|word| word.strip_prefix("v="))?.split('.');
    Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
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

/// How to install a server here.
fn plan(system: &System) -> Result<Vec<Line>, String> {
    // In run level 1 no service is started: tests start their own servers.
    const QUIETLY: [&str; 3] = ["env", "DEBIAN_FRONTEND=noninteractive", "RUNLEVEL=1"];
    if system.has_apt && (system.is_root || system.has_sudo) {
        let sudo: &[&str] = if system.is_root { &[] } else { &["sudo"] };
        let apt = |words: &[&'static str]| [sudo, &QUIETLY, &["apt-get"], words].concat();
        return Ok(vec![
            apt(&["update"]),
            apt(&["install", "-y", "redis-server"]),
        ]);
    }
    if system.has_brew {
        return Ok(vec![vec!["brew", "install", "redis"]]);
    }
    let why = if system.has_apt {
        "apt-get needs root or sudo to install one"
    } else {
        "there is neither apt-get nor brew to install one"
    };
    Err(format!("there is no Redis server, and {why}"))
}

fn install(line: &Line) -> Result<(), String> {
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
    fn a_server_that_is_too_old_is_refused() {
        assert!(judge("Redis server v=7.0.15 sha=00000000:0 bits=64").is_ok());
        assert!(judge("Valkey server v=8.1.1 sha=00000000:0 bits=64").is_ok());
        assert!(judge("Redis server v=10.0.0 sha=00000000:0").is_ok());
        let refused = judge("Redis server v=6.2.14 sha=00000000:0");
        assert!(refused.is_err_and(|why| why.contains("older than 7.0")));
        assert!(judge("something else").is_err());
    }

    #[test]
    fn a_missing_server_is_installed_where_the_system_can() {
        let nothing = || System {
            has_apt: false,
            has_brew: false,
            has_sudo: false,
            is_root: false,
        };
        let shown = |system: &System| {
            let lines = plan(system)?;
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
        assert!(shown(&nothing()).is_err_and(|why| why.contains("neither apt-get nor brew")));
    }

    #[test]
    fn a_program_that_is_not_there_is_no_error_yet() {
        assert_eq!(find(&["no-such-program-anywhere"]), Ok(None));
    }
}
