//! Ensures that a Redis server is installed, because tests start their own servers.
//!
//! If it is missing, it is installed with the package manager of the system. Tests that need
//! it are never skipped.

use std::io::ErrorKind;
use std::process::Command;

use crate::packages::{self, Package};

/// What to do if the step fails.
pub const NEXT: &str = "install Redis 7.0 or later (`apt-get install redis-server`, \
                               `brew install redis`) or Valkey, or set its path: \
                               `WINDLASS_REDIS_SERVER=/path/to/redis-server cargo xtask check`";

/// The variable that selects the server, here and in the tests.
pub const PROGRAM: &str = "WINDLASS_REDIS_SERVER";

/// Programs to try, in this order. The tests do the same.
const PROGRAMS: [&str; 2] = ["redis-server", "valkey-server"];

/// The oldest supported server: major and minor version.
const MINIMUM: (u32, u32) = (7, 0);

const SERVER: Package = Package {
    title: "Redis server",
    apt: &["redis-server"],
    brew: &["redis"],
};

/// Ensures that a recent enough server is installed. The error says why not.
pub fn ensure() -> Result<(), String> {
    let configured = std::env::var(PROGRAM).ok();
    let programs = configured
        .as_deref()
        .map_or(PROGRAMS.to_vec(), |one| vec![one]);
    if let Some(banner) = find(&programs)? {
        return check_version(&banner);
    }
    if let Some(program) = configured {
        return Err(format!(
            "{PROGRAM} is set to `{program}`, which does not exist"
        ));
    }
    println!("neither `{}` is installed", PROGRAMS.join("` nor `"));
    packages::install(&SERVER)?;
    match find(&programs)? {
        Some(banner) => check_version(&banner),
        None => Err("redis-server was installed but is not on the PATH".to_owned()),
    }
}

/// Returns the version text of the first program that exists.
fn find(programs: &[&str]) -> Result<Option<String>, String> {
    for program in programs {
        match Command::new(program).arg("--version").output() {
            Ok(output) => return Ok(Some(String::from_utf8_lossy(&output.stdout).into_owned())),
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => return Err(format!("could not start `{program} --version`: {error}")),
        }
    }
    Ok(None)
}

/// Prints the version and rejects one that is too old.
fn check_version(banner: &str) -> Result<(), String> {
    let banner = banner.trim();
    println!("{banner}");
    let (major, minor) = MINIMUM;
    match version(banner) {
        Some(found) if found >= MINIMUM => Ok(()),
        Some(_) => Err(format!(
            "the server is older than {major}.{minor}: {banner}"
        )),
        None => Err(format!("no version number in: {banner}")),
    }
}

/// Parses the version in `Redis server v=7.0.15 sha=…`.
fn version(banner: &str) -> Option<(u32, u32)> {
    let mut words = banner.split_whitespace();
    let mut numbers = words.find_map(|word| word.strip_prefix("v="))?.split('.');
    Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_that_is_too_old_is_rejected() {
        assert!(check_version("Redis server v=7.0.15 sha=00000000:0 bits=64").is_ok());
        assert!(check_version("Valkey server v=8.1.1 sha=00000000:0 bits=64").is_ok());
        assert!(check_version("Redis server v=10.0.0 sha=00000000:0").is_ok());
        let rejected = check_version("Redis server v=6.2.14 sha=00000000:0");
        assert!(rejected.is_err_and(|why| why.contains("older than 7.0")));
        assert!(check_version("something else").is_err());
    }

    #[test]
    fn a_missing_program_is_not_an_error_yet() {
        assert_eq!(find(&["no-such-program-anywhere"]), Ok(None));
    }
}
